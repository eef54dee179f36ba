/* The intercepted collective calls in which every rank sends to every rank. */
#include "collective.h"

#define BLOCK_BYTES block_of(sent, send_count, send_type, receive_count, receive_type)

static void check_buffer(const char *call, const void *buffer, MPI_Comm comm, long count,
                         MPI_Datatype type)
{
  check_read(call, comm, MPI_UNDEFINED, MPI_UNDEFINED, buffer, count, type);
}

int MPI_Allgather(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Allgather, sent, send_count, send_type, received, receive_count, receive_type,
              comm);
  agree(comm, "MPI_Allgather", NO_ROOT, MPI_OP_NULL, BLOCK_BYTES);
  if (sent != MPI_IN_PLACE) check_buffer("MPI_Allgather", sent, comm, send_count, send_type);
  check_written("MPI_Allgather", received, (long)receive_count * ranks_of(comm), receive_type);
  return CALL(MPI_Allgather, sent, send_count, send_type, received, receive_count, receive_type,
              comm);
}
BOTH_NAMES(MPI_Allgather);

int MPI_Iallgather(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                   int receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Iallgather, sent, send_count, send_type, received, receive_count, receive_type,
              comm, handle);
  agree_later(comm, "MPI_Iallgather", NO_ROOT, MPI_OP_NULL, BLOCK_BYTES);
  Request *request = collective("MPI_Iallgather", comm);
  add(&request->out, sent, send_count, send_type);
  add(&request->in, received, (long)receive_count * ranks_of(comm), receive_type);
  return POST(request, received, MPI_Iallgather, sent, send_count, send_type, shadow, receive_count,
              receive_type, comm, handle);
}
BOTH_NAMES(MPI_Iallgather);

int MPI_Allgatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                   const int receive_counts[], const int displacements[], MPI_Datatype receive_type,
                   MPI_Comm comm)
{
  PASS_INSIDE(MPI_Allgatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, comm);
  agree(comm, "MPI_Allgatherv", NO_ROOT, MPI_OP_NULL,
        bytes_of(sum_of(comm, receive_counts), receive_type));
  if (sent != MPI_IN_PLACE) check_buffer("MPI_Allgatherv", sent, comm, send_count, send_type);
  check_blocks_written("MPI_Allgatherv", received, comm, receive_counts, displacements,
                       receive_type);
  return CALL(MPI_Allgatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, comm);
}
BOTH_NAMES(MPI_Allgatherv);

int MPI_Iallgatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                    const int receive_counts[], const int displacements[],
                    MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Iallgatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, comm, handle);
  agree_later(comm, "MPI_Iallgatherv", NO_ROOT, MPI_OP_NULL,
              bytes_of(sum_of(comm, receive_counts), receive_type));
  Request *request = collective("MPI_Iallgatherv", comm);
  add(&request->out, sent, send_count, send_type);
  add_blocks(&request->in, received, comm, receive_counts, displacements, receive_type);
  return POST(request, received, MPI_Iallgatherv, sent, send_count, send_type, shadow,
              receive_counts, displacements, receive_type, comm, handle);
}
BOTH_NAMES(MPI_Iallgatherv);

int MPI_Alltoall(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                 int receive_count, MPI_Datatype receive_type, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Alltoall, sent, send_count, send_type, received, receive_count, receive_type,
              comm);
  agree(comm, "MPI_Alltoall", NO_ROOT, MPI_OP_NULL, BLOCK_BYTES);
  if (sent == MPI_IN_PLACE)
    check_buffer("MPI_Alltoall", received, comm, (long)receive_count * ranks_of(comm),
                 receive_type);
  else
    check_buffer("MPI_Alltoall", sent, comm, (long)send_count * ranks_of(comm), send_type);
  check_written("MPI_Alltoall", received, (long)receive_count * ranks_of(comm), receive_type);
  return CALL(MPI_Alltoall, sent, send_count, send_type, received, receive_count, receive_type,
              comm);
}
BOTH_NAMES(MPI_Alltoall);

int MPI_Ialltoall(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                  int receive_count, MPI_Datatype receive_type, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ialltoall, sent, send_count, send_type, received, receive_count, receive_type,
              comm, handle);
  agree_later(comm, "MPI_Ialltoall", NO_ROOT, MPI_OP_NULL, BLOCK_BYTES);
  Request *request = collective("MPI_Ialltoall", comm);
  add(&request->out, sent, (long)send_count * ranks_of(comm), send_type);
  add(&request->in, received, (long)receive_count * ranks_of(comm), receive_type);
  return POST(request, received, MPI_Ialltoall, sent, send_count, send_type, shadow, receive_count,
              receive_type, comm, handle);
}
BOTH_NAMES(MPI_Ialltoall);

