/* What a call does to the buffers of pending communication: looked at when it is entered. */
#include "race.h"

#include <stdlib.h>

const Request *receive_at(const Region *region)
{
  for (const Request *other = NULL; (other = next_pending(other));)
    if (other->shadow && regions_overlap(&other->in, region)) return other;
  return NULL;
}

void report_poison(const Subject *subject, const Region *region, long at)
{
  const Request *from = receive_at(region);
  char posted[1024] = "";
  if (from) describe_place(&from->place, posted, sizeof posted);
  report("receive-read", subject, subject->call,
         from ? "byte %ld of what is sent belongs to the buffer of a pending receive, posted by "
                "%s at %s"
              : "byte %ld of what is sent was computed from the buffer of a pending receive",
         at, from ? from->call : "", posted);
}

void check_region(const char *call, MPI_Comm comm, int peer, int tag, Region *region)
{
  if (pending_receives() && region->pieces) {
    unsigned char *bytes = region_pack(region, 0);
    long at = find_poison(bytes, region);
    Subject subject = {call, region->piece[0].address, (long)region->bytes, peer, tag, comm, NULL};
    if (at >= 0) report_poison(&subject, region, at);
    free(bytes);
  }
  region_free(region);
}

void check_read(const char *call, MPI_Comm comm, int peer, int tag, const void *buffer, long count,
                MPI_Datatype type)
{
  Region region = {0};
  if (!pending_receives()) return;
  region_add(&region, buffer, 0, count, type);
  check_region(call, comm, peer, tag, &region);
}

void check_landing(const char *call, Region *region)
{
  for (const Request *other = NULL; region->pieces && (other = next_pending(other));) {
    Subject subject = subject_of(other);
    if (regions_overlap(&other->in, region))
      report("receive-written", &subject, call, "%s receives into the same memory", call);
    if (!regions_overlap(&other->out, region)) continue;
    subject.buffer = other->out.piece[0].address;
    subject.bytes = (long)other->out.bytes;
    report("send-changed", &subject, call, "%s receives into the same memory", call);
  }
  region_free(region);
}

void check_written(const char *call, const void *buffer, long count, MPI_Datatype type)
{
  Region region = {0};
  if (!pending_requests()) return;
  region_add(&region, buffer, 0, count, type);
  check_landing(call, &region);
}
