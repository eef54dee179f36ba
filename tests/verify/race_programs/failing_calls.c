/* Calls that fail leave requests pending, and say nothing in flag, index and count. */
#include <mpi.h>
#include <stdio.h>

static int fails = 0;

static void expect_failure(int outcome) { fails += outcome != MPI_SUCCESS; }

int main(int argc, char **argv)
{
  int rank, ranks, number = 1, flag = 1, index = 0, indices[2] = {0, 0};
  int mine[2], received[2] = {-1, -1}, long_message[2] = {5, 6};
  MPI_Request pending[2];
  MPI_Status statuses[2];

  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 2; i++)
    MPI_Irecv(&received[i], 1, MPI_INT, (rank + ranks - 1) % ranks, i, MPI_COMM_WORLD, &pending[i]);

  /* nothing was sent yet */
  expect_failure(MPI_Waitany(-1, pending, &index, statuses));
  expect_failure(MPI_Testany(-1, pending, &index, &flag, statuses));
  expect_failure(MPI_Testall(-1, pending, &flag, statuses));
  expect_failure(MPI_Testsome(-1, pending, &number, indices, statuses));
  expect_failure(MPI_Waitsome(-1, pending, &number, indices, statuses));
  expect_failure(MPI_Test(&pending[0], NULL, statuses));
  MPI_Barrier(MPI_COMM_WORLD);

  for (int i = 0; i < 2; i++) {
    mine[i] = 10 * i + rank;
    MPI_Send(&mine[i], 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD);
  }
  MPI_Waitall(2, pending, statuses);
  int sum = received[0] + received[1], whole = 0;
  MPI_Allreduce(&sum, &whole, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  /* complete, and wrong: the message is longer than the receive */
  MPI_Irecv(&received[0], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &pending[0]);
  MPI_Send(long_message, 2, MPI_INT, 0, 7, MPI_COMM_SELF);
  expect_failure(MPI_Wait(&pending[0], statuses));
  if (rank == 0) printf("sum %d, %d calls failed\n", whole, fails);
  MPI_Finalize();
  return 0;
}
