/* The intercepted calls that send and receive. */
#include "race.h"

#include <stdlib.h>

typedef int (*SendInit)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);

/* Starts what `handle`, persistent, stands for. */
static int begin(Request *request, int made, MPI_Request *handle)
{
  int outcome = made;
  if (made == MPI_SUCCESS) {
    request->frees = true;
    request_begin(request);
    outcome = CALL(MPI_Start, handle);
    if (outcome != MPI_SUCCESS) CALL(MPI_Request_free, handle);
  }
  return request_posted(request, outcome, handle);
}

static int start_send(const char *call, SendInit init, const void *buffer, int count,
                      MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *handle)
{
  Request *request = request_new(call, comm, peer, tag);
  region_add(&request->out, buffer, 0, count, type);
  race_inside++;
  int made = init(buffer, count, type, peer, tag, comm, handle);
  race_inside--;
  return begin(request, made, handle);
}

static int make_send(const char *call, SendInit init, const void *buffer, int count,
                     MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request *handle)
{
  race_inside++;
  int outcome = init(buffer, count, type, peer, tag, comm, handle);
  race_inside--;
  if (outcome != MPI_SUCCESS) return outcome;
  Request *request = request_new(call, comm, peer, tag);
  request->persistent = true;
  region_add(&request->out, buffer, 0, count, type);
  request_register(request, *handle);
  return outcome;
}

#define SEND_ARGUMENTS                                                                             \
  const void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm

#define NONBLOCKING_SEND(f, init)                                                                  \
  int f(SEND_ARGUMENTS, MPI_Request *handle)                                                       \
  {                                                                                                \
    PASS_INSIDE(f, buffer, count, type, peer, tag, comm, handle);                                  \
    if (peer == MPI_PROC_NULL) return CALL(f, buffer, count, type, peer, tag, comm, handle);       \
    return start_send(#f, REAL(init), buffer, count, type, peer, tag, comm, handle);               \
  }                                                                                                \
  BOTH_NAMES(f)

#define PERSISTENT_SEND(f)                                                                         \
  int f(SEND_ARGUMENTS, MPI_Request *handle)                                                       \
  {                                                                                                \
    PASS_INSIDE(f, buffer, count, type, peer, tag, comm, handle);                                  \
    return make_send(#f, REAL(f), buffer, count, type, peer, tag, comm, handle);                   \
  }                                                                                                \
  BOTH_NAMES(f)

#define BLOCKING_SEND(f)                                                                           \
  int f(SEND_ARGUMENTS)                                                                            \
  {                                                                                                \
    PASS_INSIDE(f, buffer, count, type, peer, tag, comm);                                          \
    check_read(#f, comm, peer, tag, buffer, count, type);                                          \
    return CALL(f, buffer, count, type, peer, tag, comm);                                          \
  }                                                                                                \
  BOTH_NAMES(f)

NONBLOCKING_SEND(MPI_Isend, MPI_Send_init);
NONBLOCKING_SEND(MPI_Issend, MPI_Ssend_init);
NONBLOCKING_SEND(MPI_Ibsend, MPI_Bsend_init);
NONBLOCKING_SEND(MPI_Irsend, MPI_Rsend_init);
PERSISTENT_SEND(MPI_Send_init);
PERSISTENT_SEND(MPI_Ssend_init);
PERSISTENT_SEND(MPI_Bsend_init);
PERSISTENT_SEND(MPI_Rsend_init);
BLOCKING_SEND(MPI_Send);
BLOCKING_SEND(MPI_Ssend);
BLOCKING_SEND(MPI_Bsend);
BLOCKING_SEND(MPI_Rsend);

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
              MPI_Request *handle)
{
  PASS_INSIDE(MPI_Irecv, buffer, count, type, peer, tag, comm, handle);
  if (peer == MPI_PROC_NULL) return CALL(MPI_Irecv, buffer, count, type, peer, tag, comm, handle);
  Request *request = request_new("MPI_Irecv", comm, peer, tag);
  request->receives = true;
  region_add(&request->in, buffer, 0, count, type);
  void *shadow = request_shadow(request, buffer);
  return begin(request, CALL(MPI_Recv_init, shadow, count, type, peer, tag, comm, handle), handle);
}
BOTH_NAMES(MPI_Irecv);

int MPI_Recv_init(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request *handle)
{
  PASS_INSIDE(MPI_Recv_init, buffer, count, type, peer, tag, comm, handle);
  Request *request = request_new("MPI_Recv_init", comm, peer, tag);
  request->receives = true;
  request->persistent = true;
  region_add(&request->in, buffer, 0, count, type);
  void *shadow = request_shadow(request, buffer);
  int outcome = CALL(MPI_Recv_init, shadow, count, type, peer, tag, comm, handle);
  return request_posted(request, outcome, handle);
}
BOTH_NAMES(MPI_Recv_init);

int MPI_Start(MPI_Request *handle)
{
  PASS_INSIDE(MPI_Start, handle);
  Request *request = request_find(*handle);
  if (request && !request->active) request_begin(request);
  return CALL(MPI_Start, handle);
}
BOTH_NAMES(MPI_Start);

int MPI_Startall(int count, MPI_Request handles[])
{
  PASS_INSIDE(MPI_Startall, count, handles);
  for (int i = 0; i < count; i++) {
    Request *request = request_find(handles[i]);
    if (request && !request->active) request_begin(request);
  }
  return CALL(MPI_Startall, count, handles);
}
BOTH_NAMES(MPI_Startall);

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
             MPI_Status *status)
{
  PASS_INSIDE(MPI_Recv, buffer, count, type, peer, tag, comm, status);
  if (peer != MPI_PROC_NULL) check_written("MPI_Recv", buffer, count, type);
  MPI_Status own, *got = status == MPI_STATUS_IGNORE ? &own : status;
  int outcome = CALL(MPI_Recv, buffer, count, type, peer, tag, comm, got);
  if (outcome == MPI_SUCCESS)
    matching_blocking("MPI_Recv", comm, peer, tag, buffer, got, got == &own);
  return outcome;
}
BOTH_NAMES(MPI_Recv);

int MPI_Sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int to, int send_tag,
                 void *received, int receive_count, MPI_Datatype receive_type, int from,
                 int receive_tag, MPI_Comm comm, MPI_Status *status)
{
  PASS_INSIDE(MPI_Sendrecv, sent, send_count, send_type, to, send_tag, received, receive_count,
              receive_type, from, receive_tag, comm, status);
  check_read("MPI_Sendrecv", comm, to, send_tag, sent, send_count, send_type);
  if (from != MPI_PROC_NULL) check_written("MPI_Sendrecv", received, receive_count, receive_type);
  return CALL(MPI_Sendrecv, sent, send_count, send_type, to, send_tag, received, receive_count,
              receive_type, from, receive_tag, comm, status);
}
BOTH_NAMES(MPI_Sendrecv);

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int send_tag, int from,
                         int receive_tag, MPI_Comm comm, MPI_Status *status)
{
  PASS_INSIDE(MPI_Sendrecv_replace, buffer, count, type, to, send_tag, from, receive_tag, comm,
              status);
  check_read("MPI_Sendrecv_replace", comm, to, send_tag, buffer, count, type);
  if (from != MPI_PROC_NULL) check_written("MPI_Sendrecv_replace", buffer, count, type);
  return CALL(MPI_Sendrecv_replace, buffer, count, type, to, send_tag, from, receive_tag, comm,
              status);
}
BOTH_NAMES(MPI_Sendrecv_replace);
