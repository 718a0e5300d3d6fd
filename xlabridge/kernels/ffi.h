// The handlers of the kernels: C functions that compiled programs on the CPU call by name. kernels.go lists the names.
// An array [a, b] is row-major. "In" are the call's operands, "Out" its results. The attribute config is a list of
// whole numbers.
#ifndef XLARUN_KERNELS_FFI_H
#define XLARUN_KERNELS_FFI_H

#include "../../third_party/pjrt/ffi_abi.h"

// xb_numbers returns the numbers of the attribute config and their count. It returns NULL if there is another
// attribute.
const int64_t *xb_numbers(const xf_frame *frame, int64_t *size);

// xb_width returns the bytes of an element. 0: the type is unknown.
int64_t xb_width(int dtype);

// xb_elements returns the number of elements of an array.
int64_t xb_elements(const xf_buffer *b);

// xb_bytes returns the bytes of an array. 0: its type is unknown, or it is empty.
size_t xb_bytes(const xf_buffer *b);

// xb_get_float and xb_set_float read and write element i of an array of f32 or f64.
double xb_get_float(const xf_buffer *b, int64_t i);
void xb_set_float(const xf_buffer *b, int64_t i, double x);

// In: f32[n]. Out: the same backwards.
xf_error *xb_reverse(xf_frame *frame);

// In: f32[n, a, b]. Out: the transposes f32[n, b, a].
xf_error *xb_transpose(xf_frame *frame);

// In: an array of f32, f64 or s32. Out: its cumulative values along an axis.
//
// Config: the kind (0 sum, 1 product, 2 max, 3 min), the axis, whether it is reversed.
xf_error *xb_cumulative(xf_frame *frame);

// In: an array of f32 or s32. Out: the largest elements along its last axis, and their s32 indices.
//
// Config: how many.
xf_error *xb_top_k(xf_frame *frame);

// In: ascending lists [..., n] of f32, f64 or s32, and elements of the same type. Out: s32, how many members of its
// list stand before each element. NaN comes last.
//
// Config: whether equal members stand before an element, and the number of leading axes that both arrays have.
xf_error *xb_search_sorted(xf_frame *frame);

// In: f32 matrices x [n or 1, rows, inner] and y [n, inner, columns] of at most 32 rows and columns. Out: their
// products; see smalldot.c.
//
// Config: whether x, and whether y, lies transposed.
xf_error *xb_small_dots_call(xf_frame *frame);

// In: arrays of f32, s32 or u32 of one shape. Out: the same, each line along an axis in the order of the first array.
// Equal elements keep their order. NaN comes last.
//
// Config: the axis, whether the largest come first.
xf_error *xb_sort(xf_frame *frame);

// In: the two words of keys, u32 arrays of one shape. Out: for each key the hashes of counters, both words in two
// arrays or their exclusive or in one; see threefry.h.
//
// Config: the number of counters, whether the keys' axes come after the counters' axis.
xf_error *xb_threefry(xf_frame *frame);

// In: u32 arrays that hold the two words of keys and of counters. Out: both words of the hashes, arrays of one shape.
//
// Config: for each input the place of the first element, and its distance from the next along each axis of the results.
xf_error *xb_hash(xf_frame *frame);

// All devices that run a program together call xb_gather at the same place.
// In: an array, the device's number s32[], and any array that must be computed before. Out: the arrays of all devices
// along a new first axis; see gather.c.
//
// Config: the number of devices, the number of the place.
xf_error *xb_gather(xf_frame *frame);

// In: an array, and another one that must be computed before. Out: the first array, in place.
xf_error *xb_after(xf_frame *frame);

// In: nothing. Out: one array that is not set, or nothing.
xf_error *xb_unset(xf_frame *frame);

// In: an array, a block, and for each axis in config the block's first index along it. Out: the array with the block
// written. A block that would leave the array is moved inside. In place if result and array are the same memory.
//
// Config: the axes that the block does not fill.
xf_error *xb_write(xf_frame *frame);

// In: an array, indices and updates, as for StableHLO's scatter. Out: the array after the updates. Windows that would
// leave the array are dropped. In place as above.
//
// Config: the kind (0 set, 1 sum, 2 product, 3 max, 4 min), then lists, each after its length: the updates' window
// axes, the array's axes that have none, the array's batch axes, the indices' batch axes, the array's axis of each
// coordinate.
xf_error *xb_scatter(xf_frame *frame);

