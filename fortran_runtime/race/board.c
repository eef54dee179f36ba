/* Who waits for whom: a file in the log's directory that the ranks of this machine map.
 *
 * A circle of waiting ranks may be about to end, when a message is under way.  It is one that
 * cannot end if nobody in it has moved while each of them has looked for its message often.
 */
#define _GNU_SOURCE
#include "race.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TEXT = 600, LOOKS = 2000 };

typedef struct Cell {
  volatile long moves, looks, waits_for;
  char text[TEXT];
} Cell;

static Cell *board;
static int mine, cells;
static long *seen_moves, *seen_looks;
static bool in_circle = false;

void board_open(int rank, int ranks)
{
  char path[4096];
  if (!log_directory()) return;
  snprintf(path, sizeof path, "%s/board", log_directory());
  int file = open(path, O_RDWR | O_CREAT, 0666);
  size_t bytes = (size_t)ranks * sizeof(Cell);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0) return;
  void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (map == MAP_FAILED) return;
  board = map;
  mine = rank;
  cells = ranks;
  seen_moves = calloc(ranks, sizeof *seen_moves);
  seen_looks = calloc(ranks, sizeof *seen_looks);
  memset(&board[mine], 0, sizeof board[mine]);
  board[mine].waits_for = -1;
}

void board_waits(int peer, const char *text)
{
  if (!board) return;
  Cell *cell = &board[mine];
  if (cell->waits_for != peer || strncmp(cell->text, text, TEXT - 1) != 0) {
    snprintf(cell->text, TEXT, "%s", text);
    cell->waits_for = peer;
    cell->moves++;
    in_circle = false;
  }
  cell->looks++;
}

bool board_circle(char *text, size_t room)
{
  if (!board) return false;
  int rank = mine, length = 0;
  do {
    rank = (int)board[rank].waits_for;
    if (rank < 0 || rank >= cells || ++length > cells) return in_circle = false;
  } while (rank != mine);

  bool same = in_circle, patient = true;
  for (int i = 0; i < length; i++, rank = (int)board[rank].waits_for) {
    if (rank < 0 || rank >= cells) return in_circle = false;
    if (seen_moves[rank] != board[rank].moves) same = false;
    if (board[rank].looks < seen_looks[rank] + LOOKS) patient = false;
  }
  if (!same) {
    for (int i = 0; i < cells; i++) {
      seen_moves[i] = board[i].moves;
      seen_looks[i] = board[i].looks;
    }
    in_circle = true;
    return false;
  }
  if (!patient) return false;
  int used = 0;
  for (int i = 0; i < length && (size_t)used < room; i++) {
    int peer = (int)board[rank].waits_for;
    if (peer < 0 || peer >= cells) return in_circle = false;
    used += snprintf(text + used, room - used, "%srank %d is in %s and needs rank %d",
                     i ? "; " : "", rank, board[rank].text, peer);
    rank = peer;
  }
  return true;
}
