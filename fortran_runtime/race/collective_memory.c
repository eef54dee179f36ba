/* The memory that collective calls name. */
#include "collective.h"

int ranks_of(MPI_Comm comm)
{
  int between_groups = 0, ranks = 0;
  PMPI_Comm_test_inter(comm, &between_groups);
  if (between_groups)
    PMPI_Comm_remote_size(comm, &ranks);
  else
    PMPI_Comm_size(comm, &ranks);
  return ranks;
}

bool am_root(MPI_Comm comm, int root)
{
  int between_groups = 0, rank = MPI_PROC_NULL;
  PMPI_Comm_test_inter(comm, &between_groups);
  if (between_groups) return root == MPI_ROOT;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

long sum_of(MPI_Comm comm, const int counts[])
{
  long sum = 0;
  for (int i = 0; i < ranks_of(comm); i++) sum += counts[i];
  return sum;
}

long block_of(const void *sent, int send_count, MPI_Datatype send_type, int receive_count,
              MPI_Datatype receive_type)
{
  return sent == MPI_IN_PLACE ? bytes_of(receive_count, receive_type)
                              : bytes_of(send_count, send_type);
}

Request *collective(const char *call, MPI_Comm comm)
{
  return request_new(call, comm, MPI_UNDEFINED, MPI_UNDEFINED);
}

void add(Region *region, const void *buffer, long count, MPI_Datatype type)
{
  if (buffer != MPI_IN_PLACE) region_add(region, buffer, 0, count, type);
}

void add_blocks(Region *region, const void *buffer, MPI_Comm comm, const int counts[],
                const int displacements[], MPI_Datatype type)
{
  MPI_Aint lower, extent;
  if (buffer == MPI_IN_PLACE) return;
  PMPI_Type_get_extent(type, &lower, &extent);
  for (int i = 0; i < ranks_of(comm); i++)
    region_add(region, buffer, displacements[i] * extent, counts[i], type);
}

void add_typed_blocks(Region *region, const void *buffer, MPI_Comm comm, const int counts[],
                      const int displacements[], const MPI_Datatype types[])
{
  if (buffer == MPI_IN_PLACE) return;
  for (int i = 0; i < ranks_of(comm); i++)
    region_add(region, buffer, displacements[i], counts[i], types[i]);
}

void check_blocks_read(const char *call, const void *buffer, MPI_Comm comm, const int counts[],
                       const int displacements[], MPI_Datatype type)
{
  Region region = {0};
  if (!pending_receives()) return;
  add_blocks(&region, buffer, comm, counts, displacements, type);
  check_region(call, comm, MPI_UNDEFINED, MPI_UNDEFINED, &region);
}

void check_blocks_written(const char *call, const void *buffer, MPI_Comm comm, const int counts[],
                          const int displacements[], MPI_Datatype type)
{
  Region region = {0};
  if (!pending_requests()) return;
  add_blocks(&region, buffer, comm, counts, displacements, type);
  check_landing(call, &region);
}
