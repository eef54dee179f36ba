/* Which message went into which receive, and whether that could have been otherwise.
 *
 * MPI matches a message with the first posted receive that fits (MPI-3.1, section 3.5), so that
 * messages of one sender on one communicator with one tag never overtake: a ring that uses a tag
 * again and again is in order, and not looked at.  For two receives W and R of a rank that are
 * pending at once on one communicator, W posted first, with different buffers, it is a finding if
 *
 *  - W has MPI_ANY_SOURCE, fits the message that R got as well, and the two messages came from
 *    different ranks: had R's been faster, W would have got it.  Not if the two receives ask for
 *    the same and the program gets statuses, which tell it whose message is where;
 *  - W has MPI_ANY_TAG, R waits for one tag, and W got a message with that tag (from a rank that R
 *    takes messages from): it overtook the receive that names the tag.  If W names its sender, the
 *    order in which the two were sent and posted says which is whose, and the finding is of a kind
 *    of its own: where both stand for receives that blocked, that order is the program's;
 *  - both name the same sender and tag, and W got fewer bytes than it has room for, but as many as
 *    R has: the messages were sent in another order than they are received.  The finding is
 *    withdrawn when R completes without an error: W's message would have been too long for it.
 */
#include "race.h"

#include <stdlib.h>

/* The first completed of two receives that were pending at once. */
struct Overlap {
  struct Overlap *next;
  int peer, tag, source, got_tag;
  long order;
  bool ignored;
  const void *buffer;
  const char *call;
  Place place;
};

static Request *latest; /* of the pending receives */
static long orders = 0;
__thread bool statuses_ignored = false;

/* What one of two receives asked for and got. */
typedef struct Receive {
  int peer, tag, source, got_tag;
  bool ignored;
} Receive;

static bool fits(int peer, int tag, int source, int got_tag)
{
  return (peer == MPI_ANY_SOURCE || peer == source) && (tag == MPI_ANY_TAG || tag == got_tag);
}

static bool wild(int peer, int tag) { return peer == MPI_ANY_SOURCE || tag == MPI_ANY_TAG; }

/* Whether some message fits both receives, of which one has a wildcard. */
static bool compete(int peer, int tag, const Request *other)
{
  return (wild(peer, tag) || wild(other->peer, other->tag)) &&
         (peer == other->peer || peer == MPI_ANY_SOURCE || other->peer == MPI_ANY_SOURCE) &&
         (tag == other->tag || tag == MPI_ANY_TAG || other->tag == MPI_ANY_TAG);
}

/* What is wrong with the messages of two receives. */
typedef struct Fault {
  const char *kind, *text;
} Fault;

/* NULL: nothing. */
static const Fault *judge(const Receive *first, const Receive *second)
{
  static const char tagged[] =
      "has MPI_ANY_TAG and got a message with the tag that the other one waits for";
  static const Fault from_any = {
      "overtaking",
      "has MPI_ANY_SOURCE and would have got the other one's message, had it been faster"};
  static const Fault with_any = {"overtaking", tagged}, in_order = {"any-tag", tagged};
  bool alike = first->peer == second->peer && first->tag == second->tag;
  if (first->peer == MPI_ANY_SOURCE && first->source != second->source &&
      fits(first->peer, first->tag, second->source, second->got_tag) &&
      (!alike || first->ignored || second->ignored))
    return &from_any;
  if (first->tag == MPI_ANY_TAG && second->tag != MPI_ANY_TAG && first->got_tag == second->tag &&
      fits(second->peer, second->tag, first->source, first->got_tag))
    return first->peer == MPI_ANY_SOURCE ? &with_any : &in_order;
  return NULL;
}

static const void *buffer_of(const Request *request)
{
  return request->in.pieces ? request->in.piece[0].address : NULL;
}

static void report_pair(const Subject *second, const char *first_call, const Place *first,
                        const Receive *got, const Receive *other, const Fault *fault,
                        const char *during)
{
  char posted[1024];
  describe_place(first, posted, sizeof posted);
  report(fault->kind, second, during,
         "the receive posted before by %s at %s %s: it got the message of rank %d with tag %d, "
         "this one that of rank %d with tag %d",
         first_call, posted, fault->text, got->source, got->tag == MPI_ANY_TAG ? got->got_tag : got->tag,
         other->source, other->got_tag);
}

void matching_posted(Request *request)
{
  request->order = ++orders;
  request->earlier_receive = latest;
  request->later_receive = NULL;
  if (latest) latest->later_receive = request;
  latest = request;
}

