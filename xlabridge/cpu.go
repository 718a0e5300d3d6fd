package xlabridge

import (
	"maps"
	"strings"
)

// cpuDefaults are compiler options for every program on CPU. A core is a device there: a program
// that split its own work over the cores as well would fight its neighbours for them. The pass is
// what splits loops over threads; only large matrix products still spread, over a pool of threads
// that all devices of the client share, and that does not change their results.
var cpuDefaults = map[string]any{
	"xla_cpu_multi_thread_eigen": false,
	"xla_disable_hlo_passes":     "cpu-parallel-task-assigner",
	// By default the plugin's maxima and minima drop a NaN on one side, as the processor's instruction does.
	"xla_cpu_enable_fast_min_max": false,
}

// libraryFusions lists what XLA hands to its library of kernels. By itself it hands convolutions
// over too, which run a quarter slower there than on the path they take otherwise.
const libraryFusions = "xla_cpu_experimental_ynn_fusion_type"

// forCPU is a program in graph's StableHLO as XLA's CPU compiler likes it best, and the compiler's options before the
// caller's. kernels tells that programs can call kernels of our own.
func forCPU(program string, allCores, kernels bool) (string, map[string]any) {
	o := maps.Clone(cpuDefaults)
	if allCores {
		o["xla_disable_hlo_passes"] = ""
	}
	// A convolution wakes oneDNN in any case.
	if strings.Contains(program, "stablehlo.convolution") {
		o[libraryFusions] = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
	} else if kernels {
		program = turnDots(program)
	}
	if kernels {
		var choice map[string]any
		program, choice = chooseEmitters(leaveUnset(program))
		maps.Copy(o, choice)
	}
	return program, o
}
