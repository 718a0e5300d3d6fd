// Products of arrays of narrow numbers, as StableHLO's dot_general. xlarun_bf16_dot multiplies bfloat16 and sums in
// float32. xlarun_int8_dot multiplies bytes and sums in int32.
//
// A result is cut into blocks, which threads of XLA's pool compute. For each block a thread copies parts of both
// operands into the order that the processor's instructions take, in pieces of INNER elements of the contracted axis.
// The sums of a result depend on its operands alone, and not on blocks or threads.
#include "narrowdot.h"

#include <float.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ffi.h"
#include "narrowdot_job.h"

enum { MOST_BYTES = 2, BLOCK_BYTES = LINES * LINES * XB_WORD };

// Work memory of a thread, kept from call to call.
typedef struct {
  char left[(LINES + PANEL) * INNER * MOST_BYTES];
  char right[(LINES + PANEL) * INNER * MOST_BYTES];
  char turned[PANEL * INNER * MOST_BYTES];
  char sums[BLOCK_BYTES], part[BLOCK_BYTES], total[BLOCK_BYTES];  // float32 or int32
  int64_t rows[LINES], columns[LINES], results[LINES], own[LINES], piece_at[INNER], piece_size[INNER];
  xb_places left_inner, right_inner;
} work;

static __thread work *memory;

// run_of is how many of n places lie side by side.
static int64_t run_of(const int64_t *at, int64_t n) {
  int64_t i = 1;
  while (i < n && at[i] == at[0] + i) i++;
  return i;
}

// pack_lines copies n lines of an operand, each along the contracted axis, and fills them up with zeros.
static void pack_lines(const xb_job *j, const char *x, int64_t n, const int64_t *at, const xb_places *inner,
                       int64_t filled, char *to) {
  j->set->lines(x, n, at, inner, to);
  if (filled > inner->n)
    for (int64_t i = 0; i < n; i++)
      memset(to + (i * INNER + inner->n) * j->bytes, 0, (size_t)((filled - inner->n) * j->bytes));
}

enum { TURNED = 16 };  // lines and groups that are turned at a time

// pack_left copies rows. If they lie across, groups of up to PANEL of them at a time are turned; what that writes
// behind them is written over.
static void pack_left(const xb_job *j, work *w, const char *x, int64_t n, const xb_places *inner, int64_t filled) {
  if (inner->pieces * 2 <= inner->n || n == 1) {
    pack_lines(j, x, n, w->rows, inner, filled, w->left);
    return;
  }
  for (int64_t i = 0, some; i < n; i += some) {
    some = run_of(w->rows + i, xb_least(PANEL, n - i));
    char *to = w->left + i * INNER * j->bytes;
    j->set->groups(x + w->rows[i] * j->bytes, some, inner, filled, w->turned);
    for (int64_t half = 0; half < some; half += TURNED)
      for (int64_t k = 0; k < filled / j->group; k += TURNED)
        j->set->turn((uint32_t *)w->turned + k * PANEL + half, PANEL, (uint32_t *)(to + half * INNER * j->bytes) + k,
                     INNER / j->group);
  }
}

// pack_right copies columns into panels. If they lie along the contracted axis, they are turned.
static void pack_right(const xb_job *j, work *w, const char *x, int64_t n, const xb_places *inner, int64_t filled) {
  for (int64_t i = 0; i < n; i += PANEL) {
    int64_t some = xb_least(PANEL, n - i);
    char *to = w->right + i * filled * j->bytes;
    if (run_of(w->columns + i, some) == some) {
      j->set->groups(x + w->columns[i] * j->bytes, some, inner, filled, to);
      continue;
    }
    pack_lines(j, x, some, w->columns + i, inner, filled, w->turned);
    for (int64_t half = 0; half < some; half += TURNED)
      for (int64_t k = 0; k < filled / j->group; k += TURNED)
        j->set->turn((uint32_t *)(w->turned + half * INNER * j->bytes) + k, INNER / j->group,
                     (uint32_t *)to + k * PANEL + half, PANEL);
  }
}

