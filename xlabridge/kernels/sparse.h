// One step of one sparse network on one batch, in C: connections in compressed rows, examples as SIMD lanes.
#ifndef XLARUN_SPARSE_KERNEL_H
#define XLARUN_SPARSE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

// XS_DEPTH is the largest number of layers.
#define XS_DEPTH 16

// A layer's n connections, in the order of their places: piece by piece of the inputs, row by row (an output unit)
// within a piece, by input within a row. The numbers come from an index (xs_index); units are counted in UNIT bytes of
// a block.
typedef struct {
  int inputs, outputs, n, pieces;
  const uint32_t *col, *row;  // of each connection: its input, its output, times UNIT
  const int32_t *off;         // where each row of each piece begins: pieces * outputs + 1 numbers
  const int32_t *from, *by;   // by input: where each input's connections begin (inputs + 1 numbers), which they are
  const uint32_t *out;        // their outputs, times UNIT; these three are NULL in the first layer
  const float *w;
  float *g;  // takes the gradient; NULL in all layers where none is wanted
} xs_layer;

// UNIT is the bytes that 32 examples of a unit take as bfloat16; they take twice as many as float32.
#define UNIT 64

// xs_pieces is the number of pieces that a layer with so many inputs is cut into: the fewest equal ones of which each
// stays in the first-level cache while all rows go over it.
int xs_pieces(int inputs);

// xs_index_size is the number of int32 that the index of a layer takes: a head, then col, row, off and, but for the
// first layer, from, by, out.
int64_t xs_index_size(int inputs, int outputs, int64_t n, int first);

// xs_index builds a layer's index from its connections' places, in order. It holds as long as the places stay. It
// returns NULL, or what is wrong with the places.
const char *xs_index(int inputs, int outputs, int n, int first, const int32_t *places, int32_t *index);

// xs_open points a layer at what xs_index built. 0: it was not built for such a layer.
int xs_open(xs_layer *l, int inputs, int outputs, int n, int first, const int32_t *index);

// xs_step runs the layers on a batch: x is u8[layers[0].inputs, lanes], pixels of 0 to 255 that stand for 0 to 1;
// labels is i32[lanes], below 0 for lanes that do not count. It sets stats to the sum of the cross-entropies and the
// number of right answers, and each layer's g to the gradient of the sum. lanes is a multiple of 32. bf16: what is
// multiplied (weights, what units hold, deltas) is rounded to bfloat16, sums and logits are float32. It returns NULL,
// or what is wrong.
const char *xs_step(int count, xs_layer *layers, const uint8_t *x, const int32_t *labels, int lanes, int bf16,
                    float *stats);

// The kernel is built for several instruction sets, the least first: xs_paths is how many of them this processor runs,
// of which the last is used; xs_use picks another one, for tests. xs_use(-1) goes back.
int xs_paths(void);
void xs_use(int path);

#endif