static void drop_overlaps(Request *request)
{
  while (request->overlaps) {
    Overlap *first = request->overlaps;
    request->overlaps = first->next;
    free(first);
  }
}

void matching_forget(Request *request)
{
  if (request->order) {
    if (request->later_receive)
      request->later_receive->earlier_receive = request->earlier_receive;
    else
      latest = request->earlier_receive;
    if (request->earlier_receive)
      request->earlier_receive->later_receive = request->later_receive;
    request->order = 0;
  }
  drop_overlaps(request);
}

/* The first receive may have got the message of the second: judged by the lengths. */
static void judge_lengths(const Request *first, const MPI_Status *status, const char *during)
{
  int bytes = 0;
  PMPI_Get_count((MPI_Status *)status, MPI_BYTE, &bytes);
  if (bytes == MPI_UNDEFINED || bytes <= 0 || (size_t)bytes == first->in.bytes) return;
  for (Request *second = first->later_receive; second; second = second->later_receive)
    if (second->comm == first->comm && second->peer == first->peer && second->tag == first->tag &&
        second->in.bytes == (size_t)bytes && !second->suspected) {
      Subject subject = {first->call, buffer_of(first), (long)first->in.bytes, first->peer,
                         first->tag,  first->comm,      &first->place};
      char posted[1024];
      describe_place(&second->place, posted, sizeof posted);
      second->suspected = report(
          "overtaking", &subject, during,
          "it got %d bytes, as many as the receive posted after it by %s at %s has room for: "
          "messages with one tag are received in another order than they were sent",
          bytes, second->call, posted);
      return;
    }
}

void matching_complete(Request *request, int outcome, const MPI_Status *status, bool ignored,
                       const char *during)
{
  int cancelled = 0;
  if (request->suspected && outcome == MPI_SUCCESS) withdraw(request->suspected);
  request->suspected = 0;
  PMPI_Test_cancelled((MPI_Status *)status, &cancelled);
  if (cancelled || request->peer == MPI_PROC_NULL) {
    matching_forget(request);
    return;
  }
  Receive mine = {request->peer, request->tag, status->MPI_SOURCE, status->MPI_TAG, ignored};
  Subject subject = {request->call, buffer_of(request), (long)request->in.bytes, request->peer,
                     request->tag,  request->comm,      &request->place};
  for (Overlap *other = request->overlaps; other; other = other->next) {
    Receive theirs = {other->peer, other->tag, other->source, other->got_tag, other->ignored};
    bool first = request->order < other->order;
    const Fault *fault = first ? judge(&mine, &theirs) : judge(&theirs, &mine);
    if (!fault || other->buffer == subject.buffer) continue;
    Subject late = subject;
    if (first) {
      late.call = other->call;
      late.place = &other->place;
      late.buffer = other->buffer;
      late.peer = other->peer;
      late.tag = other->tag;
      report_pair(&late, request->call, &request->place, &mine, &theirs, fault, during);
    } else {
      report_pair(&late, other->call, &other->place, &theirs, &mine, fault, during);
    }
  }
  if (!wild(request->peer, request->tag)) judge_lengths(request, status, during);
  for (Request *other = latest; other; other = other->earlier_receive) {
    if (other == request || other->comm != request->comm) continue;
    if (!compete(request->peer, request->tag, other)) continue;
    Overlap *overlap = malloc(sizeof *overlap);
    *overlap = (Overlap){other->overlaps, mine.peer,      mine.tag, mine.source,   mine.got_tag,
                         request->order,  ignored,        subject.buffer,
                         request->call,   request->place};
    other->overlaps = overlap;
  }
  matching_forget(request);
}

void matching_blocking(const char *call, MPI_Comm comm, int peer, int tag, const void *buffer,
                       const MPI_Status *status, bool ignored)
{
  Receive mine = {peer, tag, status->MPI_SOURCE, status->MPI_TAG, ignored};
  if (peer == MPI_PROC_NULL) return;
  for (Request *other = latest; other; other = other->earlier_receive) {
    if (other->comm != comm || !compete(peer, tag, other)) continue;
    Overlap *overlap = malloc(sizeof *overlap);
    *overlap = (Overlap){other->overlaps, mine.peer, mine.tag, mine.source, mine.got_tag,
                         orders + 1,      ignored,   buffer,   call,        here()};
    other->overlaps = overlap;
  }
}