enum { LONG_PIECE = 8 };

// take_left lets the product take rows as they lie, if it can and if they lie in long pieces.
static bool take_left(const xb_job *j, work *w, const char *x, xb_dot_block *b) {
  const xb_places *inner = &w->left_inner;
  b->left = w->left, b->rows_at = NULL;
  if (!j->set->direct || inner->pieces * LONG_PIECE > inner->n) return false;
  for (int64_t p = 0; p < inner->pieces; p++) {
    w->piece_at[p] = inner->at[inner->begin[p]], w->piece_size[p] = inner->begin[p + 1] - inner->begin[p];
    if (w->piece_size[p] % j->group != 0) return false;
  }
  b->left = x, b->rows_at = w->rows, b->pieces = inner->pieces, b->piece_at = w->piece_at,
  b->piece_size = w->piece_size;
  return true;
}

// cut is where part `which` of n, in units of `unit`, begins.
static int64_t cut(int64_t n, int64_t unit, int64_t parts, int64_t which) {
  return xb_least(n, (n + unit - 1) / unit * which / parts * unit);
}

enum { MOST_PARTS = 16, LEAST_PIECES = 8 };

// parts_of is how many parts a contracted axis has. Their sums are added in order, so that several threads can work on
// a few results of a long axis.
static int64_t parts_of(int64_t inner) {
  int64_t parts = (inner + INNER - 1) / INNER / LEAST_PIECES;
  return parts < 1 ? 1 : xb_least(parts, MOST_PARTS);
}

// Where the results of a block are.
typedef struct {
  int64_t batch, row, rows, column, columns;
} place_in_results;

static place_in_results place_of(const xb_job *j, int64_t number) {
  int64_t column_block = number % j->column_blocks, row_block = number / j->column_blocks % j->row_blocks;
  place_in_results p = {.batch = number / j->column_blocks / j->row_blocks};
  p.row = cut(j->rows, 1, j->row_blocks, row_block), p.rows = cut(j->rows, 1, j->row_blocks, row_block + 1) - p.row;
  p.column = cut(j->columns, PANEL, j->column_blocks, column_block),
  p.columns = cut(j->columns, PANEL, j->column_blocks, column_block + 1) - p.column;
  return p;
}

static void *results_of(const xb_job *j, place_in_results p) {
  return (char *)j->out + (p.batch * j->rows * j->columns + p.column) * (j->half ? 2 : XB_WORD);
}

static void run_part(const xb_job *j, work *w, xb_dot_block *b, int64_t left_at, int64_t right_at, int64_t row,
                     int64_t column, int64_t begin, int64_t end) {
  for (int64_t k = begin, n; k < end; k += n) {
    n = xb_least(INNER, end - k);
    b->inner = (n + j->set->inner - 1) / j->set->inner * j->set->inner;
    b->first = k == begin, b->last = k + n == end;
    xb_places_of(&j->left.inner, k, n, &w->left_inner);
    xb_places_of(&j->right.inner, k, n, &w->right_inner);
    xb_offsets(&j->left.free, row, b->rows, w->rows);
    if (!take_left(j, w, j->left.x + left_at * j->bytes, b))
      pack_left(j, w, j->left.x + left_at * j->bytes, b->rows, &w->left_inner, b->inner);
    xb_offsets(&j->right.free, column, b->columns, w->columns);
    pack_right(j, w, j->right.x + right_at * j->bytes, b->columns, &w->right_inner, b->inner);
    j->set->product(b);
  }
}

