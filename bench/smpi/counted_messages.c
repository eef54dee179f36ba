/* Counts the messages that a rank sends to others, and the collective operations: linked with a
   program, it stands between its calls and MPI (MPI-4.0 section 15.2).  MPI_Finalize prints them to
   standard error. */
#include <mpi.h>
#include <stdio.h>

static long messages, reductions;

static void count(const int *dest) {
  if (*dest != MPI_PROC_NULL) messages++;
}

void pmpi_send_(void *, int *, int *, int *, int *, int *, int *);
void mpi_send_(void *buf, int *count_, int *type, int *dest, int *tag, int *comm, int *ierr) {
  count(dest);
  pmpi_send_(buf, count_, type, dest, tag, comm, ierr);
}

void pmpi_isend_(void *, int *, int *, int *, int *, int *, int *, int *);
void mpi_isend_(void *buf, int *count_, int *type, int *dest, int *tag, int *comm, int *request,
                int *ierr) {
  count(dest);
  pmpi_isend_(buf, count_, type, dest, tag, comm, request, ierr);
}

void pmpi_sendrecv_(void *, int *, int *, int *, int *, void *, int *, int *, int *, int *, int *,
                    int *, int *);
void mpi_sendrecv_(void *out, int *outs, int *out_type, int *dest, int *out_tag, void *in, int *ins,
                   int *in_type, int *source, int *in_tag, int *comm, int *status, int *ierr) {
  count(dest);
  pmpi_sendrecv_(out, outs, out_type, dest, out_tag, in, ins, in_type, source, in_tag, comm, status,
                 ierr);
}

void pmpi_allreduce_(void *, void *, int *, int *, int *, int *, int *);
void mpi_allreduce_(void *out, void *in, int *number, int *type, int *op, int *comm, int *ierr) {
  reductions++;
  pmpi_allreduce_(out, in, number, type, op, comm, ierr);
}

void pmpi_finalize_(int *);
void mpi_finalize_(int *ierr) {
  fprintf(stderr, "messages %ld reductions %ld\n", messages, reductions);
  pmpi_finalize_(ierr);
}
