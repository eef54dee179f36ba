/* The intercepted collective calls with a root, and the barriers.
 *
 * Blocking ones: the order, and what is read from pending receives.  Non-blocking ones: also their
 * memory, as for sends and receives.  `root` is NO_ROOT, and lengths NO_BYTES, where ranks need not
 * agree.
 */
#include "collective.h"

/* ---- all ranks, without data ---- */

int MPI_Barrier(MPI_Comm comm)
{
  PASS_INSIDE(MPI_Barrier, comm);
  agree(comm, "MPI_Barrier", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  return CALL(MPI_Barrier, comm);
}
BOTH_NAMES(MPI_Barrier);

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ibarrier, comm, handle);
  agree_later(comm, "MPI_Ibarrier", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  Request *request = collective("MPI_Ibarrier", comm);
  request_begin(request);
  return request_posted(request, CALL(MPI_Ibarrier, comm, handle), handle);
}
BOTH_NAMES(MPI_Ibarrier);

/* ---- from one rank ---- */

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Bcast, buffer, count, type, root, comm);
  agree(comm, "MPI_Bcast", root, MPI_OP_NULL, bytes_of(count, type));
  if (am_root(comm, root))
    check_read("MPI_Bcast", comm, root, MPI_UNDEFINED, buffer, count, type);
  else if (root != MPI_PROC_NULL)
    check_written("MPI_Bcast", buffer, count, type);
  return CALL(MPI_Bcast, buffer, count, type, root, comm);
}
BOTH_NAMES(MPI_Bcast);

int MPI_Ibcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ibcast, buffer, count, type, root, comm, handle);
  agree_later(comm, "MPI_Ibcast", root, MPI_OP_NULL, bytes_of(count, type));
  Request *request = collective("MPI_Ibcast", comm);
  if (root != MPI_PROC_NULL)
    add(am_root(comm, root) ? &request->out : &request->in, buffer, count, type);
  return POST(request, buffer, MPI_Ibcast, shadow, count, type, root, comm, handle);
}
BOTH_NAMES(MPI_Ibcast);

#define SCATTER_BYTES                                                                              \
  (am_root(comm, root) ? bytes_of(send_count, send_type) : bytes_of(receive_count, receive_type))

int MPI_Scatter(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Scatter, sent, send_count, send_type, received, receive_count, receive_type, root,
              comm);
  agree(comm, "MPI_Scatter", root, MPI_OP_NULL, SCATTER_BYTES);
  if (am_root(comm, root))
    check_read("MPI_Scatter", comm, root, MPI_UNDEFINED, sent, (long)send_count * ranks_of(comm),
               send_type);
  if (root >= 0 && received != MPI_IN_PLACE)
    check_written("MPI_Scatter", received, receive_count, receive_type);
  return CALL(MPI_Scatter, sent, send_count, send_type, received, receive_count, receive_type, root,
              comm);
}
BOTH_NAMES(MPI_Scatter);

int MPI_Iscatter(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                 int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                 MPI_Request *handle)
{
  PASS_INSIDE(MPI_Iscatter, sent, send_count, send_type, received, receive_count, receive_type,
              root, comm, handle);
  agree_later(comm, "MPI_Iscatter", root, MPI_OP_NULL, SCATTER_BYTES);
  Request *request = collective("MPI_Iscatter", comm);
  if (am_root(comm, root)) add(&request->out, sent, (long)send_count * ranks_of(comm), send_type);
  if (root >= 0) add(&request->in, received, receive_count, receive_type);
  return POST(request, received, MPI_Iscatter, sent, send_count, send_type, shadow, receive_count,
              receive_type, root, comm, handle);
}
BOTH_NAMES(MPI_Iscatter);

int MPI_Scatterv(const void *sent, const int send_counts[], const int displacements[],
                 MPI_Datatype send_type, void *received, int receive_count,
                 MPI_Datatype receive_type, int root, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Scatterv, sent, send_counts, displacements, send_type, received, receive_count,
              receive_type, root, comm);
  agree(comm, "MPI_Scatterv", root, MPI_OP_NULL, NO_BYTES);
  if (am_root(comm, root))
    check_blocks_read("MPI_Scatterv", sent, comm, send_counts, displacements, send_type);
  if (root >= 0 && received != MPI_IN_PLACE)
    check_written("MPI_Scatterv", received, receive_count, receive_type);
  return CALL(MPI_Scatterv, sent, send_counts, displacements, send_type, received, receive_count,
              receive_type, root, comm);
}
BOTH_NAMES(MPI_Scatterv);

