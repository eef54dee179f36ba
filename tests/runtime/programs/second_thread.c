/* Makes keys for attributes, and lets a second thread catch up with the first one that does. */
#include <sched.h>

void pmpi_comm_create_keyval_(void *copy, void *delete, int *key, void *state, int *error);

static int calls = 0;

int keys_made(void) { return calls; }

void mpi_comm_create_keyval_(void *copy, void *delete, int *key, void *state, int *error)
{
  int turns;

  __atomic_add_fetch(&calls, 1, __ATOMIC_SEQ_CST);
  for (turns = 0; turns < 200000 && __atomic_load_n(&calls, __ATOMIC_SEQ_CST) < 2; turns++)
    sched_yield();
  pmpi_comm_create_keyval_(copy, delete, key, state, error);
}
