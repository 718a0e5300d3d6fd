package xlabridge_test

import (
	"context"
	"fmt"
	"log"

	"xlarun/graph"
	"xlarun/xlabridge"
	"xlarun/xlabridge/topology"
)

// A client compiles a function at its first call, and keeps the program for the next start of the process.
func Example() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	cumulative := xlabridge.Jit(client, func(x *graph.Array) *graph.Array { return graph.CumSum(x, 0) })
	sums, err := cumulative(graph.Of([]float32{1, 2, 3}))
	fmt.Println(sums, err)
	// Output: f32[3] {1 3 6} <nil>
}

// A topology compiles for devices that are not there. Calling the program is an error, but its kernels, its memory and
// an estimate of its time are known.
func Example_topology() {
	h100, err := topology.Parse("h100")
	if err != nil {
		log.Fatal(err)
	}
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{Backend: h100.Backend, Topology: &h100,
		NoCache: true}) // a program from the cache has no list of kernels
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	softmax := func(x *graph.Array) *graph.Array { return graph.Softmax(x, 0) }
	program, err := graph.Trace("softmax", softmax, graph.Abstract(graph.ShapeOf(graph.Float32, 1024)))
	if err != nil {
		log.Fatal(err)
	}
	compiled, err := client.Compile(program, xlabridge.CompileOptions{})
	if err != nil {
		log.Fatal(err)
	}
	loops, err := compiled.Executable.Loops()
	if err != nil {
		log.Fatal(err)
	}
	for _, loop := range loops {
		for _, kernel := range loop.Kernels {
			fmt.Println(loop.Name, kernel.Name, kernel.Opcode, kernel.Bytes, "bytes")
		}
	}
}