int MPI_Iscatterv(const void *sent, const int send_counts[], const int displacements[],
                  MPI_Datatype send_type, void *received, int receive_count,
                  MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Iscatterv, sent, send_counts, displacements, send_type, received, receive_count,
              receive_type, root, comm, handle);
  agree_later(comm, "MPI_Iscatterv", root, MPI_OP_NULL, NO_BYTES);
  Request *request = collective("MPI_Iscatterv", comm);
  if (am_root(comm, root))
    add_blocks(&request->out, sent, comm, send_counts, displacements, send_type);
  if (root >= 0) add(&request->in, received, receive_count, receive_type);
  return POST(request, received, MPI_Iscatterv, sent, send_counts, displacements, send_type, shadow,
              receive_count, receive_type, root, comm, handle);
}
BOTH_NAMES(MPI_Iscatterv);

/* ---- to one rank ---- */

#define GATHER_BYTES block_of(sent, send_count, send_type, receive_count, receive_type)

int MPI_Gather(const void *sent, int send_count, MPI_Datatype send_type, void *received,
               int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Gather, sent, send_count, send_type, received, receive_count, receive_type, root,
              comm);
  agree(comm, "MPI_Gather", root, MPI_OP_NULL, GATHER_BYTES);
  if (sent != MPI_IN_PLACE)
    check_read("MPI_Gather", comm, root, MPI_UNDEFINED, sent, send_count, send_type);
  if (am_root(comm, root))
    check_written("MPI_Gather", received, (long)receive_count * ranks_of(comm), receive_type);
  return CALL(MPI_Gather, sent, send_count, send_type, received, receive_count, receive_type, root,
              comm);
}
BOTH_NAMES(MPI_Gather);

int MPI_Igather(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
                MPI_Request *handle)
{
  PASS_INSIDE(MPI_Igather, sent, send_count, send_type, received, receive_count, receive_type, root,
              comm, handle);
  agree_later(comm, "MPI_Igather", root, MPI_OP_NULL, GATHER_BYTES);
  Request *request = collective("MPI_Igather", comm);
  if (root >= 0) add(&request->out, sent, send_count, send_type);
  if (am_root(comm, root))
    add(&request->in, received, (long)receive_count * ranks_of(comm), receive_type);
  return POST(request, received, MPI_Igather, sent, send_count, send_type, shadow, receive_count,
              receive_type, root, comm, handle);
}
BOTH_NAMES(MPI_Igather);

int MPI_Gatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                const int receive_counts[], const int displacements[], MPI_Datatype receive_type,
                int root, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Gatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, root, comm);
  agree(comm, "MPI_Gatherv", root, MPI_OP_NULL, NO_BYTES);
  if (sent != MPI_IN_PLACE)
    check_read("MPI_Gatherv", comm, root, MPI_UNDEFINED, sent, send_count, send_type);
  if (am_root(comm, root))
    check_blocks_written("MPI_Gatherv", received, comm, receive_counts, displacements,
                         receive_type);
  return CALL(MPI_Gatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, root, comm);
}
BOTH_NAMES(MPI_Gatherv);

int MPI_Igatherv(const void *sent, int send_count, MPI_Datatype send_type, void *received,
                 const int receive_counts[], const int displacements[], MPI_Datatype receive_type,
                 int root, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Igatherv, sent, send_count, send_type, received, receive_counts, displacements,
              receive_type, root, comm, handle);
  agree_later(comm, "MPI_Igatherv", root, MPI_OP_NULL, NO_BYTES);
  Request *request = collective("MPI_Igatherv", comm);
  if (root >= 0) add(&request->out, sent, send_count, send_type);
  if (am_root(comm, root))
    add_blocks(&request->in, received, comm, receive_counts, displacements, receive_type);
  return POST(request, received, MPI_Igatherv, sent, send_count, send_type, shadow, receive_counts,
              displacements, receive_type, root, comm, handle);
}
BOTH_NAMES(MPI_Igatherv);

/* ---- reductions ---- */

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
  PASS_INSIDE(MPI_Reduce, sent, received, count, type, op, root, comm);
  agree(comm, "MPI_Reduce", root, op, bytes_of(count, type));
  if (sent != MPI_IN_PLACE)
    check_read("MPI_Reduce", comm, root, MPI_UNDEFINED, sent, count, type);
  if (am_root(comm, root)) check_written("MPI_Reduce", received, count, type);
  return CALL(MPI_Reduce, sent, received, count, type, op, root, comm);
}
BOTH_NAMES(MPI_Reduce);

int MPI_Ireduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ireduce, sent, received, count, type, op, root, comm, handle);
  agree_later(comm, "MPI_Ireduce", root, op, bytes_of(count, type));
  Request *request = collective("MPI_Ireduce", comm);
  if (root >= 0) add(&request->out, sent, count, type);
  if (am_root(comm, root)) add(&request->in, received, count, type);
  return POST(request, received, MPI_Ireduce, sent, shadow, count, type, op, root, comm, handle);
}
BOTH_NAMES(MPI_Ireduce);
