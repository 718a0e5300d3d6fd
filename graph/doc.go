// Package graph records ordinary Go functions over arrays as small typed programs. It transforms programs (VMap over
// members, Scan over time, gradients) and writes them as StableHLO for a compiler. A reference interpreter in plain Go
// runs them op by op.
//
// A function is traced once: its ops become the Nodes of a Graph. A transform takes a graph and returns a graph.
//
// # Ops
//
// Every op is one Op in Table, with all its rules side by side: Shape, Batch (the VMap rule), JVP, Transpose or the
// reason why there is none, Lower (the ops that replace it for a target), Emit (StableHLO), Eval (the reference), Cost
// and Cases (sample calls). Ops with bodies also have Derivative, Unknown, Split, Prune and Run, and loops have Loop.
//
// To add an op, write its block, a function for users, and Cases in an ops_*.go file. These tests then find it:
//
//   - table_test.go: the table has no holes, and VMap equals a loop over the lanes.
//   - grad_test.go: JVP agrees with finite differences and VJP with JVP; also under VMap, in a Scan, and checkpointed.
//   - lower_test.go: the results are the same after each pass for each target.
//   - table_test.go and extremes_test.go in xlabridge: XLA agrees with the reference, also for NaN, infinities, -0,
//     denormals and the largest and smallest values.
//
// A function made of other ops is tested by sample calls in composed_test.go, by vectors from JAX
// (third_party/oracles/jax_functions.py), and by a line in the table of fromjax_test.go, from which
// docs/reference/from-jax.md is written.
//
// Functions look their op up by name, op("add"), because rules call functions and functions call ops. Go refuses to
// initialize variables in a circle.
//
// # VMap
//
// The function is traced without the new axis, and batch.go rewrites the graph by the ops' Batch rules. BatchLast keeps
// the lanes on the last axis and unrolls small contractions. An axis of size 0 never reaches the rules. Collectives
// over the mapped axis are resolved by its name.
//
// # Derivatives
//
// Forward mode (jvp.go) applies a graph to values and tangents. Bodies of control flow are differentiated one by one;
// the set of carried values with a tangent grows until the body keeps it.
//
// Reverse mode splits a derivative into a known part and a linear rest (linearize.go), and walks the rest backwards
// (transpose.go). A Scan is split into a known Scan, which stacks residuals, and a linear Scan (scan_rules.go).
// residuals.go chooses which values to stack and which to compute again. prune.go drops results of loops that nobody
// uses. Checkpoint stays one node until it is transposed. Custom derivatives carry their rules as bodies
// (ops_custom.go).
//
// # Accuracy
//
// Special functions state their largest errors over the whole range of each dtype, for both backends
// (special_test.go). An error of n ULP is one of n units in the last place of the result for arguments that differ by n
// units in theirs (Higham, "Accuracy and stability of numerical algorithms", 2002, section 1.5): where a function is
// steep, rounded arguments allow no more. "For values below 1, in ULP of 1" means that a small value may have fewer
// digits. Numbers below the smallest normal one count as 0, as compilers take them.
//
// # Lowering
//
// Program.Lower runs the passes in lower.go for a target and writes the graph as StableHLO (emit.go). The text is the
// same at each start, and compiled programs are cached by it. Dump and "xlarun inspect --phase" show the program after
// each pass. TargetCPUKernelsAlways calls kernels for the smallest arrays too, for tests.
//
// Passes change how a compiler computes, and not what:
//
//   - Inexact values that are compared with copies of themselves are computed once (lower_exact.go). Maxima and
//     minima keep NaN (ops_reduce_extremes.go), and the place of an extreme element is found by two reductions
//     (ops_reduce_arg.go).
//   - On CPUs, barriers come after keys that many hashes read (lower_hashes.go); concatenations have another shape
//     than selects (lower_overwrites.go); maxima of sliding windows are maxima of shifted arrays (ops_window_slides.go);
//     rolls of one array are slices of it with a border (lower_rolls.go).
//   - On accelerators, keys are hashed again in each kernel that reads them (lower_keys.go); small arrays that depend
//     on no input are constants (lower_constants.go); short loops in a loop's step are written out
//     (ops_scan_unrolled.go).
//   - On TPUs, gathers that do not wait for each other are one (lower_collectives.go), and concatenations of several
//     parts are selects (lower_concatenations.go).
//   - On GPUs, elements of a loop that have ended write outside of the array (lower_ended.go), and single numbers in
//     the carry of a population's loop are kept for each member (lower_singles.go).
//
// Package internal/stablehlo writes the text: SSA names, operations, regions, functions, types and attributes. It knows
// nothing of graphs, and only Emit rules and emit.go use it. The passes stay in this package. They rewrite nodes with
// the same functions that users and derivatives call (Mul, Transpose, Scan), read the attributes of ops, and run Lower
// rules that stand in the ops' blocks. A package below would need all of these exported. The files lower*.go hold the
// passes; no transform (batch.go, jvp.go, linearize.go, transpose.go) calls them.
//
// A kernel for an op is called in its Lower rule, where the target has kernels (kernelCall). Code outside of this
// package has WithKernel, which takes ops for all targets and a kernel that computes the same.
//
// XLA's CPU compiler brings a convolution into its fast layout only outside of loops; plain gradients in a scan ran 40
// times slower. So lowerConv brings every convolution into that layout on the CPU.
package graph
