/* What the files of the race checker share.
 *
 * The library stands between a program and its MPI.  It defines MPI_X and PMPI_X of each call that
 * it watches and is loaded before the MPI library (LD_PRELOAD): calls from C arrive as MPI_X, calls
 * from Fortran as whatever the MPI's Fortran bindings call (MPI_X in MPICH, PMPI_X in Open MPI).
 */
#ifndef ASPHALT_RACE_H
#define ASPHALT_RACE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

/* ---- calls of the MPI library (report.c) ---- */

/* How deep this thread is in calls of MPI: what MPI calls by itself is not the program's. */
extern __thread int race_inside;

/* The next definition of `name` after this library's; ends the program if there is none. */
void *next_definition(const char *name);

/* The MPI library's own definition of an intercepted call. */
#define REAL(f)                                                                                    \
  ({                                                                                               \
    static __typeof__(&(f)) real_;                                                                 \
    if (!real_) real_ = (__typeof__(&(f)))next_definition("P" #f);                                 \
    real_;                                                                                         \
  })

/* Calls it; whatever MPI calls in turn passes through. */
#define CALL(f, ...)                                                                               \
  ({                                                                                               \
    race_inside++;                                                                                 \
    int outcome_ = REAL(f)(__VA_ARGS__);                                                           \
    race_inside--;                                                                                 \
    outcome_;                                                                                      \
  })

/* First line of an intercepted call: what is not the program's own call goes straight on. */
#define PASS_INSIDE(f, ...)                                                                        \
  do {                                                                                             \
    if (race_inside) return REAL(f)(__VA_ARGS__);                                                  \
    progress();                                                                                    \
  } while (0)

/* The same of calls that complete requests: in MPI_Finalize, callbacks of MPI_COMM_SELF are the
 * program's own (MPI-4.0 section 11.4.1). */
extern bool race_finalizing;
#define PASS_INSIDE_BUT_AT_THE_END(f, ...)                                                         \
  do {                                                                                             \
    if (race_inside > race_finalizing) return REAL(f)(__VA_ARGS__);                                \
    if (!race_finalizing) progress();                                                              \
  } while (0)

/* An intercepted call has two names. */
#define BOTH_NAMES(f) extern __typeof__(f) P##f __attribute__((alias(#f)))

/* ---- memory that messages cover (regions.c) ---- */

/* `count` elements of a data type at `address`. */
typedef struct Piece {
  char *address;
  long count;
  MPI_Datatype type;
  bool own_type; /* a duplicate, to be freed */
  bool dense;    /* one run of bytes without gaps */
  size_t bytes;
} Piece;

/* The memory of one side of a communication; `low` to `high` contains all of it. */
typedef struct Region {
  int pieces, room;
  Piece *piece;
  char *low, *high;
  size_t bytes;
} Region;

void region_add(Region *, const void *buffer, MPI_Aint offset, long count, MPI_Datatype);
void region_free(Region *);
/* The bytes that the region covers, `delta` bytes further on; one allocation, the caller's. */
unsigned char *region_pack(const Region *, ptrdiff_t delta);
void region_unpack(const Region *, ptrdiff_t delta, const unsigned char *packed);
/* Whether two regions have a byte in common; the gaps of data types count as no memory. */
bool regions_overlap(const Region *, const Region *);

/* What stands in the buffers of pending receives: a NaN in each kind of real, a large odd integer. */
unsigned char *poison_bytes(size_t bytes);
/* The position of poison, or of the NaN that arithmetic makes of it; -1: none. */
long find_poison(const unsigned char *packed, const Region *);
long first_difference(const unsigned char *, const unsigned char *, size_t bytes);

/* ---- findings (report.c) ---- */

#define FRAMES 32

/* Where in the program something happened: return addresses, innermost first. */
typedef struct Place {
  int depth;
  void *frame[FRAMES];
} Place;

Place here(void);
/* The innermost frame outside MPI and this library, as `object+0xoffset`. */
void describe_place(const Place *, char *text, size_t room);

/* The communication that a finding is about. */
typedef struct Subject {
  const char *call;
  const void *buffer;
  long bytes;
  int peer, tag; /* MPI_UNDEFINED: has none */
  MPI_Comm comm;
  const Place *place;
} Subject;

/* Writes a finding once for each kind and pair of places; its number, 0: it was written before.
 * `during`: the call that found it. */
long report(const char *kind, const Subject *, const char *during, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* It was none: what came later explains it. */
void withdraw(long number);
void report_start(int rank, int ranks);
/* Says why the program cannot be watched, and ends it. */
void refuse(const char *why) __attribute__((noreturn));
int my_rank(void);
const char *log_directory(void);
void communicator_name(MPI_Comm, char *text, size_t room);

/* ---- pending communication (requests.c) ---- */

typedef struct Overlap Overlap;

/* A request and the memory that the program must leave alone until it is complete. */
typedef struct Request {
  MPI_Request handle;
  struct Request *next;                        /* in its bucket */
  struct Request *later_receive, *earlier_receive; /* pending point-to-point receives, by posting */
  const char *call;
  MPI_Comm comm;
  int peer, tag;
  bool persistent; /* the program's; not one that stands for a call like MPI_Isend */
  bool frees;      /* the library frees the handle at completion */
  bool active, receives;
  Region out, in;
  unsigned char *sent; /* the bytes of `out` when it was started */
  char *shadow;        /* where MPI puts what is received */
  size_t shadow_bytes;
  ptrdiff_t delta; /* from the program's memory to the shadow */
  Place place;
  long order; /* of posting */
  long suspected; /* number of the finding that another receive got its message; 0: none */
  Overlap *overlaps;
} Request;

Request *request_new(const char *call, MPI_Comm, int peer, int tag);
/* The address that MPI gets for `buffer`, after all of `in` was added. */
void *request_shadow(Request *, void *buffer);
/* Before MPI starts: keeps what is sent, poisons what is received. */
void request_begin(Request *);
/* After MPI accepted it under `handle`, or did not. */
int request_posted(Request *, int outcome, MPI_Request *handle);
void request_register(Request *, MPI_Request handle);
/* The watched request behind a handle, or NULL. */
Request *request_find(MPI_Request);
/* It is complete, with this error code: checks, hands over what was received; frees `handle` where
 * MPI shall not. */
void request_complete(Request *, int outcome, MPI_Request *handle, MPI_Status *, bool ignored,
                      const char *during);
void request_forget(Request *);
void request_abandon(Request *, MPI_Request *handle);
void requests_left(void);
/* At each call: whatever the library itself has to move on. */
void progress(void);
/* Receives, also of collectives, whose memory is poisoned. */
int pending_receives(void);
/* All that is started and not complete. */
int pending_requests(void);
/* The next one; the first after NULL; NULL after the last. */
Request *next_pending(const Request *after);
Subject subject_of(const Request *);

/* ---- what a call does to pending buffers (checks.c) ---- */

/* The pending receive that has memory of a region, or NULL. */
const Request *receive_at(const Region *);
/* Reports poison at byte `at` of what is sent. */
void report_poison(const Subject *, const Region *, long at);
/* Reports what a blocking call reads from the buffer of a pending receive; frees the region. */
void check_region(const char *call, MPI_Comm, int peer, int tag, Region *);
/* The same for one buffer. */
void check_read(const char *call, MPI_Comm, int peer, int tag, const void *buffer, long count,
                MPI_Datatype);
/* Reports that a blocking call receives into the buffers of pending communication; frees the
 * region. */
void check_landing(const char *call, Region *);
/* The same for one buffer. */
void check_written(const char *call, const void *buffer, long count, MPI_Datatype);

/* ---- which message went where (matching.c) ---- */

void matching_posted(Request *);
void matching_complete(Request *, int outcome, const MPI_Status *, bool ignored,
                       const char *during);
void matching_forget(Request *);
/* A blocking receive beside pending ones. */
void matching_blocking(const char *call, MPI_Comm, int peer, int tag, const void *buffer,
                       const MPI_Status *, bool ignored);
extern __thread bool statuses_ignored;

/* ---- the order of collective calls (agreement.c, board.c) ---- */

enum { NO_ROOT = -1, NO_BYTES = -1 };

/* Waits until the neighbour has entered the same call; reports and ends the program if not. */
void agree(MPI_Comm, const char *call, int root, MPI_Op, long bytes);
/* The same for a call that does not block: what the neighbour did is looked at later. */
void agree_later(MPI_Comm, const char *call, int root, MPI_Op, long bytes);
void agreement_made(MPI_Comm made);
/* `together`: by a collective call that all ranks have entered. */
void agreement_freed(MPI_Comm, bool together);
void agreement_progress(void);
void agreement_end(void);
long bytes_of(long count, MPI_Datatype);

void board_open(int rank, int ranks);
/* This rank is in `text` and needs world rank `peer` to go on; -1: it goes on. */
void board_waits(int peer, const char *text);
/* Whether this rank waits in a circle that cannot end; `text`: who is where. */
bool board_circle(char *text, size_t room);

#endif