// In: vectors along the last axis, and int32 indices. Out: of each vector its elements at the indices, which are
// clamped to the vector.
//
// Config: whether each vector has indices of its own, as many as the others; else all vectors have the same.
xf_error *xb_take(xf_frame *frame);

// Any number of f32 or f64 matrices; see linalg.h.
//
// Config of xb_triangular_solve: right side, upper, transposed, unit diagonal.
xf_error *xb_cholesky(xf_frame *frame);
xf_error *xb_triangular_solve(xf_frame *frame);
xf_error *xb_lu(xf_frame *frame);
xf_error *xb_qr(xf_frame *frame);

// In: symmetric f32 or f64 matrices [..., n, n]. Out: eigenvalues and eigenvectors; see eigh.c.
xf_error *xb_eigh(xf_frame *frame);

// In: square f32 or f64 matrices [..., n, n]. Out: the real and imaginary parts of eigenvalues and, if they are wanted,
// of eigenvectors; see eig.c.
//
// Config: whether eigenvectors are wanted.
xf_error *xb_eig(xf_frame *frame);

// In: f32 arrays y, x, a, b and scale. Out: y + scale (x a^T) b, in place if result and y are the same memory; see
// lowrank.c.
xf_error *xb_low_rank(xf_frame *frame);

// In: f32 arrays x and w. Out: x w; see sparsedot.c.
xf_error *xb_sparse_dot(xf_frame *frame);

// In: f32 arrays x and y. Out: sums of x y^T; see sparsedot.c.
xf_error *xb_sparse_outer(xf_frame *frame);

// In: two bf16 arrays. Out: their product bf16 or f32, summed in f32; see narrowdot.c.
//
// Config: the number of batch axes, those of the first array, those of the second one; the same of contracted axes.
xf_error *xb_bf16_dot(xf_frame *frame);

// In: an array of s8 or u8 and one of s8. Out: their product s32; see narrowdot.c.
//
// Config: as above.
xf_error *xb_int8_dot(xf_frame *frame);

// In: bf16 images and weights. Out: their convolution bf16 or f32, features last, summed in f32; see narrowdot_conv.c.
//
// Config: the axes of images, of weights and of results; of each spatial axis the stride, the zeros before, and the
// distances of the elements of images and of windows.
xf_error *xb_bf16_conv(xf_frame *frame);

// In: f32 arrays a, b and start. Out: the states of state' = a*state + b before each step, and the last state; see
// along_steps.c.
//
// Config: whether it goes backwards.
xf_error *xb_recurrence(xf_frame *frame);

// In: f32 arrays v, x, beta and threshold. Out: the last potentials, spikes and, if there are three results, the
// potentials before each step; see along_steps.c.
xf_error *xb_integrate_fire(xf_frame *frame);

// Convolutions of f32 images; see convimages.c. xb_conv_images: images and weights in, results out.
// xb_conv_images_input: gradients of results and weights in, gradients of images out. xb_conv_images_weights: images
// and gradients of results in, gradients of weights out.
//
// Config: the strides, the zeros above and on the left, the first axes that weights have.
xf_error *xb_conv_images(xf_frame *frame);
xf_error *xb_conv_images_input(xf_frame *frame);
xf_error *xb_conv_images_weights(xf_frame *frame);

// In: rows of search trees and the operands of rollout/search's backup. Out: the rows after it, in place if result and
// rows are the same memory; see treesearch.c.
xf_error *xb_tree_backup(xf_frame *frame);

// In: vectors of f32 or f64, a tape and its numbers. Out: the vectors that the tape computes; see tape.c.
//
// xb_tape_use picks an instruction set, for tests, by its number in vectors.h. -1 goes back to the widest.
xf_error *xb_tape_call(xf_frame *frame);
void xb_tape_use(int set);

// In: examples [n, planes, cells] of f32 or pred, a table of orders s32[count, cells], and each example's row of it
// s32[n]. Out: the examples [n, cells, planes] with their cells in that order; see permute.c.
xf_error *xb_permute(xf_frame *frame);

// In: an array of s32, and the number of a counter s32[]. Out: the array. Adds 1 to the counter; see count.c.
xf_error *xb_count(xf_frame *frame);

// xb_counted is a counter's value.
enum { XB_COUNTERS = 4096 };
int64_t xb_counted(int32_t counter);

// A step of a sparse network, in float32 or with bfloat16 products, and the index that it needs; see sparse.h.
xf_error *xs_handler(xf_frame *frame);
xf_error *xs_bf16_handler(xf_frame *frame);
xf_error *xs_index_handler(xf_frame *frame);

#endif
