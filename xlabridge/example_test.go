package xlabridge_test

import (
	"context"
	"fmt"
	"log"

	"xlarun/graph"
	"xlarun/xlabridge"
)

// A client compiles a function at its first call, and keeps the program for the next start of the process.
func Example() {
	client, err := xlabridge.Open(context.Background(), xlabridge.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	cumulative := xlabridge.Jit1(client, func(x *graph.Array) *graph.Array { return graph.CumSum(x, 0) })
	sums, err := cumulative(graph.Of([]float32{1, 2, 3}))
	fmt.Println(sums, err)
	// Output: f32[3] {1 3 6} <nil>
}
