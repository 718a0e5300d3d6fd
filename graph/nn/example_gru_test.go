package nn_test

import (
	"fmt"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// The state of a gated recurrent unit goes from step to step.
func ExampleNewGRU() {
	cell := nn.NewGRU(random.New(42), 2, 3) // of 2 inputs and 3 units
	memory := cell.Step(cell.Start(), graph.Of([]float32{1, -1}))
	fmt.Println(memory.Shape(), memory.Abs().Lt(1).All())
	// Output: f32[3] bool[] true
}
