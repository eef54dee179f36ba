/* The intercepted calls that complete requests. */
#include "race.h"

#include <dlfcn.h>
#include <stdlib.h>

/* MPI refuses negative ones. */
static size_t size_of_array(int count) { return count > 0 ? (size_t)count : 0; }

/* What the library knows about an array of requests before MPI changes it. */
static Request **watched_of(int count, const MPI_Request handles[])
{
  Request **watched = malloc((size_of_array(count) + 1) * sizeof *watched);
  for (int i = 0; i < count; i++) watched[i] = request_find(handles[i]);
  return watched;
}

static MPI_Status *statuses_for(int count, MPI_Status *given)
{
  return given == MPI_STATUSES_IGNORE ? malloc((size_of_array(count) + 1) * sizeof(MPI_Status)) : given;
}

static int class_of(int outcome)
{
  int class = outcome;
  if (outcome != MPI_SUCCESS) PMPI_Error_class(outcome, &class);
  return class;
}

/* Whether the i-th of several requests is complete, given what the call of MPI returned. */
static bool came_to_an_end(int outcome, const MPI_Status *status)
{
  if (outcome == MPI_SUCCESS) return true;
  return class_of(outcome) == MPI_ERR_IN_STATUS && status->MPI_ERROR != MPI_ERR_PENDING;
}

/* The error code of one of several requests that are complete. */
static int outcome_of(int outcome, const MPI_Status *status)
{
  return outcome == MPI_SUCCESS ? MPI_SUCCESS : status->MPI_ERROR;
}

/* Whether a call for one request says what became of it: else it was called in a wrong way, and
 * flag and index tell nothing.  A message may be complete and wrong (MPI_ERR_TRUNCATE). */
static bool told(int outcome)
{
  switch (class_of(outcome)) {
  case MPI_ERR_REQUEST:
  case MPI_ERR_ARG:
  case MPI_ERR_COUNT:
  case MPI_ERR_BUFFER: return false;
  default: return true;
  }
}

/* The request that a call for one of `count` says is complete; NULL: none that is watched. */
static Request *chosen(int outcome, int count, Request *const watched[], int index)
{
  return told(outcome) && index >= 0 && index < count ? watched[index] : NULL;
}

int MPI_Wait(MPI_Request *handle, MPI_Status *status)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Wait, handle, status);
  Request *watched = request_find(*handle);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Wait, handle, got);
  if (watched && told(outcome)) request_complete(watched, outcome, handle, got, got == &own, "MPI_Wait");
  return outcome;
}
BOTH_NAMES(MPI_Wait);

int MPI_Test(MPI_Request *handle, int *flag, MPI_Status *status)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Test, handle, flag, status);
  Request *watched = request_find(*handle);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Test, handle, flag, got);
  if (watched && told(outcome) && *flag)
    request_complete(watched, outcome, handle, got, got == &own, "MPI_Test");
  return outcome;
}
BOTH_NAMES(MPI_Test);

int MPI_Waitall(int count, MPI_Request handles[], MPI_Status statuses[])
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Waitall, count, handles, statuses);
  Request **watched = watched_of(count, handles);
  MPI_Status *got = statuses_for(count, statuses);
  int outcome = CALL(MPI_Waitall, count, handles, got);
  for (int i = 0; i < count; i++)
    if (watched[i] && came_to_an_end(outcome, &got[i]))
      request_complete(watched[i], outcome_of(outcome, &got[i]), &handles[i], &got[i],
                       got != statuses || statuses_ignored, "MPI_Waitall");
  if (got != statuses) free(got);
  free(watched);
  return outcome;
}
BOTH_NAMES(MPI_Waitall);

int MPI_Testall(int count, MPI_Request handles[], int *flag, MPI_Status statuses[])
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Testall, count, handles, flag, statuses);
  Request **watched = watched_of(count, handles);
  MPI_Status *got = statuses_for(count, statuses);
  int outcome = CALL(MPI_Testall, count, handles, flag, got);
  for (int i = 0; i < count; i++)
    if (watched[i] && came_to_an_end(outcome, &got[i]) && *flag)
      request_complete(watched[i], outcome_of(outcome, &got[i]), &handles[i], &got[i],
                       got != statuses || statuses_ignored, "MPI_Testall");
  if (got != statuses) free(got);
  free(watched);
  return outcome;
}
BOTH_NAMES(MPI_Testall);

int MPI_Waitany(int count, MPI_Request handles[], int *index, MPI_Status *status)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Waitany, count, handles, index, status);
  Request **watched = watched_of(count, handles);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Waitany, count, handles, index, got);
  Request *ended = chosen(outcome, count, watched, *index);
  if (ended) request_complete(ended, outcome, &handles[*index], got, got == &own, "MPI_Waitany");
  free(watched);
  return outcome;
}
BOTH_NAMES(MPI_Waitany);