int MPI_Alltoallv(const void *sent, const int send_counts[], const int send_displacements[],
                  MPI_Datatype send_type, void *received, const int receive_counts[],
                  const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Alltoallv, sent, send_counts, send_displacements, send_type, received,
              receive_counts, receive_displacements, receive_type, comm);
  agree(comm, "MPI_Alltoallv", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  if (sent == MPI_IN_PLACE)
    check_blocks_read("MPI_Alltoallv", received, comm, receive_counts, receive_displacements,
                      receive_type);
  else
    check_blocks_read("MPI_Alltoallv", sent, comm, send_counts, send_displacements, send_type);
  check_blocks_written("MPI_Alltoallv", received, comm, receive_counts, receive_displacements,
                       receive_type);
  return CALL(MPI_Alltoallv, sent, send_counts, send_displacements, send_type, received,
              receive_counts, receive_displacements, receive_type, comm);
}
BOTH_NAMES(MPI_Alltoallv);

int MPI_Ialltoallv(const void *sent, const int send_counts[], const int send_displacements[],
                   MPI_Datatype send_type, void *received, const int receive_counts[],
                   const int receive_displacements[], MPI_Datatype receive_type, MPI_Comm comm,
                   MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ialltoallv, sent, send_counts, send_displacements, send_type, received,
              receive_counts, receive_displacements, receive_type, comm, handle);
  agree_later(comm, "MPI_Ialltoallv", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  Request *request = collective("MPI_Ialltoallv", comm);
  if (sent != MPI_IN_PLACE)
    add_blocks(&request->out, sent, comm, send_counts, send_displacements, send_type);
  add_blocks(&request->in, received, comm, receive_counts, receive_displacements, receive_type);
  return POST(request, received, MPI_Ialltoallv, sent, send_counts, send_displacements, send_type,
              shadow, receive_counts, receive_displacements, receive_type, comm, handle);
}
BOTH_NAMES(MPI_Ialltoallv);

int MPI_Alltoallw(const void *sent, const int send_counts[], const int send_displacements[],
                  const MPI_Datatype send_types[], void *received, const int receive_counts[],
                  const int receive_displacements[], const MPI_Datatype receive_types[],
                  MPI_Comm comm)
{
  PASS_INSIDE(MPI_Alltoallw, sent, send_counts, send_displacements, send_types, received,
              receive_counts, receive_displacements, receive_types, comm);
  agree(comm, "MPI_Alltoallw", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  if (pending_requests()) {
    Region out = {0}, in = {0};
    add_typed_blocks(&in, received, comm, receive_counts, receive_displacements, receive_types);
    if (sent == MPI_IN_PLACE)
      add_typed_blocks(&out, received, comm, receive_counts, receive_displacements, receive_types);
    else
      add_typed_blocks(&out, sent, comm, send_counts, send_displacements, send_types);
    check_region("MPI_Alltoallw", comm, MPI_UNDEFINED, MPI_UNDEFINED, &out);
    check_landing("MPI_Alltoallw", &in);
  }
  return CALL(MPI_Alltoallw, sent, send_counts, send_displacements, send_types, received,
              receive_counts, receive_displacements, receive_types, comm);
}
BOTH_NAMES(MPI_Alltoallw);

int MPI_Ialltoallw(const void *sent, const int send_counts[], const int send_displacements[],
                   const MPI_Datatype send_types[], void *received, const int receive_counts[],
                   const int receive_displacements[], const MPI_Datatype receive_types[],
                   MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ialltoallw, sent, send_counts, send_displacements, send_types, received,
              receive_counts, receive_displacements, receive_types, comm, handle);
  agree_later(comm, "MPI_Ialltoallw", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  Request *request = collective("MPI_Ialltoallw", comm);
  if (sent != MPI_IN_PLACE)
    add_typed_blocks(&request->out, sent, comm, send_counts, send_displacements, send_types);
  add_typed_blocks(&request->in, received, comm, receive_counts, receive_displacements,
                   receive_types);
  return POST(request, received, MPI_Ialltoallw, sent, send_counts, send_displacements, send_types,
              shadow, receive_counts, receive_displacements, receive_types, comm, handle);
}
BOTH_NAMES(MPI_Ialltoallw);
