// What the blocks compiled for different processors share.
#ifndef XLARUN_SPARSE_KERNEL_TYPES_H
#define XLARUN_SPARSE_KERNEL_TYPES_H

#include "sparse.h"

#define LANES 32  // examples of a block

// The work memory of a step. What units hold is LANES float32 each; or as many bfloat16, in words whose lower half is
// lane i and whose upper one is lane LANES / 2 + i.
typedef struct {
  void *values[XS_DEPTH];      // values[l] are the inputs of layer l
  void *deltas[XS_DEPTH + 1];  // deltas[l] are the gradients by them; deltas[count] those by the logits
  void *logits;                // float32
  void *sums;                  // float32; in bfloat16: the outputs of a layer before they are rounded
} xs_work;

// xs_block runs LANES examples from `at` on. fresh: g is not set yet.
typedef void xs_block(int count, const xs_layer *layers, const uint8_t *x, const int32_t *labels, int lanes, int at,
                      int fresh, const xs_work *work, float *stats);

xs_block xs_block_plain, xs_block_avx2, xs_block_avx512, xs_block_bf16_plain, xs_block_bf16_avx2, xs_block_bf16_avx512;

#endif
