// Package gradbench holds the learning workloads of xlarun bench grad: the value and gradient of small networks, from
// numbers that another program can make too, so that results can be compared as well as times.
package gradbench

import (
	"xlarun/graph"
)

// Workload is a function and its arguments.
type Workload struct {
	Name string
	What string // what is computed
	Loop bool   // gradients are taken inside a loop
	// Flops is the operations of products alone. Inputs of the first layer have no gradient.
	Flops float64
	// Args are the arguments: concrete arrays, in trees.
	Args func() []any
	// Apply maps the arguments to a Result.
	Apply func(args []any) any
}

// Result of a workload: a loss (of several minibatches: the mean of theirs) and a tree of gradients or new parameters.
type Result struct {
	Loss   *graph.Array // scalar
	Values any
}

// All lists the workloads.
func All() []Workload { return []Workload{mlp, cnn, cnnScan, gru} }