// add_floats adds the sums of a part to the total, of which it may be the first. Like the instructions for bfloat16 it
// takes numbers below the least normal one for zero, whatever the mode of the thread.
static void add_floats(const float *part, bool first, int64_t rows, int64_t columns, float *total) {
  for (int64_t i = 0; i < rows; i++, part += LINES, total += LINES)
    for (int64_t k = 0; k < columns; k++) {
      float sum = first ? part[k] : total[k] + part[k];
      total[k] = sum < FLT_MIN && sum > -FLT_MIN ? 0 : sum;
    }
}

// add_integers is the same of int32, modulo 2^32.
static void add_integers(const uint32_t *part, bool first, int64_t rows, int64_t columns, uint32_t *total) {
  for (int64_t i = 0; i < rows; i++, part += LINES, total += LINES)
    for (int64_t k = 0; k < columns; k++) total[k] = first ? part[k] : total[k] + part[k];
}

static void add_part(const xb_job *j, const void *part, bool first, int64_t rows, int64_t columns, void *total) {
  if (j->type == XB_BF16) add_floats(part, first, rows, columns, total);
  else add_integers(part, first, rows, columns, total);
}

static void put_total(const xb_job *j, const char *total, int64_t rows, int64_t columns, const int64_t *at, void *out) {
  for (int64_t i = 0; i < rows; i++, total += LINES * XB_WORD) {
    const float *line = (const float *)total;
    if (j->half)
      for (int64_t k = 0; k < columns; k++) ((uint16_t *)out)[at[i] + k] = xb_rounded(line[k]);
    else memcpy((char *)out + at[i] * XB_WORD, total, (size_t)columns * XB_WORD);
  }
}

// run_block has the sums of a block, or of one part of it.
static bool run_block(const xb_job *j, int64_t number) {
  if (memory == NULL && (memory = aligned_alloc(64, (sizeof *memory + 63) / 64 * 64)) == NULL) return false;
  work *w = memory;
  char *own = j->sums == NULL ? NULL : j->sums + number * BLOCK_BYTES;
  int64_t first_part = own == NULL ? 0 : number % j->parts, parts = own == NULL ? j->parts : 1;
  if (own != NULL) number /= j->parts;
  int64_t left_at, right_at;
  place_in_results at = place_of(j, number);
  int64_t row = at.row, rows = at.rows, column = at.column, columns = at.columns;
  xb_offsets(&j->left.batch, at.batch, 1, &left_at);
  xb_offsets(&j->right.batch, at.batch, 1, &right_at);
  xb_dot_block b = {.rows = rows,
                    .columns = columns,
                    .left = w->left,
                    .right = w->right,
                    .sums = w->sums,
                    .half = j->half,
                    .no_sign = j->no_sign,
                    .at = w->results};
  void *out = results_of(j, at);
  b.out = out;
  xb_offsets(&j->results, row, rows, w->results);
  if (j->parts > 1) {
    for (int64_t i = 0; i < rows; i++) w->own[i] = i * LINES;
    b.half = false, b.at = w->own, b.out = own == NULL ? w->part : own;
  }
  for (int64_t part = first_part; part < first_part + parts; part++) {
    run_part(j, w, &b, left_at, right_at, row, column, cut(j->inner, INNER, j->parts, part),
             cut(j->inner, INNER, j->parts, part + 1));
    if (j->parts > 1 && own == NULL) add_part(j, w->part, part == 0, rows, columns, w->total);
  }
  if (j->parts > 1 && own == NULL) put_total(j, w->total, rows, columns, w->results, out);
  return true;
}

// help does blocks until none is left.
static void help(xb_job *j) {
  for (int64_t block; (block = atomic_fetch_add(&j->next, 1)) < j->blocks;) {
    if (!run_block(j, block)) j->failed = 1;
    if (atomic_fetch_add(&j->done, 1) + 1 < j->blocks) continue;
    pthread_mutex_lock(&j->lock);
    pthread_cond_broadcast(&j->all);
    pthread_mutex_unlock(&j->lock);
  }
}

