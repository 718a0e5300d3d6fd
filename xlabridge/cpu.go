package xlabridge

import (
	"fmt"
	"maps"
	"runtime"
	"strings"

	"xlarun/graph"
)

// cpuDefaults are the compiler options of every program on CPU. Each core is a device, so a program must not split its
// own loops over the cores, which the disabled pass would do. Large matrix products still use a pool of threads, which
// all devices of the client share. The pool does not change their results.
var cpuDefaults = map[string]any{
	"xla_cpu_multi_thread_eigen": false,
	disabledPasses:               "cpu-parallel-task-assigner",
	// The plugin's default drops a NaN on one side of a maximum or minimum, as the processor's instruction does.
	"xla_cpu_enable_fast_min_max": false,
}

// libraryFusions lists the operations that XLA hands to its library of kernels. The default is products, sums and
// convolutions. Convolutions are a quarter slower in the library. Products of small matrices are slower too: thousands
// of 8 x 8 to 32 x 32 take 1.1 to 2 times as long, and a single one of 32 x 32 twice as long. From 48 x 48, the library
// needs 0.6 to 0.9 of the time. A program uses the library for products unless most of their work is on small matrices
// (mostSmall). This holds only for programs that run alone: programs of populations must resume to the same bytes.
const libraryFusions = "xla_cpu_experimental_ynn_fusion_type"

// mostSmall is the fraction of the work on products that must be on small matrices to keep products out of the library.
const mostSmall = .5

// XLA's CPU compiler has two emitters for loops. The newer one uses MLIR and makes an LLVM module for each loop. It
// compiles two to three times as long for code of the same speed: the smallest loop takes 14 ms of a core instead of 6
// ms. With the older emitter and without LLVM's loop unrolling, CartPole's first generation takes 0.5 s instead of 1.3
// s. But the older emitter cannot update a part of an array in place: it copies the whole array. So it is used if our
// own kernels make the updates (graph's lowering inserts them) or no large array is updated, and not for short loops
// (graph.WholeLoops).

// Extra options. loopThreshold turns every loop, of any size, into one function, except the loops that graph's lowering
// keeps apart (graph/lower_loops.go).
const (
	olderEmitters = "xla_cpu_disable_new_fusion_emitters"
	noUnrolling   = "xla_cpu_disable_loop_unrolling"
	loopThreshold = "xla_cpu_small_while_loop_byte_threshold=1000000000000000"
)

// A program with more single floats that are gathered, or with more operations in short inner loops, is compiled in
// another way. These are parts of all floats and operations.
const mostGathered, mostShortRows = .05, .4

// wholeLoops reports whether a lowered program is compiled with such options. unrolled: it is to get LLVM's unrolling,
// with which short loops are fast by the older emitters, too.
func (c *Client) wholeLoops(l *graph.Lowered, unrolled bool) bool {
	return l.Graph.WholeLoops(l.Target) ||
		unrolled && c.HasKernels() && !l.Graph.WritesParts(l.Target) && !l.Graph.TiledProducts()
}

// emitters returns the extra options for a program whose loops are functions. Programs that run alone are compiled
// another way: others gain less than it costs, and programs of populations must keep their bytes.
//
// LLVM unrolls the loops of those that run alone and gain from it (unrolled: graph.Unrolled), those with short axes,
// shifted arrays, windows and small products. Gathers of single floats that no kernel makes are faster with the newer
// emitters (docs/notes/language-speed.md).
func emitters(g *graph.Graph, alone, unrolled bool) string {
	switch {
	case g.TiledProducts() && alone && g.ShortRows() > mostShortRows:
		return olderEmitters + "," + loopThreshold + "," + tiledProducts
	case g.TiledProducts():
		return olderEmitters + "," + noUnrolling + "," + loopThreshold + "," + tiledProducts
	case alone && g.Gathered() > mostGathered:
		return "" // in loops that are one function, gathers take twice as long
	case unrolled:
		return olderEmitters + "," + loopThreshold
	}
	return olderEmitters + "," + noUnrolling + "," + loopThreshold
}

