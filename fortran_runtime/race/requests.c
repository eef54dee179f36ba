/* Pending communication: its memory is watched from the call that starts it to its completion.
 *
 * A send: its bytes are kept and compared at completion.  A receive: MPI gets a shadow of the
 * program's memory, and the program's memory is poisoned, whatever the MPI and its timing.  The
 * shadow begins as a copy of what was there, so that what is handed over at completion is right for
 * messages that are shorter than the receive, and for cancelled ones.
 *
 * Handles must tell requests apart.  MPIs give one handle to many requests that are complete at
 * once; so the library starts a persistent request in the place of MPI_Isend and its kin, and in
 * the place of a collective that is complete at once an empty one.
 */
#include "race.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BUCKETS = 4093, ALIGNMENT = 64, LARGE = 1 << 20 };

static Request *bucket[BUCKETS];
static Request *orphans;         /* active receives that the program freed; linked by `next` */
static int active_receives = 0;  /* with poison in the program's memory */
static int active_requests = 0;

static size_t bucket_of(MPI_Request handle)
{
  uint64_t value = 0;
  memcpy(&value, &handle, sizeof handle);
  return (value >> 4 ^ value) % BUCKETS;
}

Request *request_find(MPI_Request handle)
{
  if (handle == MPI_REQUEST_NULL) return NULL;
  for (Request *request = bucket[bucket_of(handle)]; request; request = request->next)
    if (request->handle == handle) return request;
  return NULL;
}

Request *request_new(const char *call, MPI_Comm comm, int peer, int tag)
{
  Request *request = calloc(1, sizeof *request);
  request->handle = MPI_REQUEST_NULL;
  request->call = call;
  request->comm = comm;
  request->peer = peer;
  request->tag = tag;
  return request;
}

Subject subject_of(const Request *request)
{
  const Region *region = request->in.pieces ? &request->in : &request->out;
  return (Subject){request->call,
                   region->pieces ? region->piece[0].address : NULL,
                   (long)region->bytes,
                   request->peer,
                   request->tag,
                   request->comm,
                   &request->place};
}