static void leave(xb_job *j) {
  if (atomic_fetch_sub(&j->holders, 1) > 1) return;
  pthread_cond_destroy(&j->all);
  pthread_mutex_destroy(&j->lock);
  free(j);
}

static void helper(void *data) {
  help(data);
  leave(data);
}

// threads is how many XLA's pool has; 1: it cannot be used.
static int64_t threads(const xf_frame *frame) {
  const xf_api *api = frame->api;
  if (api->struct_size < offsetof(xf_api, threads_count) + sizeof api->threads_count || api->threads_count == NULL ||
      api->schedule == NULL)
    return 1;
  int64_t n = 1;
  xf_threads_args args = {
      .struct_size = offsetof(xf_threads_args, count) + sizeof args.count, .ctx = frame->ctx, .count = &n};
  return api->threads_count(&args) == NULL && n > 0 ? n : 1;
}

xb_job *xb_narrow_start(xb_narrow type) {
  xb_job *j = calloc(1, sizeof *j);
  if (j == NULL) return NULL;
  j->type = type, j->set = xb_narrow_set(type);
  j->bytes = type == XB_BF16 ? 2 : 1, j->group = XB_WORD / j->bytes;
  return j;
}

// Products of numbers that are worth a second thread, and rows of a block then.
enum { LEAST_SHARED = 1 << 21, LEAST_LINES = 64 };

bool xb_narrow_run(xf_frame *frame, xb_job *j, int64_t batch) {
  j->row_blocks = (j->rows + LINES - 1) / LINES, j->column_blocks = (j->columns + LINES - 1) / LINES;
  int64_t n = batch * j->rows * j->columns * j->inner < LEAST_SHARED ? 1 : threads(frame);
  while (batch * j->row_blocks * j->column_blocks < n && j->rows / j->row_blocks >= 2 * LEAST_LINES) j->row_blocks *= 2;
  j->blocks = batch * j->row_blocks * j->column_blocks, j->parts = parts_of(j->inner);
  int64_t whole = j->blocks;
  if (whole < n && j->parts > 1) {
    j->blocks *= j->parts;
    j->sums = malloc((size_t)j->blocks * BLOCK_BYTES);
    if (j->sums == NULL) j->blocks = whole;
  }
  pthread_mutex_init(&j->lock, NULL);
  pthread_cond_init(&j->all, NULL);
  j->holders = 1;
  for (int64_t i = 1; i < xb_least(n, j->blocks); i++) {
    xf_schedule_args args = {.struct_size = offsetof(xf_schedule_args, data) + sizeof args.data,
                             .ctx = frame->ctx,
                             .task = helper,
                             .data = j};
    atomic_fetch_add(&j->holders, 1);
    if (frame->api->schedule(&args) != NULL) {
      atomic_fetch_sub(&j->holders, 1);
      break;
    }
  }
  help(j);
  pthread_mutex_lock(&j->lock);
  while (j->done < j->blocks) pthread_cond_wait(&j->all, &j->lock);
  pthread_mutex_unlock(&j->lock);
  bool right = !j->failed;
  for (int64_t block = 0; right && j->sums != NULL && block < whole; block++) {
    place_in_results p = place_of(j, block);
    char *sums = j->sums + block * j->parts * BLOCK_BYTES;
    int64_t at[LINES];
    xb_offsets(&j->results, p.row, p.rows, at);
    for (int64_t part = 1; part < j->parts; part++)
      add_part(j, sums + part * BLOCK_BYTES, false, p.rows, p.columns, sums);
    put_total(j, sums, p.rows, p.columns, at, results_of(j, p));
  }
  free(j->sums);
  leave(j);
  return right;
}

