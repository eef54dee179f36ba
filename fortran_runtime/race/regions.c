/* Memory that messages cover: kept, compared and poisoned without touching the gaps of data types. */
#include "race.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* As real(4) a NaN, twice as real(8) a NaN that signals, as an integer large and odd. */
static const uint32_t POISON = 0x7ff7a5a5u;

static bool is_predefined(MPI_Datatype type)
{
  int integers, addresses, types, combiner;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

/* The same memory, not named from MPI_BOTTOM on, which some MPIs take for a forgotten buffer. */
static void start_above_bottom(Piece *piece)
{
  MPI_Aint above = 64, displacement = -above;
  int count = (int)piece->count;
  PMPI_Type_create_hindexed(1, &count, &displacement, piece->type, &piece->type);
  PMPI_Type_commit(&piece->type);
  piece->own_type = true;
  piece->address += above;
  piece->count = 1;
}

void region_add(Region *region, const void *buffer, MPI_Aint offset, long count, MPI_Datatype type)
{
  MPI_Aint lower, extent, true_lower, true_extent;
  int size;
  if (count <= 0 || type == MPI_DATATYPE_NULL) return;
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS || size <= 0) return;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  bool dense = lower == 0 && true_lower == 0 && extent == size && true_extent == size;
  if (!dense && (size_t)count * size > INT_MAX) return; /* more than MPI_Pack can count */

  if (region->pieces == region->room) {
    region->room = region->room ? 2 * region->room : 1;
    region->piece = realloc(region->piece, region->room * sizeof *region->piece);
  }
  Piece *piece = &region->piece[region->pieces++];
  *piece = (Piece){(char *)buffer + offset, count, type, false, dense, (size_t)count * size};
  if (piece->address == MPI_BOTTOM && !dense)
    start_above_bottom(piece);
  else if (!is_predefined(type))
    piece->own_type = PMPI_Type_dup(type, &piece->type) == MPI_SUCCESS;
  MPI_Aint last = (count - 1) * extent;
  char *low = (char *)buffer + offset + true_lower + (last < 0 ? last : 0);
  char *high = (char *)buffer + offset + true_lower + true_extent + (last > 0 ? last : 0);
  if (region->pieces == 1 || low < region->low) region->low = low;
  if (region->pieces == 1 || high > region->high) region->high = high;
  region->bytes += piece->bytes;
}

void region_free(Region *region)
{
  for (int i = 0; i < region->pieces; i++)
    if (region->piece[i].own_type) PMPI_Type_free(&region->piece[i].type);
  free(region->piece);
  memset(region, 0, sizeof *region);
}

unsigned char *region_pack(const Region *region, ptrdiff_t delta)
{
  unsigned char *packed = malloc(region->bytes + 1), *at = packed;
  for (int i = 0; i < region->pieces; i++) {
    const Piece *piece = &region->piece[i];
    int position = 0;
    if (piece->dense)
      memcpy(at, piece->address + delta, piece->bytes);
    else
      PMPI_Pack(piece->address + delta, piece->count, piece->type, at, (int)piece->bytes, &position,
                MPI_COMM_SELF);
    at += piece->bytes;
  }
  return packed;
}

void region_unpack(const Region *region, ptrdiff_t delta, const unsigned char *packed)
{
  for (int i = 0; i < region->pieces; i++) {
    const Piece *piece = &region->piece[i];
    int position = 0;
    if (piece->dense)
      memcpy(piece->address + delta, packed, piece->bytes);
    else
      PMPI_Unpack(packed, (int)piece->bytes, &position, piece->address + delta, piece->count,
                  piece->type, MPI_COMM_SELF);
    packed += piece->bytes;
  }
}

static bool is_dense(const Region *region)
{
  for (int i = 0; i < region->pieces; i++)
    if (!region->piece[i].dense) return false;
  return true;
}

/* A byte for each of `region`, from its `low` on: 1 where it has memory, else 0. */
static unsigned char *coverage(const Region *region)
{
  unsigned char *mask = calloc(1, region->high - region->low + 1);
  unsigned char *ones = malloc(region->bytes + 1);
  memset(ones, 1, region->bytes);
  region_unpack(region, (char *)mask - region->low, ones);
  free(ones);
  return mask;
}

static bool masks_meet(const Region *one, const Region *other)
{
  unsigned char *mine = coverage(one), *theirs = coverage(other);
  bool found = false;
  char *low = one->low > other->low ? one->low : other->low;
  char *high = one->high < other->high ? one->high : other->high;
  for (char *at = low; at < high && !found; at++)
    found = mine[at - one->low] && theirs[at - other->low];
  free(mine);
  free(theirs);
  return found;
}

bool regions_overlap(const Region *one, const Region *other)
{
  if (!one->pieces || !other->pieces || one->low >= other->high || other->low >= one->high)
    return false;
  if (!is_dense(one) || !is_dense(other)) return masks_meet(one, other);
  for (int i = 0; i < one->pieces; i++)
    for (int j = 0; j < other->pieces; j++) {
      const Piece *mine = &one->piece[i], *theirs = &other->piece[j];
      if (mine->address < theirs->address + theirs->bytes &&
          theirs->address < mine->address + mine->bytes)
        return true;
    }
  return false;
}

unsigned char *poison_bytes(size_t bytes)
{
  unsigned char *filled = malloc(bytes + sizeof POISON);
  for (size_t at = 0; at < bytes; at += sizeof POISON) memcpy(filled + at, &POISON, sizeof POISON);
  return filled;
}

long find_poison(const unsigned char *packed, const Region *region)
{
  const unsigned char *const start = packed;
  const uint64_t wide = (uint64_t)POISON << 32 | POISON;
  const uint64_t neither_sign_nor_quiet = 0x7ff7ffffffffffffu;
  for (int i = 0; i < region->pieces; i++) {
    const Piece *piece = &region->piece[i];
    size_t element = piece->bytes / piece->count, at;
    for (at = 0; at + 8 <= piece->bytes; at += 8) {
      uint64_t word;
      memcpy(&word, packed + at, sizeof word);
      if ((word & neither_sign_nor_quiet) == wide) return packed + at - start;
    }
    for (at = 0; element == 4 && at + 4 <= piece->bytes; at += 4) {
      uint32_t word;
      memcpy(&word, packed + at, sizeof word);
      if ((word & 0x7fffffffu) == POISON) return packed + at - start;
    }
    packed += piece->bytes;
  }
  return -1;
}

long first_difference(const unsigned char *one, const unsigned char *other, size_t bytes)
{
  if (memcmp(one, other, bytes) == 0) return -1;
  size_t at = 0;
  while (one[at] == other[at]) at++;
  return (long)at;
}
