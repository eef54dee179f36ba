/* What the intercepted collective calls share: which memory they name, and where it lies. */
#ifndef ASPHALT_RACE_COLLECTIVE_H
#define ASPHALT_RACE_COLLECTIVE_H

#include "race.h"

/* Ranks that this one exchanges blocks with. */
int ranks_of(MPI_Comm);
/* Whether this rank is the one that gives to, or gets from, all others. */
bool am_root(MPI_Comm, int root);
/* Elements of all blocks. */
long sum_of(MPI_Comm, const int counts[]);
/* The length of a block that all ranks must agree on. */
long block_of(const void *sent, int send_count, MPI_Datatype send_type, int receive_count,
              MPI_Datatype receive_type);

/* A request that is no message between two ranks. */
Request *collective(const char *call, MPI_Comm);
/* Adds a buffer to a region, unless it is MPI_IN_PLACE. */
void add(Region *, const void *buffer, long count, MPI_Datatype);
/* Adds a block for each rank, `displacements` in elements. */
void add_blocks(Region *, const void *buffer, MPI_Comm, const int counts[],
                const int displacements[], MPI_Datatype);
/* The same with data types of their own, `displacements` in bytes. */
void add_typed_blocks(Region *, const void *buffer, MPI_Comm, const int counts[],
                      const int displacements[], const MPI_Datatype types[]);

/* What a blocking call reads and where it receives, with a block for each rank; nothing is gathered
 * where nothing is pending. */
void check_blocks_read(const char *call, const void *buffer, MPI_Comm, const int counts[],
                       const int displacements[], MPI_Datatype);
void check_blocks_written(const char *call, const void *buffer, MPI_Comm, const int counts[],
                          const int displacements[], MPI_Datatype);

/* The call as MPI gets it: what is received goes to the shadow. */
#define POST(request, received, f, ...)                                                            \
  ({                                                                                               \
    void *shadow = request_shadow(request, received);                                              \
    request_begin(request);                                                                        \
    request_posted(request, CALL(f, __VA_ARGS__), handle);                                         \
  })

#endif