void *request_shadow(Request *request, void *buffer)
{
  size_t span = request->in.high - request->in.low;
  if (!request->in.pieces) return buffer;
  request->shadow_bytes = span + ALIGNMENT;
  if (request->shadow_bytes < LARGE) {
    request->shadow = malloc(request->shadow_bytes);
  } else {
    request->shadow = mmap(NULL, request->shadow_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (request->shadow == MAP_FAILED) request->shadow = NULL;
  }
  if (!request->shadow) { /* MPI writes into the program's memory, unwatched */
    region_free(&request->in);
    return buffer;
  }
  uintptr_t there = (uintptr_t)request->in.low, from = (uintptr_t)request->shadow;
  request->delta = (ptrdiff_t)(from + (there - from) % ALIGNMENT - there);
  return (char *)buffer + request->delta;
}

static void free_shadow(Request *request)
{
  if (!request->shadow) return;
  if (request->shadow_bytes < LARGE)
    free(request->shadow);
  else
    munmap(request->shadow, request->shadow_bytes);
  request->shadow = NULL;
}

int pending_receives(void) { return active_receives; }

int pending_requests(void) { return active_requests; }

Request *next_pending(const Request *after)
{
  size_t i = after ? bucket_of(after->handle) : 0;
  Request *request = after ? after->next : bucket[0];
  for (;;) {
    for (; request; request = request->next)
      if (request->active) return request;
    if (++i == BUCKETS) return NULL;
    request = bucket[i];
  }
}

void request_begin(Request *request)
{
  request->place = here();
  if (request->out.pieces) {
    request->sent = region_pack(&request->out, 0);
    long at = active_receives ? find_poison(request->sent, &request->out) : -1;
    Subject subject = subject_of(request);
    if (at >= 0) report_poison(&subject, &request->out, at);
  }
  if (request->in.pieces) {
    unsigned char *before = region_pack(&request->in, 0);
    const Request *other = active_receives && find_poison(before, &request->in) >= 0
                               ? receive_at(&request->in)
                               : NULL;
    if (other) {
      Subject subject = subject_of(request);
      char posted[1024];
      describe_place(&other->place, posted, sizeof posted);
      report("receive-written", &subject, request->call,
             "its buffer is also that of a pending receive, posted by %s at %s", other->call,
             posted);
    }
    unsigned char *poison = poison_bytes(request->in.bytes);
    region_unpack(&request->in, request->delta, before);
    region_unpack(&request->in, 0, poison);
    free(before);
    free(poison);
    active_receives++;
  }
  request->active = true;
  active_requests++;
  if (request->receives) matching_posted(request);
}

/* The memory is the program's again. */
static void hand_over(Request *request, const char *during)
{
  request->active = false;
  active_requests--;
  if (request->sent) {
    unsigned char *now = region_pack(&request->out, 0);
    long at = first_difference(request->sent, now, request->out.bytes);
    if (at >= 0 && during) {
      Subject subject = subject_of(request);
      subject.buffer = request->out.piece[0].address;
      subject.bytes = (long)request->out.bytes;
      report("send-changed", &subject, during,
             "byte %ld of %ld was changed while the send was pending", at,
             (long)request->out.bytes);
    }
    free(now);
    free(request->sent);
    request->sent = NULL;
  }
  if (request->in.pieces) {
    unsigned char *now = region_pack(&request->in, 0);
    unsigned char *poison = poison_bytes(request->in.bytes);
    long at = first_difference(poison, now, request->in.bytes);
    if (at >= 0 && during) {
      Subject subject = subject_of(request);
      report("receive-written", &subject, during,
             "byte %ld of %ld was written while the receive was pending", at,
             (long)request->in.bytes);
    }
    free(now);
    free(poison);
    unsigned char *received = region_pack(&request->in, request->delta);
    region_unpack(&request->in, 0, received);
    free(received);
    active_receives--;
  }
}

static void unlink_request(Request *request)
{
  Request **at = &bucket[bucket_of(request->handle)];
  while (*at && *at != request) at = &(*at)->next;
  if (*at) *at = request->next;
}

static void destroy(Request *request)
{
  matching_forget(request);
  free(request->sent);
  free_shadow(request);
  region_free(&request->out);
  region_free(&request->in);
  free(request);
}

void request_register(Request *request, MPI_Request handle)
{
  Request **first = &bucket[bucket_of(handle)];
  request->handle = handle;
  request->next = *first;
  *first = request;
}

/* Started communication with nobody, which is complete and has a handle of its own. */
static MPI_Request empty_request(void)
{
  MPI_Request handle;
  CALL(MPI_Send_init, NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &handle);
  CALL(MPI_Start, &handle);
  return handle;
}

int request_posted(Request *request, int outcome, MPI_Request *handle)
{
  if (outcome != MPI_SUCCESS) {
    hand_over(request, NULL);
    destroy(request);
    return outcome;
  }
  if (!request->frees && !request->persistent) {
    int complete = 0;
    CALL(MPI_Request_get_status, *handle, &complete, MPI_STATUS_IGNORE);
    if (complete) {
      CALL(MPI_Wait, handle, MPI_STATUS_IGNORE);
      *handle = empty_request();
      request->frees = true;
    }
  }
  request_register(request, *handle);
  return outcome;
}

void request_complete(Request *request, int outcome, MPI_Request *handle, MPI_Status *status,
                      bool ignored, const char *during)
{
  if (request->active) {
    if (request->receives) matching_complete(request, outcome, status, ignored, during);
    hand_over(request, during);
  }
  if (request->persistent || !handle) return;
  unlink_request(request);
  if (request->frees && *handle != MPI_REQUEST_NULL) CALL(MPI_Request_free, handle);
  destroy(request);
}

void request_forget(Request *request)
{
  unlink_request(request);
  if (request->active) active_requests--;
  if (request->active && request->in.pieces) active_receives--;
  destroy(request);
}

void request_abandon(Request *request, MPI_Request *handle)
{
  Subject subject = subject_of(request);
  report("never-completed", &subject, "MPI_Request_free",
         "the request of a pending receive is freed: nothing tells when its buffer may be read");
  unlink_request(request);
  request->next = orphans;
  orphans = request;
  *handle = MPI_REQUEST_NULL;
}

void progress(void)
{
  agreement_progress();
  for (Request **at = &orphans; *at;) {
    Request *request = *at;
    MPI_Request handle = request->handle;
    int complete = 0;
    CALL(MPI_Test, &handle, &complete, MPI_STATUS_IGNORE);
    if (!complete) {
      at = &request->next;
      continue;
    }
    *at = request->next;
    hand_over(request, "MPI_Request_free");
    if (handle != MPI_REQUEST_NULL) CALL(MPI_Request_free, &handle);
    destroy(request);
  }
}

void requests_left(void)
{
  for (size_t i = 0; i < BUCKETS; i++)
    for (Request *request = bucket[i]; request; request = request->next) {
      Subject subject = subject_of(request);
      if (request->active)
        report("never-completed", &subject, "MPI_Finalize",
               "no wait or successful test completes the request");
    }
}
