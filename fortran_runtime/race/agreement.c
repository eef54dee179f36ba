/* Whether all ranks of a communicator enter its collective calls in the same order.
 *
 * Each rank tells its right neighbour, on a private duplicate, which call it enters, and compares
 * with what the left one tells: if two ranks differ, so do two neighbours.  A call that does not
 * block leaves it at that.  A blocking one goes on to the ranks that are 2, 4, 8 ... away, after
 * which all ranks are known to be in the call (a dissemination barrier); it may wait for that, since
 * a collective may synchronise (MPI-3.1, section 5.1).  So no rank is ever stuck in MPI itself
 * because another one is elsewhere, and ranks that wait for each other on different communicators
 * are found by board.c.
 */
#define _GNU_SOURCE
#include "race.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SPINS = 200, LOOK_EVERY = 50, FAILED = 86 };
static const int NAP = 200, GRACE = 400000; /* microseconds */

/* One entry of a rank into a collective call. */
typedef struct Step {
  long number, root, op, bytes;
  char call[40], at[200];
} Step;

/* A step that is told, and the neighbour's that is awaited. */
typedef struct Exchange {
  struct Exchange *next;
  Step mine, theirs;
  int to, from; /* ranks of the world */
  MPI_Request requests[2];
  Place place;
} Exchange;

typedef struct Agreement {
  struct Agreement *next;
  MPI_Comm comm, own;
  int rank, ranks;
  int *world; /* the ranks of the world */
  long steps;
  Exchange *pending;
} Agreement;

static Agreement *agreements;

long bytes_of(long count, MPI_Datatype type)
{
  int size = 0;
  if (type == MPI_DATATYPE_NULL || PMPI_Type_size(type, &size) != MPI_SUCCESS) return NO_BYTES;
  return count * size;
}

