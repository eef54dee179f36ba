/* Findings: where in the program they happened, written one a line. */
#define _GNU_SOURCE
#include "race.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FINDINGS = 200, LINE = 8192, REFUSED = 87, GRACE = 400000 /* microseconds */ };

__thread int race_inside = 0;
bool race_finalizing = false;

static int rank_of_world = -1;
static int log_file = -1;
static bool log_is_a_file = false;

void *next_definition(const char *name)
{
  void *found = dlsym(RTLD_NEXT, name);
  if (!found) {
    fprintf(stderr, "asphalt race: this MPI has no %s\n", name);
    abort();
  }
  return found;
}

int my_rank(void) { return rank_of_world; }

const char *log_directory(void)
{
  const char *directory = getenv("ASPHALT_RACE_LOG");
  return directory && *directory ? directory : NULL;
}

Place here(void)
{
  Place place;
  place.depth = backtrace(place.frame, FRAMES);
  return place;
}

/* Whether an object of the process is the program's: neither an MPI library nor this one. */
static bool is_program(const char *path)
{
  const char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  static const char *const outside[] = {"libmpi", "libasphalt_race", "libsimgrid", "libopen-",
                                        "libucp", "libfabric", "libpmix", "libc.so", "ld-linux"};
  for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    if (strncmp(name, outside[i], strlen(outside[i])) == 0) return false;
  return true;
}

static const char *program_file(void)
{
  static char path[2048];
  if (path[0]) return path;
  ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = '\0';
  return path;
}

/* `object+0xoffset` of a return address, the offset as in the object's file; false: not program. */
static bool describe_frame(void *frame, char *text, size_t room)
{
  Dl_info info;
  struct link_map *map = NULL;
  if (!dladdr1(frame, &info, (void **)&map, RTLD_DL_LINKMAP) || !info.dli_fname) return false;
  if (!is_program(info.dli_fname)) return false;
  const char *object = info.dli_fname;
  if (map && !map->l_name[0]) object = program_file(); /* the other name may be relative */
  snprintf(text, room, "%s+%#lx", object,
           (unsigned long)((char *)frame - (char *)(map ? map->l_addr : 0)));
  return true;
}

void describe_place(const Place *place, char *text, size_t room)
{
  text[0] = '\0';
  for (int i = 0; i < place->depth; i++)
    if (describe_frame(place->frame[i], text, room)) return;
}

/* All frames of the program, for the innermost of them may be a thin wrapper. */
static int write_place(char *text, size_t room, const char *separator, const Place *place)
{
  char frame[1024];
  int used = 0;
  const char *between = "";
  for (int i = 0; i < place->depth && (size_t)used + sizeof frame < room; i++) {
    if (!describe_frame(place->frame[i], frame, sizeof frame)) continue;
    used += snprintf(text + used, room - used, "%s%s", between, frame);
    between = separator;
  }
  text[used] = '\0';
  return used;
}

void communicator_name(MPI_Comm comm, char *text, size_t room)
{
  char name[MPI_MAX_OBJECT_NAME + 1] = "";
  int length = 0, size = 0;
  text[0] = '\0';
  if (comm == MPI_COMM_NULL) return;
  PMPI_Comm_get_name(comm, name, &length);
  PMPI_Comm_size(comm, &size);
  for (char *at = name; *at; at++)
    if (*at < ' ' || *at == '"' || *at == '\\') *at = '\'';
  if (name[0])
    snprintf(text, room, "%s", name);
  else
    snprintf(text, room, "a communicator of %d ranks", size);
}

void report_start(int rank, int ranks)
{
  rank_of_world = rank;
  log_file = STDERR_FILENO;
  if (!log_directory()) return;
  char path[4096];
  mkdir(log_directory(), 0777); /* by whoever is first */
  snprintf(path, sizeof path, "%s/rank.%d", log_directory(), rank);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0) {
    fprintf(stderr, "asphalt race: %s cannot be written\n", path);
    return;
  }
  log_file = file;
  log_is_a_file = true;
  dprintf(log_file, "{\"kind\":\"start\",\"rank\":%d,\"ranks\":%d}\n", rank, ranks);
}

/* The findings that are written, each by its kind and places. */
static struct Known {
  uint64_t hash;
  long number;
} known[MOST_FINDINGS];
static int count = 0;
static long numbers = 0;