// read_operand puts the axes of an array where the lists say; the others are free.
static bool read_operand(const xf_buffer *b, const int64_t *batch, int64_t batches, const int64_t *inner,
                         int64_t inners, xb_operand *o) {
  bool taken[XB_AXES] = {false};
  int64_t steps[XB_AXES], step = 1;
  if (b->rank > XB_AXES) return false;
  *o = (xb_operand){b->data, {.size = 1}, {.size = 1}, {.size = 1}};
  for (int64_t i = b->rank - 1; i >= 0; step *= b->dims[i--]) steps[i] = step;
  for (int64_t i = 0; i < batches + inners; i++) {
    int64_t axis = i < batches ? batch[i] : inner[i - batches];
    if (axis < 0 || axis >= b->rank || taken[axis]) return false;
    taken[axis] = true;
    xb_add_axis(i < batches ? &o->batch : &o->inner, b->dims[axis], steps[axis]);
  }
  for (int64_t i = 0; i < b->rank; i++)
    if (!taken[i]) xb_add_axis(&o->free, b->dims[i], steps[i]);
  return true;
}

// read_job reads what a call is. config: how many batch axes there are, those of the left operand and of the right one,
// and the same of contracted axes.
static bool read_job(const xf_frame *frame, xb_job *j) {
  int64_t size = 0;
  const int64_t *config = xb_numbers(frame, &size);
  if (config == NULL || size < 2 || frame->args.size != 2 || frame->results.size != 1) return false;
  int64_t batches = config[0];
  if (batches < 0 || 2 * batches + 2 > size) return false;
  const int64_t *contracted = config + 1 + 2 * batches;
  int64_t inners = *contracted++;
  if (inners < 0 || 2 * batches + 2 + 2 * inners != size) return false;
  const xf_buffer *left = frame->args.values[0], *right = frame->args.values[1], *out = frame->results.values[0];
  if (!read_operand(left, config + 1, batches, contracted, inners, &j->left) ||
      !read_operand(right, config + 1 + batches, batches, contracted + inners, inners, &j->right))
    return false;
  j->rows = j->left.free.size, j->columns = j->right.free.size, j->inner = j->left.inner.size;
  j->half = out->dtype == XF_BF16, j->no_sign = left->dtype == XF_U8, j->out = out->data;
  int64_t results = xb_elements(out);
  j->results.size = 1;
  xb_add_axis(&j->results, j->rows, j->columns);
  bool types = j->type == XB_BF16
                   ? left->dtype == XF_BF16 && right->dtype == XF_BF16 && (j->half || out->dtype == XF_F32)
                   : (left->dtype == XF_S8 || j->no_sign) && right->dtype == XF_S8 && out->dtype == XF_S32;
  return types && j->right.inner.size == j->inner && j->right.batch.size == j->left.batch.size &&
         j->left.batch.size > 0 && j->rows > 0 && j->columns > 0 && j->inner > 0 &&
         results == j->left.batch.size * j->rows * j->columns;
}

static xf_error *call(xf_frame *frame, xb_narrow type, const char *wrong) {
  if (xf_asked(frame) || frame->stage != XF_EXECUTE) return NULL;
  xb_job *j = xb_narrow_start(type);
  if (j == NULL) return xf_fail(frame, XF_RESOURCE_EXHAUSTED, "a product of narrow numbers has no memory");
  if (!read_job(frame, j)) {
    free(j);
    return xf_fail(frame, XF_INVALID_ARGUMENT, wrong);
  }
  return xb_narrow_run(frame, j, j->left.batch.size)
             ? NULL
             : xf_fail(frame, XF_RESOURCE_EXHAUSTED, "a product of narrow numbers has no memory for its blocks");
}

xf_error *xb_bf16_dot(xf_frame *frame) {
  return call(frame, XB_BF16,
              "xlarun_bf16_dot takes two bf16 arrays whose batch axes and contracted axes are of one size, none of "
              "them empty, and gives bf16 or f32");
}

xf_error *xb_int8_dot(xf_frame *frame) {
  return call(frame, XB_INT8,
              "xlarun_int8_dot takes an s8 or u8 and an s8 array whose batch axes and contracted axes are of one size, "
              "none of them empty, and gives s32");
}
