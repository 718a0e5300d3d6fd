// A product of narrow numbers as threads work on it.
#ifndef XLARUN_NARROWDOT_JOB_H
#define XLARUN_NARROWDOT_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "ffi.h"
#include "narrowdot.h"
#include "narrowdot_axes.h"

enum { WORD = 4 };  // bytes of a group of elements

// An operand: its free axes, rows of the left one and columns of the right one, and those that are contracted.
typedef struct {
  const char *x;
  axes batch, free, inner;
} operand;

// What threads work on together. The last of them frees it.
typedef struct {
  xb_narrow type;
  const xb_dot *set;
  int bytes, group;  // bytes of an element, elements of a word
  operand left, right;
  axes results;  // from one row to the next
  void *out;
  bool half, no_sign;
  int64_t rows, columns, inner, row_blocks, column_blocks, blocks, parts;
  char *sums;  // of each block and part, [LINES][LINES]; NULL: a block has all parts
  atomic_llong next, done;
  atomic_int holders, failed;
  pthread_mutex_t lock;
  pthread_cond_t all;
} job;

// xb_narrow_start is a new job; NULL: there is no memory.
job *xb_narrow_start(xb_narrow type);

// xb_narrow_run does all blocks of a job, for each index of its batch axes, and frees it. false: there is no memory.
bool xb_narrow_run(xf_frame *frame, job *j, int64_t batch);

#endif
