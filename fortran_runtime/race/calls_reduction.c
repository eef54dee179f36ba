/* The intercepted reductions whose result is on all ranks. */
#include "collective.h"

/* MPI_Allreduce and the prefix reductions, which have its arguments. */
#define REDUCES_TO_ALL(f, g)                                                                       \
  int f(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)  \
  {                                                                                                \
    PASS_INSIDE(f, sent, received, count, type, op, comm);                                         \
    agree(comm, #f, NO_ROOT, op, bytes_of(count, type));                                           \
    check_read(#f, comm, MPI_UNDEFINED, MPI_UNDEFINED, sent == MPI_IN_PLACE ? received : sent,     \
               count, type);                                                                       \
    check_written(#f, received, count, type);                                                      \
    return CALL(f, sent, received, count, type, op, comm);                                         \
  }                                                                                                \
  BOTH_NAMES(f);                                                                                   \
  int g(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,  \
        MPI_Request *handle)                                                                       \
  {                                                                                                \
    PASS_INSIDE(g, sent, received, count, type, op, comm, handle);                                 \
    agree_later(comm, #g, NO_ROOT, op, bytes_of(count, type));                                     \
    Request *request = collective(#g, comm);                                                       \
    add(&request->out, sent, count, type);                                                         \
    add(&request->in, received, count, type);                                                      \
    return POST(request, received, g, sent, shadow, count, type, op, comm, handle);                \
  }                                                                                                \
  BOTH_NAMES(g)

REDUCES_TO_ALL(MPI_Allreduce, MPI_Iallreduce);
REDUCES_TO_ALL(MPI_Scan, MPI_Iscan);
REDUCES_TO_ALL(MPI_Exscan, MPI_Iexscan);

int MPI_Reduce_scatter(const void *sent, void *received, const int counts[], MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Reduce_scatter, sent, received, counts, type, op, comm);
  agree(comm, "MPI_Reduce_scatter", NO_ROOT, op, bytes_of(sum_of(comm, counts), type));
  check_read("MPI_Reduce_scatter", comm, MPI_UNDEFINED, MPI_UNDEFINED,
             sent == MPI_IN_PLACE ? received : sent, sum_of(comm, counts), type);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  check_written("MPI_Reduce_scatter", received,
                sent == MPI_IN_PLACE ? sum_of(comm, counts) : counts[rank], type);
  return CALL(MPI_Reduce_scatter, sent, received, counts, type, op, comm);
}
BOTH_NAMES(MPI_Reduce_scatter);

int MPI_Ireduce_scatter(const void *sent, void *received, const int counts[], MPI_Datatype type,
                        MPI_Op op, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ireduce_scatter, sent, received, counts, type, op, comm, handle);
  agree_later(comm, "MPI_Ireduce_scatter", NO_ROOT, op, bytes_of(sum_of(comm, counts), type));
  Request *request = collective("MPI_Ireduce_scatter", comm);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  long all = sum_of(comm, counts);
  add(&request->out, sent, all, type);
  add(&request->in, received, sent == MPI_IN_PLACE ? all : counts[rank], type);
  return POST(request, received, MPI_Ireduce_scatter, sent, shadow, counts, type, op, comm, handle);
}
BOTH_NAMES(MPI_Ireduce_scatter);

int MPI_Reduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm)
{
  PASS_INSIDE(MPI_Reduce_scatter_block, sent, received, count, type, op, comm);
  agree(comm, "MPI_Reduce_scatter_block", NO_ROOT, op, bytes_of(count, type));
  check_read("MPI_Reduce_scatter_block", comm, MPI_UNDEFINED, MPI_UNDEFINED,
             sent == MPI_IN_PLACE ? received : sent, (long)count * ranks_of(comm), type);
  check_written("MPI_Reduce_scatter_block", received,
                sent == MPI_IN_PLACE ? (long)count * ranks_of(comm) : count, type);
  return CALL(MPI_Reduce_scatter_block, sent, received, count, type, op, comm);
}
BOTH_NAMES(MPI_Reduce_scatter_block);

int MPI_Ireduce_scatter_block(const void *sent, void *received, int count, MPI_Datatype type,
                              MPI_Op op, MPI_Comm comm, MPI_Request *handle)
{
  PASS_INSIDE(MPI_Ireduce_scatter_block, sent, received, count, type, op, comm, handle);
  agree_later(comm, "MPI_Ireduce_scatter_block", NO_ROOT, op, bytes_of(count, type));
  Request *request = collective("MPI_Ireduce_scatter_block", comm);
  long all = (long)count * ranks_of(comm);
  add(&request->out, sent, all, type);
  add(&request->in, received, sent == MPI_IN_PLACE ? all : count, type);
  return POST(request, received, MPI_Ireduce_scatter_block, sent, shadow, count, type, op, comm,
              handle);
}
BOTH_NAMES(MPI_Ireduce_scatter_block);
