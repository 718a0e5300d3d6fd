// A product of narrow numbers as threads work on it.
#ifndef XLARUN_NARROWDOT_JOB_H
#define XLARUN_NARROWDOT_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "ffi.h"
#include "narrowdot.h"
#include "narrowdot_axes.h"

// Bytes of a group of elements.
enum { XB_WORD = 4 };

// An operand: its free axes, rows of the left one and columns of the right one, and those that are contracted.
typedef struct {
  const char *x;
  xb_axes batch, free, inner;
} xb_operand;

// What threads work on together. The last of them frees it.
typedef struct {
  xb_narrow type;
  const xb_dot *set;
  // Bytes of an element, elements of a word.
  int bytes, group;
  xb_operand left, right;
  // From one row of results to the next.
  xb_axes results;
  void *out;
  bool half, no_sign;
  int64_t rows, columns, inner, row_blocks, column_blocks, blocks, parts;
  // Of each block and part, [LINES][LINES]. NULL: a block has all parts.
  char *sums;
  atomic_llong next, done;
  atomic_int holders, failed;
  pthread_mutex_t lock;
  pthread_cond_t all;
} xb_job;

// xb_narrow_start is a new job; NULL: there is no memory.
xb_job *xb_narrow_start(xb_narrow type);

// xb_narrow_run does all blocks of a job, for each index of its batch axes, and frees it. false: there is no memory.
bool xb_narrow_run(xf_frame *frame, xb_job *j, int64_t batch);

#endif