// tiledProducts are the extra options with which the compiler writes its own code for matrix products inside loops that
// are one function. The tile is rows x contracted x columns: 6 x 2 registers of sums fit into 16 registers. Calls of
// the library would be outside such loops, so the library is not used.
const tiledProducts = "xla_force_enable_experimental_llvm_ir_gemm=true,xla_llvm_ir_gemm_tile_size=6:4:2*vectwidth"

// disabledPasses is the option that lists the disabled compiler passes, separated by commas.
const disabledPasses = "xla_disable_hlo_passes"

// codegenSplit is the option for the number of LLVM modules that are compiled in parallel. Each module adds some cost.
const codegenSplit = "xla_cpu_parallel_codegen_split_count"

const mostModules = 8

// XLA reduces long axes in trees: three kernels, and three more for each level of the tree, where one would do. Only
// sums of floats gain by it, since they lose fewer digits. Their pass is disabled for programs that have nearly nothing
// but other reductions, and many of them, as a generation of NEAT (docs/notes/speed-on-cpu.md). Their long sums of
// floats must be so short that the digits hardly differ. XLA's library takes sums from 32,768 elements on, but not all:
// it depends on what they add up.
const (
	treeReductions = "tree_reduction_rewriter"
	manyReductions = 16
	mostOrderless  = .8
)

// orderless reports whether a program has many reductions, nearly all of which have the same result in any order.
func orderless(g *graph.Graph) bool {
	orderless, all, plain := g.OrderlessReductions()
	return plain && orderless >= manyReductions && float64(orderless) >= mostOrderless*float64(all) &&
		!g.TiledProducts()
}

// cudaDataDir is the option for the folder of CUDA's tools, ptxas and libdevice.
const cudaDataDir = "xla_gpu_cuda_data_dir"

// defaultOptions returns the compiler's options for any program. The caller's options override them.
func (c *Client) defaultOptions(o CompileOptions) map[string]any {
	options := map[string]any{}
	if c.Platform() == "cpu" {
		maps.Copy(options, cpuDefaults)
		if o.AllCores {
			options[disabledPasses] = ""
		}
	}
	if c.cudaData != "" {
		options[cudaDataDir] = c.cudaData
	}
	return options
}

// programOptions returns the compiler's options for a lowered program. The caller's options override them.
func (c *Client) programOptions(l *graph.Lowered, o CompileOptions) map[string]any {
	options := c.defaultOptions(o)
	if c.Platform() != "cpu" {
		return options
	}
	switch {
	case o.alone && l.Graph.SmallProducts() > mostSmall:
		options[libraryFusions] = "LIBRARY_FUSION_TYPE_REDUCE"
	case l.Graph.Uses("conv"):
		options[libraryFusions] = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
	}
	if orderless(l.Graph) {
		options[disabledPasses] = strings.Trim(fmt.Sprint(options[disabledPasses], ",", treeReductions), ",")
	}
	unrolled := o.alone && l.Graph.Unrolled()
	if c.wholeLoops(l, unrolled) {
		options[extraOptions] = emitters(l.Graph, o.alone, unrolled)
		options[codegenSplit] = min(runtime.NumCPU(), mostModules)
		if l.Graph.TiledProducts() {
			options[libraryFusions] = ""
		}
	}
	return options
}

// Target returns the target that programs are lowered for.
func (c *Client) Target() graph.Target {
	switch {
	case c.target != (graph.Target{}):
		return c.target
	case c.Platform() == "rocm":
		return graph.TargetCUDA // XLA has one compiler for GPUs, and nothing that is lowered for them is NVIDIA's
	}
	t := graph.Target{Platform: c.Platform(), BF16: c.BF16Method() != MethodNone, Int8: c.Int8Method() != MethodNone}
	if c.HasKernels() {
		t.Kernels = graph.WithKernels
	}
	return t
}
