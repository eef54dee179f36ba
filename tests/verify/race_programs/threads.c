/* Asks for threads that call MPI at once. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
  int provided;
  MPI_Init_thread(&argc, &argv, LEVEL, &provided);
  puts("runs");
  MPI_Finalize();
  return 0;
}
