package xlabridge

import (
	"maps"
	"runtime"

	"xlarun/graph"
)

// cpuDefaults are compiler options for every program on CPU. A core is a device there: a program
// that split its own work over the cores as well would fight its neighbours for them. The pass is
// what splits loops over threads; only large matrix products still spread, over a pool of threads
// that all devices of the client share, and that does not change their results.
var cpuDefaults = map[string]any{
	"xla_cpu_multi_thread_eigen": false,
	disabledPasses:               "cpu-parallel-task-assigner",
	// By default the plugin's maxima and minima drop a NaN on one side, as the processor's instruction does.
	"xla_cpu_enable_fast_min_max": false,
}

// libraryFusions lists what XLA hands to its library of kernels, by itself products, sums and convolutions.
// Convolutions run a quarter slower there than on the path they take otherwise. So do products of small matrices:
// thousands of 8 x 8 to 32 x 32 take 1.1 to 2 times as long, a single one of 32 x 32 twice as long, while from 48 x 48
// on the library needs 0.6 to 0.9 of the time. Most of a program's work on products decides (mostSmall), in programs
// that run alone: those of populations, which are resumed to the byte, stay as they were.
const libraryFusions = "xla_cpu_experimental_ynn_fusion_type"

// mostSmall is the part of the work on products from which on none is handed to the library.
const mostSmall = .5

// XLA's CPU compiler has two ways to write the code of a loop. The newer goes through MLIR and gives each loop a module
// of its own to LLVM; it takes two to three times as long for code of the same speed: the smallest costs 14 ms of a
// core, against 6. With the older, and with LLVM's loop unrolling off, CartPole's first generation comes in 0.5 instead
// of 1.3 s. But the older has lost the way to write into a part of an array in place: it copies the whole array each
// time. So it is used where kernels of our own do that (graph's lowering sees to it), or nothing large is written to in
// part; and not where loops are short (graph.WholeLoops).

// olderEmitters are the extra options that choose the older way, and that make one function of every loop that graph's
// lowering does not keep apart (graph/lower_loops.go), however large.
const olderEmitters = "xla_cpu_disable_new_fusion_emitters,xla_cpu_disable_loop_unrolling," +
	"xla_cpu_small_while_loop_byte_threshold=1000000000000000"

// tiledProducts are the extra options by which products of matrices are computed by code of the compiler's own, inside
// of loops that are one function, in tiles of rows x contracted x columns: 6 x 2 registers of sums are what 16
// registers hold. What is handed to the library stays outside of such loops, so nothing is.
const tiledProducts = "xla_force_enable_experimental_llvm_ir_gemm=true,xla_llvm_ir_gemm_tile_size=6:4:2*vectwidth"

// disabledPasses is the option with the compiler's passes that are left out, between commas.
const disabledPasses = "xla_disable_hlo_passes"

// codegenSplit is the option with the number of LLVM modules that the loops are put into, which are compiled in
// parallel. Each has a cost of its own.
const codegenSplit = "xla_cpu_parallel_codegen_split_count"

const mostModules = 8

// defaultOptions are the compiler's options for any program, before the caller's.
func (c *Client) defaultOptions(o CompileOptions) map[string]any {
	options := map[string]any{}
	if c.Platform() == "cpu" {
		maps.Copy(options, cpuDefaults)
		if o.AllCores {
			options[disabledPasses] = ""
		}
	}
	if c.cudaData != "" {
		options["xla_gpu_cuda_data_dir"] = c.cudaData
	}
	return options
}

// programOptions are the compiler's options for a lowered program, before the caller's.
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
	if l.Graph.WholeLoops(l.Target) {
		options[extraOptions] = olderEmitters
		options[codegenSplit] = min(runtime.NumCPU(), mostModules)
		if l.Graph.TiledProducts() {
			options[extraOptions] = olderEmitters + "," + tiledProducts
			options[libraryFusions] = ""
		}
	}
	return options
}

// Target is what programs are lowered for on this client.
func (c *Client) Target() graph.Target {
	switch {
	case c.target != "":
		return c.target
	case c.HasKernels():
		return graph.TargetCPUKernels
	}
	return graph.Target(c.Platform())
}
