/* The intercepted calls that begin and end MPI, and that make and free communicators. */
#include "race.h"

static int end_key = MPI_KEYVAL_INVALID;

/* Attributes of MPI_COMM_SELF are deleted first of all in MPI_Finalize, the one that was set first
 * as the last (MPI-4.0 section 11.4.1): what callbacks of the program complete is complete. */
static int at_the_end(MPI_Comm comm, int key, void *value, void *state)
{
  (void)comm, (void)key, (void)value, (void)state;
  requests_left();
  return MPI_SUCCESS;
}

static void start(void)
{
  int key;
  int rank, ranks;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  report_start(rank, ranks);
  board_open(rank, ranks);
  agreement_made(MPI_COMM_WORLD);
  if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_the_end, &key, NULL) == MPI_SUCCESS &&
      PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS)
    end_key = key;
}

int MPI_Init(int *argc, char ***argv)
{
  if (race_inside) return REAL(MPI_Init)(argc, argv);
  int outcome = CALL(MPI_Init, argc, argv);
  if (outcome == MPI_SUCCESS) start();
  return outcome;
}
BOTH_NAMES(MPI_Init);

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
  if (race_inside) return REAL(MPI_Init_thread)(argc, argv, required, provided);
  int outcome = CALL(MPI_Init_thread, argc, argv, required, provided);
  if (outcome != MPI_SUCCESS) return outcome;
  start();
  if (required == MPI_THREAD_MULTIPLE && *provided == MPI_THREAD_MULTIPLE)
    refuse("it asks for MPI_THREAD_MULTIPLE and gets it; what several threads do in MPI at once is "
           "not watched (MPI_THREAD_SERIALIZED and less are)");
  return outcome;
}
BOTH_NAMES(MPI_Init_thread);

int MPI_Finalize(void)
{
  PASS_INSIDE(MPI_Finalize);
  if (end_key == MPI_KEYVAL_INVALID) requests_left();
  agree(MPI_COMM_WORLD, "MPI_Finalize", NO_ROOT, MPI_OP_NULL, NO_BYTES);
  agreement_end();
  race_finalizing = true;
  return CALL(MPI_Finalize);
}
BOTH_NAMES(MPI_Finalize);

/* Calls that make a communicator: collective over the old one. */
#define MAKES_COMMUNICATOR(f, parameters, ...)                                                     \
  int f parameters                                                                                 \
  {                                                                                                \
    PASS_INSIDE(f, __VA_ARGS__);                                                                   \
    agree(comm, #f, NO_ROOT, MPI_OP_NULL, NO_BYTES);                                               \
    int outcome = CALL(f, __VA_ARGS__);                                                            \
    if (outcome == MPI_SUCCESS) agreement_made(*made);                                             \
    return outcome;                                                                                \
  }                                                                                                \
  BOTH_NAMES(f)

MAKES_COMMUNICATOR(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), comm, made);
MAKES_COMMUNICATOR(MPI_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm *made), comm,
                   info, made);
MAKES_COMMUNICATOR(MPI_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm *made), comm, group,
                   made);
MAKES_COMMUNICATOR(MPI_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm *made), comm, color,
                   key, made);
MAKES_COMMUNICATOR(MPI_Comm_split_type,
                   (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *made), comm, type,
                   key, info, made);
MAKES_COMMUNICATOR(MPI_Cart_create,
                   (MPI_Comm comm, int dimensions, const int sizes[], const int periodic[],
                    int reorder, MPI_Comm *made),
                   comm, dimensions, sizes, periodic, reorder, made);
MAKES_COMMUNICATOR(MPI_Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm *made), comm, remain,
                   made);
MAKES_COMMUNICATOR(MPI_Graph_create,
                   (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder,
                    MPI_Comm *made),
                   comm, nodes, index, edges, reorder, made);
MAKES_COMMUNICATOR(MPI_Dist_graph_create,
                   (MPI_Comm comm, int count, const int sources[], const int degrees[],
                    const int destinations[], const int weights[], MPI_Info info, int reorder,
                    MPI_Comm *made),
                   comm, count, sources, degrees, destinations, weights, info, reorder, made);
MAKES_COMMUNICATOR(MPI_Dist_graph_create_adjacent,
                   (MPI_Comm comm, int indegree, const int sources[], const int source_weights[],
                    int outdegree, const int destinations[], const int destination_weights[],
                    MPI_Info info, int reorder, MPI_Comm *made),
                   comm, indegree, sources, source_weights, outdegree, destinations,
                   destination_weights, info, reorder, made);

/* Collective over the group alone. */
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *made)
{
  PASS_INSIDE(MPI_Comm_create_group, comm, group, tag, made);
  int outcome = CALL(MPI_Comm_create_group, comm, group, tag, made);
  if (outcome == MPI_SUCCESS) agreement_made(*made);
  return outcome;
}
BOTH_NAMES(MPI_Comm_create_group);

/* Also the calls that MPI's callbacks make are looked at: the handle may be used again. */
#define FREES_COMMUNICATOR(f)                                                                      \
  int f(MPI_Comm *comm)                                                                            \
  {                                                                                                \
    if (race_inside) {                                                                             \
      agreement_freed(*comm, false);                                                               \
      return REAL(f)(comm);                                                                        \
    }                                                                                              \
    progress();                                                                                    \
    agree(*comm, #f, NO_ROOT, MPI_OP_NULL, NO_BYTES);                                              \
    agreement_freed(*comm, true);                                                                  \
    return CALL(f, comm);                                                                          \
  }                                                                                                \
  BOTH_NAMES(f)

FREES_COMMUNICATOR(MPI_Comm_free);
FREES_COMMUNICATOR(MPI_Comm_disconnect);