int MPI_Testany(int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Testany, count, handles, index, flag, status);
  Request **watched = watched_of(count, handles);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Testany, count, handles, index, flag, got);
  Request *ended = chosen(outcome, count, watched, *index);
  if (ended && *flag) request_complete(ended, outcome, &handles[*index], got, got == &own, "MPI_Testany");
  free(watched);
  return outcome;
}
BOTH_NAMES(MPI_Testany);

typedef int (*SomeCall)(int, MPI_Request[], int *, int[], MPI_Status[]);

static int complete_some(const char *call, SomeCall real, int count, MPI_Request handles[],
                         int *done, int indices[], MPI_Status statuses[])
{
  Request **watched = watched_of(count, handles);
  MPI_Status *got = statuses_for(count, statuses);
  race_inside++;
  int outcome = real(count, handles, done, indices, got);
  race_inside--;
  bool some = outcome == MPI_SUCCESS || class_of(outcome) == MPI_ERR_IN_STATUS;
  for (int i = 0; some && *done != MPI_UNDEFINED && i < *done; i++)
    if (watched[indices[i]] && came_to_an_end(outcome, &got[i]))
      request_complete(watched[indices[i]], outcome_of(outcome, &got[i]), &handles[indices[i]],
                       &got[i], got != statuses || statuses_ignored, call);
  if (got != statuses) free(got);
  free(watched);
  return outcome;
}

int MPI_Waitsome(int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[])
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Waitsome, count, handles, done, indices, statuses);
  return complete_some("MPI_Waitsome", REAL(MPI_Waitsome), count, handles, done, indices, statuses);
}
BOTH_NAMES(MPI_Waitsome);

int MPI_Testsome(int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[])
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Testsome, count, handles, done, indices, statuses);
  return complete_some("MPI_Testsome", REAL(MPI_Testsome), count, handles, done, indices, statuses);
}
BOTH_NAMES(MPI_Testsome);

/* Tells that a request is complete and leaves it: its memory is the program's from then on. */
int MPI_Request_get_status(MPI_Request handle, int *flag, MPI_Status *status)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Request_get_status, handle, flag, status);
  Request *watched = request_find(handle);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Request_get_status, handle, flag, got);
  if (watched && outcome == MPI_SUCCESS && *flag)
    request_complete(watched, outcome, NULL, got, got == &own, "MPI_Request_get_status");
  return outcome;
}
BOTH_NAMES(MPI_Request_get_status);

int MPI_Request_free(MPI_Request *handle)
{
  PASS_INSIDE_BUT_AT_THE_END(MPI_Request_free, handle);
  Request *watched = request_find(*handle);
  if (watched && watched->active && watched->receives) {
    request_abandon(watched, handle);
    return MPI_SUCCESS;
  }
  if (watched) request_forget(watched);
  return CALL(MPI_Request_free, handle);
}
BOTH_NAMES(MPI_Request_free);

/* Open MPI's Fortran bindings pass statuses of their own where the program has MPI_STATUSES_IGNORE.
 * So these look at the program's argument and call on.  The names are those of gfortran's
 * `mpif.h` and `mpi`, and of `mpi_f08`; other MPIs have none of them, or say the same themselves. */
static bool is_statuses_ignore(const void *statuses)
{
  static const char *const names[] = {"mpi_fortran_statuses_ignore_", "mpi_fortran_statuses_ignore",
                                      "mpi_fortran_statuses_ignore__"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const void *sentinel = dlsym(RTLD_DEFAULT, names[i]);
    if (sentinel && sentinel == statuses) return true;
  }
  return false;
}

#define LOOKS_AT_STATUSES(name, arguments, values)                                                 \
  void name arguments;                                                                             \
  void name arguments                                                                              \
  {                                                                                                \
    static void(*real) arguments;                                                                  \
    if (!real) real = (void(*) arguments)next_definition(#name);                                   \
    bool before = statuses_ignored;                                                                \
    statuses_ignored = is_statuses_ignore(statuses);                                               \
    real values;                                                                                   \
    statuses_ignored = before;                                                                     \
  }

#define ALL_OF(name)                                                                               \
  LOOKS_AT_STATUSES(name, (void *count, void *handles, void *statuses, void *error),               \
                    (count, handles, statuses, error))
#define TEST_OF(name)                                                                              \
  LOOKS_AT_STATUSES(name, (void *count, void *handles, void *flag, void *statuses, void *error),   \
                    (count, handles, flag, statuses, error))
#define SOME_OF(name)                                                                              \
  LOOKS_AT_STATUSES(                                                                               \
      name,                                                                                        \
      (void *count, void *handles, void *done, void *indices, void *statuses, void *error),        \
      (count, handles, done, indices, statuses, error))

ALL_OF(mpi_waitall_)
ALL_OF(mpi_waitall_f08_)
TEST_OF(mpi_testall_)
TEST_OF(mpi_testall_f08_)
SOME_OF(mpi_waitsome_)
SOME_OF(mpi_waitsome_f08_)
SOME_OF(mpi_testsome_)
SOME_OF(mpi_testsome_f08_)
