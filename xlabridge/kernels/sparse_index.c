#include "sparse.h"

#define PIECE 256  // inputs of a piece at most: 32 KiB of a block; topology.go has the same
#define MAGIC 0x78735f69
#define HEAD 16  // numbers, so that what follows begins on a line of cache as the index does

int xs_pieces(int inputs) {
  int pieces = (inputs + PIECE - 1) / PIECE;
  while (inputs % pieces != 0) pieces++;
  return pieces;
}

int64_t xs_index_size(int inputs, int outputs, int64_t n, int first) {
  int64_t size = HEAD + 2 * n + (int64_t)xs_pieces(inputs) * outputs + 1;
  return first ? size : size + inputs + 1 + 2 * n;
}

int xs_open(xs_layer *l, int inputs, int outputs, int n, int first, const int32_t *index) {
  if (index[0] != MAGIC || index[1] != inputs || index[2] != outputs || index[3] != n || index[4] != first) return 0;
  l->inputs = inputs, l->outputs = outputs, l->n = n, l->pieces = xs_pieces(inputs);
  l->col = (const uint32_t *)index + HEAD;
  l->row = l->col + n;
  l->off = (const int32_t *)(l->row + n);
  l->from = l->by = NULL;
  l->out = NULL;
  if (first) return 1;
  l->from = l->off + l->pieces * outputs + 1;
  l->by = l->from + inputs + 1;
  l->out = (const uint32_t *)(l->by + n);
  return 1;
}

const char *xs_index(int inputs, int outputs, int n, int first, const int32_t *places, int32_t *index) {
  xs_layer l;
  index[0] = MAGIC, index[1] = inputs, index[2] = outputs, index[3] = n, index[4] = first;
  for (int i = 5; i < HEAD; i++) index[i] = 0;
  xs_open(&l, inputs, outputs, n, first, index);
  uint32_t *col = (uint32_t *)l.col, *row = (uint32_t *)l.row;
  int32_t *off = (int32_t *)l.off;
  int width = inputs / l.pieces, rows = l.pieces * outputs, next = 0;
  index[0] = 0;  // until it is whole
  for (int k = 0; k < n; k++) {
    int at = places[k];
    if (at < 0 || at / width >= rows) return "xlarun_sparse got a connection outside of its layer";
    if (k > 0 && at <= places[k - 1]) return "xlarun_sparse got connections out of order";
    int line = at / width, piece = line / outputs;
    col[k] = (uint32_t)(piece * width + at % width) * UNIT;
    row[k] = (uint32_t)(line % outputs) * UNIT;
    while (next <= line) off[next++] = k;
  }
  while (next <= rows) off[next++] = n;
  if (!first) {
    // Sorted by input: counting sort, which keeps the order of equal ones.
    int32_t *from = (int32_t *)l.from, *by = (int32_t *)l.by;
    uint32_t *out = (uint32_t *)l.out;
    for (int i = 0; i <= inputs; i++) from[i] = 0;
    for (int k = 0; k < n; k++) from[col[k] / UNIT]++;
    int sum = 0;
    for (int i = 0; i <= inputs; i++) {
      int here = from[i];
      from[i] = sum;
      sum += here;
    }
    for (int k = 0; k < n; k++) {
      int32_t *to = &from[col[k] / UNIT];
      by[*to] = k, out[*to] = row[k];
      ++*to;
    }
    for (int i = inputs; i > 0; i--) from[i] = from[i - 1];  // each has moved on to where the next one begins
    from[0] = 0;
  }
  index[0] = MAGIC;
  return NULL;
}
