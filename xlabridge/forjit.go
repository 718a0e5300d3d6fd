package xlabridge

import "xlarun/graph"

const (
	// sharedArray is the smallest number of elements of an array for which Jit lets one CPU device use all cores.
	sharedArray = 1 << 20
	// sharedGrain and sharedWork are the smallest mean number of elements of an op, and of operations of a call, for
	// which Jit uses all cores for smaller arrays too. Starting and joining other threads takes some microseconds.
	// Smaller programs of bench jax take up to 1.5 times as long with all cores.
	sharedGrain, sharedWork = 1 << 15, 1e8
)

// ForJit returns the options with which Jit compiles a program. It uses all cores if there is enough work for each, and
// the faster code for products of small matrices.
func (o CompileOptions) ForJit(b Backend, p *graph.Program) CompileOptions {
	o.alone = true
	if b.NumDevices() == 1 {
		return o.ForOne(p)
	}
	return o
}

// ForOne returns the options for a program that runs on one device while the client's other devices are idle. It uses
// all cores if there is enough work for each. It changes no result.
func (o CompileOptions) ForOne(p *graph.Program) CompileOptions {
	if !o.AllCores {
		grain, work := p.Graph.Grain()
		o.AllCores = p.Graph.LargestArray() >= sharedArray || grain >= sharedGrain && work >= sharedWork
	}
	return o
}
