! One program, three bindings: -DMPI_F08 for `mpi_f08`, -DMPIF_H for `mpif.h`, else `mpi`.
#if defined(MPI_F08)
#define USE_MPI use mpi_f08
#define INCLUDE_MPI
#define REQUEST type(MPI_Request)
#define COMMUNICATOR type(MPI_Comm)
#define DATATYPE type(MPI_Datatype)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(name) name%MPI_SOURCE
#elif defined(MPIF_H)
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#define REQUEST integer
#define COMMUNICATOR integer
#define DATATYPE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(name) name(MPI_SOURCE)
#else
#define USE_MPI use mpi
#define INCLUDE_MPI
#define REQUEST integer
#define COMMUNICATOR integer
#define DATATYPE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(name) name(MPI_SOURCE)
#endif