static long index_of(MPI_Op op)
{
  const MPI_Op known[] = {MPI_OP_NULL, MPI_MAX, MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_BAND,
                          MPI_LOR,     MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (op == known[i]) return (long)i;
  return -1;
}

static int *ranks_in_world(MPI_Comm comm, int ranks)
{
  MPI_Group group, world;
  int *own = malloc(ranks * sizeof *own), *there = malloc(ranks * sizeof *there);
  for (int i = 0; i < ranks; i++) own[i] = i;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_translate_ranks(group, ranks, own, world, there);
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  free(own);
  return there;
}

void agreement_made(MPI_Comm made)
{
  int between_groups = 0, ranks = 0;
  MPI_Group group;
  if (made == MPI_COMM_NULL) return;
  PMPI_Comm_test_inter(made, &between_groups);
  PMPI_Comm_size(made, &ranks);
  agreement_freed(made, false); /* of an earlier communicator with this handle */
  if (between_groups || ranks == 1) return;
  Agreement *agreement = calloc(1, sizeof *agreement);
  agreement->comm = made;
  agreement->ranks = ranks;
  PMPI_Comm_rank(made, &agreement->rank);
  PMPI_Comm_group(made, &group);
  CALL(MPI_Comm_create, made, group, &agreement->own);
  PMPI_Group_free(&group);
  PMPI_Comm_set_errhandler(agreement->own, MPI_ERRORS_ARE_FATAL);
  agreement->world = ranks_in_world(made, ranks);
  agreement->next = agreements;
  agreements = agreement;
}

/* The agreement of a communicator; NULL: with nobody.  Made here if no call that was seen made it. */
static Agreement *agreement_of(MPI_Comm comm)
{
  int between_groups = 0, ranks = 0;
  if (comm == MPI_COMM_NULL) return NULL;
  for (Agreement *agreement = agreements; agreement; agreement = agreement->next)
    if (agreement->comm == comm) return agreement;
  PMPI_Comm_test_inter(comm, &between_groups);
  PMPI_Comm_size(comm, &ranks);
  if (between_groups || ranks == 1) return NULL;
  agreement_made(comm);
  return agreements;
}

void agreement_freed(MPI_Comm comm, bool together)
{
  for (Agreement **at = &agreements; *at; at = &(*at)->next)
    if ((*at)->comm == comm) {
      Agreement *agreement = *at;
      *at = agreement->next;
      if (agreement->pending) return; /* its messages are still under way */
      if (together) CALL(MPI_Comm_free, &agreement->own);
      free(agreement->world);
      free(agreement);
      return;
    }
}

static Step step_of(Agreement *agreement, const Place *place, const char *call, int root, MPI_Op op,
                    long bytes)
{
  Step step = {++agreement->steps, root, index_of(op), bytes, "", ""};
  snprintf(step.call, sizeof step.call, "%s", call);
  describe_place(place, step.at, sizeof step.at);
  return step;
}

/* Tells the step to the rank 2**round to the right, and hears from the one to the left. */
static void begin(Agreement *agreement, const Place *place, Step step, int round)
{
  Exchange *exchange = calloc(1, sizeof *exchange), **last = &agreement->pending;
  int distance = (1 << round) % agreement->ranks;
  int left = (agreement->rank + agreement->ranks - distance) % agreement->ranks;
  int right = (agreement->rank + distance) % agreement->ranks;
  exchange->place = *place;
  exchange->mine = step;
  exchange->from = agreement->world[left];
  exchange->to = agreement->world[right];
  CALL(MPI_Irecv, &exchange->theirs, (int)sizeof(Step), MPI_BYTE, left, round, agreement->own,
       &exchange->requests[0]);
  CALL(MPI_Isend, &exchange->mine, (int)sizeof(Step), MPI_BYTE, right, round, agreement->own,
       &exchange->requests[1]);
  while (*last) last = &(*last)->next;
  *last = exchange;
}

static void describe_step(const Step *step, char *text, size_t room)
{
  char root[32] = "", bytes[32] = "";
  if (step->root != NO_ROOT) snprintf(root, sizeof root, ", root %ld", step->root);
  if (step->bytes != NO_BYTES) snprintf(bytes, sizeof bytes, ", %ld bytes", step->bytes);
  snprintf(text, room, "%s%s%s%s", step->call, root, bytes,
           step->op > 0 ? ", its operation" : step->op < 0 ? ", an operation of its own" : "");
}

static void stop(void)
{
  usleep(GRACE); /* others may be about to report the same */
  PMPI_Abort(MPI_COMM_WORLD, FAILED);
}

static void compare(const Agreement *agreement, const Exchange *exchange)
{
  const Step *mine = &exchange->mine, *theirs = &exchange->theirs;
  bool lengths = mine->bytes == theirs->bytes || mine->bytes == NO_BYTES || theirs->bytes == NO_BYTES;
  if (strcmp(mine->call, theirs->call) == 0 && mine->root == theirs->root &&
      mine->op == theirs->op && lengths)
    return;
  char me[200], them[200];
  describe_step(mine, me, sizeof me);
  describe_step(theirs, them, sizeof them);
  Subject subject = {mine->call,    NULL, mine->bytes,      MPI_UNDEFINED, MPI_UNDEFINED,
                     agreement->comm, &exchange->place};
  report("collective-order", &subject, mine->call,
         "collective call %ld on this communicator: rank %d is in %s, rank %d in %s at %s",
         mine->number, my_rank(), me, exchange->from, them, theirs->at);
  stop();
}

/* Moves an exchange on; true when both sides are done. */
static bool is_done(Exchange *exchange)
{
  int done[2] = {0, 0};
  for (int i = 0; i < 2; i++) CALL(MPI_Test, &exchange->requests[i], &done[i], MPI_STATUS_IGNORE);
  return done[0] && done[1];
}

/* Compares and drops the exchanges that are done, in their order. */
static void move_on(Agreement *agreement)
{
  while (agreement->pending && is_done(agreement->pending)) {
    Exchange *exchange = agreement->pending;
    compare(agreement, exchange);
    agreement->pending = exchange->next;
    free(exchange);
  }
}

static void wait_for(Agreement *agreement, const char *text)
{
  char circle[1600];
  for (long look = 0; move_on(agreement), agreement->pending; look++) {
    bool heard = agreement->pending->requests[0] == MPI_REQUEST_NULL;
    board_waits(heard ? agreement->pending->to : agreement->pending->from, text);
    if (look < SPINS)
      sched_yield();
    else
      usleep(NAP);
    if (look > SPINS && look % LOOK_EVERY == 0 && board_circle(circle, sizeof circle)) {
      const Exchange *exchange = agreement->pending;
      Subject subject = {exchange->mine.call, NULL, exchange->mine.bytes, MPI_UNDEFINED,
                         MPI_UNDEFINED, agreement->comm, &exchange->place};
      report("collective-order", &subject, exchange->mine.call,
             "ranks wait for each other in collective calls: %s", circle);
      stop();
    }
  }
  board_waits(-1, "");
}

void agree(MPI_Comm comm, const char *call, int root, MPI_Op op, long bytes)
{
  Agreement *agreement = agreement_of(comm);
  char name[300], text[600];
  if (!agreement) return;
  Place place = here();
  Step step = step_of(agreement, &place, call, root, op, bytes);
  communicator_name(comm, name, sizeof name);
  snprintf(text, sizeof text, "%s on %s at %s", call, name, step.at);
  for (int round = 0; 1 << round < agreement->ranks; round++) {
    begin(agreement, &place, step, round);
    wait_for(agreement, text);
  }
}

void agree_later(MPI_Comm comm, const char *call, int root, MPI_Op op, long bytes)
{
  Agreement *agreement = agreement_of(comm);
  if (!agreement) return;
  Place place = here();
  begin(agreement, &place, step_of(agreement, &place, call, root, op, bytes), 0);
  move_on(agreement);
}

void agreement_progress(void)
{
  for (Agreement *agreement = agreements; agreement; agreement = agreement->next)
    if (agreement->pending) move_on(agreement);
}

void agreement_end(void)
{
  for (Agreement *agreement = agreements; agreement; agreement = agreement->next)
    if (agreement->pending) wait_for(agreement, "MPI_Finalize on MPI_COMM_WORLD");
}