/* A loop makes the same mistake in each of its steps: it is written once; 0: not again. */
static long new_number(const char *kind, const Place *one, const Place *other)
{
  uint64_t hash = 1469598103934665603u;
  for (const char *at = kind; *at; at++) hash = (hash ^ (unsigned char)*at) * 1099511628211u;
  for (int i = 0; one && i < one->depth; i++)
    hash = (hash ^ (uintptr_t)one->frame[i]) * 1099511628211u;
  for (int i = 0; i < other->depth; i++)
    hash = (hash ^ (uintptr_t)other->frame[i]) * 1099511628211u;
  for (int i = 0; i < count; i++)
    if (known[i].hash == hash) return 0;
  if (count == MOST_FINDINGS) return 0;
  known[count++] = (struct Known){hash, ++numbers};
  return numbers;
}

void withdraw(long number)
{
  if (log_is_a_file)
    dprintf(log_file, "{\"kind\":\"withdrawn\",\"rank\":%d,\"number\":%ld}\n", rank_of_world, number);
  else
    dprintf(STDERR_FILENO, "asphalt race: rank %d: finding %ld was none\n", rank_of_world, number);
  /* the same places may fail in a later step; a loop does not fill the log */
  for (int i = 0; i < count && numbers < MOST_FINDINGS; i++)
    if (known[i].number == number) known[i] = known[--count];
}

static void name_peer(int peer, char *text, size_t room)
{
  if (peer == MPI_ANY_SOURCE)
    snprintf(text, room, "MPI_ANY_SOURCE");
  else if (peer == MPI_UNDEFINED)
    text[0] = '\0';
  else
    snprintf(text, room, "%d", peer);
}

static void name_tag(int tag, char *text, size_t room)
{
  if (tag == MPI_ANY_TAG)
    snprintf(text, room, "MPI_ANY_TAG");
  else if (tag == MPI_UNDEFINED)
    text[0] = '\0';
  else
    snprintf(text, room, "%d", tag);
}

long report(const char *kind, const Subject *subject, const char *during, const char *format, ...)
{
  Place now = here();
  char detail[2048], comm[512], peer[32], tag[32], at[LINE], seen[LINE];
  long number = new_number(kind, subject->place, &now);
  if (!number) return 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(detail, sizeof detail, format, arguments);
  va_end(arguments);
  communicator_name(subject->comm, comm, sizeof comm);
  name_peer(subject->peer, peer, sizeof peer);
  name_tag(subject->tag, tag, sizeof tag);
  const char *separator = log_is_a_file ? "\",\"" : " ";
  write_place(at, sizeof at, separator, subject->place ? subject->place : &now);
  write_place(seen, sizeof seen, separator, &now);
  if (log_is_a_file)
    dprintf(log_file,
            "{\"kind\":\"%s\",\"rank\":%d,\"number\":%ld,\"call\":\"%s\",\"buffer\":\"%p\",\"bytes\":%ld,"
            "\"peer\":\"%s\",\"tag\":\"%s\",\"communicator\":\"%s\",\"detail\":\"%s\","
            "\"at\":[\"%s\"],\"during\":\"%s\",\"seen\":[\"%s\"]}\n",
            kind, rank_of_world, number, subject->call, subject->buffer, subject->bytes, peer, tag, comm,
            detail, at, during, seen);
  else
    dprintf(STDERR_FILENO,
            "asphalt race: rank %d: finding %ld, %s: %s of %ld bytes at %p, peer %s, tag %s, %s: %s; called at "
            "%s; found in %s at %s\n",
            rank_of_world, number, kind, subject->call, subject->bytes, subject->buffer,
            peer[0] ? peer : "none", tag[0] ? tag : "none", comm, detail, at, during, seen);
  return number;
}

void refuse(const char *why)
{
  if (log_is_a_file)
    dprintf(log_file, "{\"kind\":\"refused\",\"rank\":%d,\"detail\":\"%s\"}\n", rank_of_world, why);
  else
    fprintf(stderr, "asphalt race: the program is not watched: %s\n", why);
  usleep(GRACE); /* what is written may be lost with the process */
  PMPI_Abort(MPI_COMM_WORLD, REFUSED);
  abort();
}
