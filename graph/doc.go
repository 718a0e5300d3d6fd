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
//   - lower/lower_test.go: the results are the same after each pass for each target.
//   - table_test.go and extremes_test.go in xlabridge: XLA agrees with the reference, also for NaN, infinities, -0,
//     denormals and the largest and smallest values.
//
// A function made of other ops is tested by sample calls in composed_test.go, by vectors from JAX
// (third_party/oracles/jax_functions.py), and by a line in the table of fromjax_test.go, from which
// docs/reference/from-jax.md is written.
//
// A function that is made of exported functions, and that nothing here calls, is in a package named as in JAX: linalg,
// fft, special, stats, signal. What is at the top of jax.numpy or in jax.lax is here. Linalg, Random, FFT and Arguments
// are what those packages call.
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
// (graph/special/special_test.go). An error of n ULP is one of n units in the last place of the result for arguments
// that differ by n units in theirs (Higham, "Accuracy and stability of numerical algorithms", 2002, section 1.5): where
// a function is steep, rounded arguments allow no more. "For values below 1, in ULP of 1" means that a small value may
// have fewer digits. Numbers below the smallest normal one count as 0, as compilers take them.
//
// # Lowering
//
// Package lower makes programs of ops that a target takes. What one op becomes is in its block here (Op.Lower): so
// maxima and minima keep NaN (ops_reduce_extremes.go), the place of an extreme element is found by two reductions
// (ops_reduce_arg.go), maxima of sliding windows are maxima of shifted arrays (ops_window_slides.go), and short loops
// in a loop's step are written out (ops_scan_unrolled.go). Such rules and the passes of package lower rewrite graphs
// node by node (Rewrite, Cursor). No transform (batch.go, jvp.go, linearize.go, transpose.go) calls a pass.
//
// Package internal/stablehlo writes the text: SSA names, operations, regions, functions, types and attributes. It knows
// nothing of graphs, and only Emit rules and emit.go use it. Package internal/attr has the attributes that passes read.
//
// A kernel for an op is called in its Lower rule, where the target has kernels (kernelCall). Code outside of this
// package has WithKernel, which takes ops for all targets and a kernel that computes the same.
//
// XLA's CPU compiler brings a convolution into its fast layout only outside of loops; plain gradients in a scan ran 40
// times slower. So lowerConv brings every convolution into that layout on the CPU.
package graph
