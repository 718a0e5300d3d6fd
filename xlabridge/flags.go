package xlabridge

import (
	"maps"
	"runtime"
	"strings"

	"xlarun/graph"
	"xlarun/graph/lower"
	"xlarun/xlabridge/kernels"
)

// cpuDefaults are the compiler options of every program on CPU. Large matrix products use a pool of threads, which all
// devices of the client share, in any case. It has a thread for each core, and for each device if these are more.
// Lowering keeps products from the library whose results depend on their number (graph/ops_dot_library.go).
var cpuDefaults = map[string]any{
	"xla_cpu_multi_thread_eigen": false,
	// The plugin's default drops a NaN on one side of a maximum or minimum, as the processor's instruction does.
	"xla_cpu_enable_fast_min_max": false,
}

// Names of options and extra options of XLA.
const (
	libraryFusions = "xla_cpu_experimental_ynn_fusion_type"
	olderEmitters  = "xla_cpu_disable_new_fusion_emitters"
	noUnrolling    = "xla_cpu_disable_loop_unrolling"
	// loopThreshold turns every loop, of any size, into one function, except the loops that lowering keeps apart.
	loopThreshold = "xla_cpu_small_while_loop_byte_threshold=1000000000000000"
	// tiledProducts is rows x contracted x columns: 6 x 2 registers of sums fit into 16 registers.
	tiledProducts = "xla_force_enable_experimental_llvm_ir_gemm=true,xla_llvm_ir_gemm_tile_size=6:4:2*vectwidth"
	// reloads is an option of LLVM, for the program that has it only. LLVM ends the process if it does not know an
	// option, but has had this one for longer than PJRT has had plugins.
	reloads = "--enable-load-in-loop-pre=false"
	// disabledPasses lists compiler passes, separated by commas.
	disabledPasses = "xla_disable_hlo_passes"
	// taskAssigner splits loops over the cores.
	taskAssigner   = "cpu-parallel-task-assigner"
	treeReductions = "tree_reduction_rewriter"
	// codegenSplit is the number of LLVM modules that are compiled in parallel. Each module adds some cost.
	codegenSplit = "xla_cpu_parallel_codegen_split_count"
	mostModules  = 8
)

// setCodegen adds the options for a decision of the policy.
func setCodegen(options map[string]any, g lower.Codegen) {
	var passes, extra []string
	if !g.AllCores {
		passes = append(passes, taskAssigner)
	}
	if g.NoTrees {
		passes = append(passes, treeReductions)
	}
	options[disabledPasses] = strings.Join(passes, ",")
	if g.WholeLoops {
		extra = append(extra, olderEmitters)
		if !g.Unroll {
			extra = append(extra, noUnrolling)
		}
		extra = append(extra, loopThreshold)
	}
	if g.Tiles {
		extra = append(extra, tiledProducts)
	}
	if g.Reloads {
		extra = append(extra, reloads)
	}
	if len(extra) > 0 {
		options[extraOptions] = strings.Join(extra, ",")
	}
	if g.Modules {
		options[codegenSplit] = min(runtime.GOMAXPROCS(0), mostModules)
	}
	switch {
	case g.Tiles:
		options[libraryFusions] = ""
	case g.NoLibraryConv:
		options[libraryFusions] = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
	}
}

// cudaDataDir is the option for the folder of CUDA's tools, ptxas and libdevice.
const cudaDataDir = "xla_gpu_cuda_data_dir"

// defaultOptions returns the compiler's options for any program. The caller's options override them.
func (c *Client) defaultOptions(o CompileOptions) map[string]any {
	return c.codegenOptions(lower.Codegen{AllCores: o.AllCores})
}

// programOptions returns the compiler's options for a lowered program. The caller's options override them.
func (c *Client) programOptions(l *lower.Lowered, o CompileOptions) map[string]any {
	g, _ := l.Facts.Codegen(o.use())
	return c.codegenOptions(g)
}

func (c *Client) codegenOptions(g lower.Codegen) map[string]any {
	options := map[string]any{}
	if c.Platform() == "cpu" {
		maps.Copy(options, cpuDefaults)
		setCodegen(options, g)
	}
	if c.cudaData != "" {
		options[cudaDataDir] = c.cudaData
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
	t := graph.Target{Platform: c.Platform(), BF16: c.BF16Method() != "", Int8: c.Int8Method() != ""}
	if c.HasKernels() {
		t.Kernels, t.NoNormals = graph.WithKernels, len(kernels.VectorSets()) < 2
	}
	return t
}
