// Kernels of our own: C functions that compiled programs call by name.
#ifndef XLARUN_FFI_H
#define XLARUN_FFI_H

#include "ffi_abi.h"
#include "pjrt_abi.h"

// xb_ffi finds the FFI extension of a plugin's table; NULL: it has none that can register handlers.
xp_ffi_extension *xb_ffi(const xp_api *api);

// xb_ffi_register registers a handler for a platform.
xp_error *xb_ffi_register(xp_ffi_extension *ffi, const char *name, void *handler, const char *platform);

// xb_reverse is the handler of the kernel xlarun_reverse: one f32[n] in, the same backwards out.
xf_error *xb_reverse(xf_frame *frame);

// xb_turn is the handler of the kernel xlarun_turn: f32[a, b] in, its transpose f32[b, a] out.
xf_error *xb_turn(xf_frame *frame);

// xb_cumulative is the handler of the kernel xlarun_cumulative: an array of f32, f64 or s32 in, what has run together so far
// along an axis out. The attribute config is the kind (0 sum, 1 product, 2 max, 3 min), the axis, and whether it is reversed.
xf_error *xb_cumulative(xf_frame *frame);

// xb_top_k is the handler of the kernel xlarun_top_k: an array of f32 or s32 in, the largest elements along its last axis and their
// s32 indices out, as many as the results have room for. The attribute config is their number.
xf_error *xb_top_k(xf_frame *frame);

// xb_sort is the handler of the kernel xlarun_sort: arrays of f32, s32 or u32, all of one shape, in; the same out, their lines along an axis in the order of the
// first: equal ones stay as they are, NaN comes last. The attribute config is the axis, and whether the largest come first.
xf_error *xb_sort(xf_frame *frame);

// xb_threefry is the handler of the kernel xlarun_threefry: both words of the keys, of u32 arrays of one shape, in; for each key
// the hash of so many counters out, in one array or the two words apart. The attribute config is their number and whether the keys'
// axes come behind the counters'. See threefry.h.
xf_error *xb_threefry(xf_frame *frame);

// xb_gather is the handler of the kernel xlarun_gather, which all devices that run a program together call at the same place: an array, the number of the device
// (s32[]), and any array that has to be there before, in; the arrays of all devices, along a new axis in front, out. The attribute config is the number of devices
// and that of the place. xb_after is that of xlarun_after: an array, and any that has to be there before, in; the first out, in place. See gather.c.
xf_error *xb_gather(xf_frame *frame);
xf_error *xb_after(xf_frame *frame);

// xb_unset does nothing. It is the handler of the kernels xlarun_unset, nothing in, one array out, left as it is, and xlarun_apart, nothing in and nothing out.
xf_error *xb_unset(xf_frame *frame);

// xb_write is the handler of the kernel xlarun_write: an array, a block, and for each axis in the attribute config the
// block's first place along it (a whole number; other axes are filled). Blocks that would leave the array are moved inside.
// Gives the array with the block written, in place where result and array are the same memory.
xf_error *xb_write(xf_frame *frame);

// xb_scatter is the handler of the kernel xlarun_scatter: an array, indices and updates, as in StableHLO's scatter. The
// attribute config is the kind (0 set, 1 sum, 2 product, 3 max, 4 min), then behind their lengths: the updates' axes that
// run over a window, the array's axes that have none, those shared with the indices, these in the indices, and the array's
// axis of each coordinate. Windows that would leave the array are dropped. In place as above.
xf_error *xb_scatter(xf_frame *frame);

// xb_numbers gives the numbers of the attribute config, where that is the only one, and how many there are; else NULL.
const int64_t *xb_numbers(const xf_frame *frame, int64_t *size);

// xb_cholesky, xb_triangular_solve and xb_lu are the handlers of the kernels xlarun_cholesky, xlarun_triangular_solve (config:
// right side, upper, transposed, unit diagonal) and xlarun_lu, for any number of matrices of f32 or f64; see linalg.h.
xf_error *xb_cholesky(xf_frame *frame);
xf_error *xb_triangular_solve(xf_frame *frame);
xf_error *xb_lu(xf_frame *frame);

// xb_low_rank is the handler of the kernel xlarun_low_rank: f32 arrays y, x, a, b and scale in, y + scale (x a^T) b out, in place
// where result and y are the same memory; see lowrank.c.
xf_error *xb_low_rank(xf_frame *frame);

// xb_eigh is the handler of the kernel xlarun_eigh: f32 or f64 matrices [..., n, n], symmetric, in, eigenvalues and eigenvectors out; see eigh.c.
xf_error *xb_eigh(xf_frame *frame);

// xb_sparse_dot is the handler of the kernel xlarun_sparse_dot: f32 arrays x and w in, x w out; xb_sparse_outer that of
// xlarun_sparse_outer: f32 arrays x and y in, sums of x y^T out; see sparsedot.c.
xf_error *xb_sparse_dot(xf_frame *frame);
xf_error *xb_sparse_outer(xf_frame *frame);

// xb_recurrence is the handler of the kernel xlarun_recurrence: f32 arrays a, b and start in, the states of state' = a*state + b before each step and
// the last one out. The attribute config is whether it goes backwards. xb_integrate_fire is that of xlarun_integrate_fire: f32 arrays v, x, beta
// and threshold in, the last potentials, spikes and, where there are three results, the potentials before each step out; see along_steps.c.
xf_error *xb_recurrence(xf_frame *frame);
xf_error *xb_integrate_fire(xf_frame *frame);

// xb_conv_images is the handler of the kernel xlarun_conv_images: f32 images and weights in, what comes of them out; xb_conv_images_input that of
// xlarun_conv_images_input: gradients of results and weights in, those of images out; xb_conv_images_weights that of xlarun_conv_images_weights: images and gradients of
// results in, those of weights out. The attribute config is the strides, the zeros above and on the left, and the axes in front that weights have; see convimages.c.
xf_error *xb_conv_images(xf_frame *frame);
xf_error *xb_conv_images_input(xf_frame *frame);
xf_error *xb_conv_images_weights(xf_frame *frame);

// xb_tree_backup is the handler of the kernel xlarun_tree_backup: rows of search trees and what rollout/search's backup takes in, the
// rows after it out, in place where result and rows are the same memory; see treesearch.c.
xf_error *xb_tree_backup(xf_frame *frame);

// xb_permute is the handler of the kernel xlarun_permute: examples [n, planes, cells], f32 or pred, a table of orders s32[count, cells] and which of them
// each takes, s32[n], in, the examples [n, cells, planes] with their cells in that order out; see permute.c.
xf_error *xb_permute(xf_frame *frame);

// xlarun_debug is the handler of the kernel xlarun_debug, in Go (debug.go): a message and arrays in, one number out, which is
// left as it is.
xf_error *xlarun_debug(xf_frame *frame);

#endif
