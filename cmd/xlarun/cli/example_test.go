package cli_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"xlarun/cmd/xlarun/cli"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

// Corridor is an environment of one's own: walk from the middle of a corridor to its right end.
type Corridor struct{}

func (Corridor) Spec() envs.Spec {
	return envs.Spec{ID: "Corridor-v0", Observation: envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1},
		DType: graph.Float32},
		Action: envs.Discrete{N: 2}, MaxSteps: 20, RewardThreshold: 0.5}
}

func (Corridor) DefaultParams() graph.None { return graph.None{} }

func (Corridor) Reset(random.Key, graph.None) (state, obs *graph.Array) {
	return graph.Scalar(0), graph.Zeros(graph.ShapeOf(graph.Float32, 1))
}

func (Corridor) Observe(x *graph.Array, _ graph.None) *graph.Array { return graph.Reshape(x, 1) }

func (c Corridor) Step(_ random.Key, x, action *graph.Array,
	_ graph.None) (next, obs, reward, terminated, truncated *graph.Array) {
	next = graph.Add(x, graph.Select(graph.Gt(action, 0), 0.25, -0.25))
	terminated = graph.Ge(graph.Abs(next), 1)
	return next, c.Observe(next, graph.None{}), graph.Select(graph.Ge(next, 1), 1., 0.), terminated,
		graph.Scalar(false)
}

var once sync.Once // examples may run again: go test -count=2

// A main function of one's own: what it registers, every command knows. Instead of Run it would call cli.Main().
func Example() {
	once.Do(func() { envs.MustRegister(Corridor{}) })
	status := cli.Run(context.Background(), strings.Fields("evolve Corridor-v0 --backend reference --policy mlp:4 "+
		"--pop 16 --steps 8 --generations 20 --out none"), cli.Streams{Out: io.Discard, Err: os.Stdout})
	fmt.Println("status", status)
	// Output: status 0
}
