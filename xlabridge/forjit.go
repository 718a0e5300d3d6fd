package xlabridge

import "xlarun/graph"

const (
	// sharedArray is the smallest number of elements of an array for which Jit lets one CPU device use all cores.
	sharedArray = 1 << 20
	// sharedGrain is the smallest mean number of elements of an op for which smaller arrays use all cores, too.
	// Starting and joining other threads takes some microseconds.
	sharedGrain = 1 << 15
	// jitWork and sharedWork are the smallest number of operations of a call for that: of a program of Jit, and of
	// others. Of 101 programs of bench generic, those of fewer operations than jitWork took up to twice as long with
	// all cores, those of more 0.64 to 1.05 of the time.
	jitWork, sharedWork = 1e7, 1e8
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
		least := sharedWork
		if o.alone {
			least = jitWork
		}
		grain, work := p.Graph.Grain()
		o.AllCores = p.Graph.LargestArray() >= sharedArray || grain >= sharedGrain && work >= least
	}
	return o
}
