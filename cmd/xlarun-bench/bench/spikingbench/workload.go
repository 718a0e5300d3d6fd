// Package spikingbench has the workloads of xlarun bench spiking: networks of LIF neurons. The peers use the same
// inputs, so results can be compared as well as times.
package spikingbench

import (
	"context"
	"fmt"
	"math"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun-bench/bench/numbers"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/rollout/population"
	"xlarun/xlabridge"
)

// Workload is one comparison.
type Workload struct {
	Name, What string
	Args       []string // of spiking_jax.py, after the peer's name
	Peers      []Peer
	Work       float64 // of a run: steps of all members and examples
	Open       func(ctx context.Context, b xlabridge.Backend, o neurobench.Options) (*neurobench.Runner, error)
}

// Peer is a library to compare with.
type Peer struct {
	Name string // argument of spiking_jax.py
	Same bool   // it computes the same numbers as ours
}

// Sizes of the network, and its steps.
const (
	inputs, hidden1, hidden2, outputs = 64, 128, 64, 4

	steps   = 100
	members = 64
)

// peers have the workloads of networks. BrainPy's LIF resets in another step, so its numbers differ.
var peers = []Peer{{"spyx", true}, {"jax", true}, {"brainpy", false}}

// All lists the workloads.
func All() []Workload {
	return []Workload{
		forward("members", 1),
		forward("batches", 64),
		gradient("gradient", 64),
		forage("forage", 1024, 500, 8, "32,16"),
	}
}

// net is the weights of a network. Its cells have no parameters here.
type net struct{ A, B, C *graph.Array } // [inputs, hidden1], [hidden1, hidden2], [hidden2, outputs]

// newNet makes a network, or many with leading axes.
func newNet(lead ...int) net {
	weights := func(seed uint32, in, out int) *graph.Array {
		// uniform, with the variance 1/in
		return numbers.Uniform(seed, math.Sqrt(3/float64(in)), append(append([]int{}, lead...), in, out)...)
	}
	return net{weights(1, inputs, hidden1), weights(2, hidden1, hidden2), weights(3, hidden2, outputs)}
}

// charge is the carry of a network: the potentials of each layer, [examples, units].
type charge struct{ A, B, C *graph.Array }

// apply maps trains x [steps, examples, inputs] to the sum over time of the readout [examples, outputs]. Layers run one
// after the other along chunks of time.
func (n net) apply(x *graph.Array, chunk int) *graph.Array {
	beta, one := graph.Scalar(.9), graph.Scalar(1)
	a, b, c := nn.LIF{Beta: beta, Threshold: one}, nn.LIF{Beta: beta, Threshold: one}, nn.LI{Beta: beta}
	rest := func(units int) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, x.Dim(1), units)) }
	_, read := nn.InChunks(chunk, func(s charge, x *graph.Array) (charge, *graph.Array) {
		s.A, x = a.Apply(s.A, graph.SparseDot(x, n.A))
		s.B, x = b.Apply(s.B, graph.SparseDot(x, n.B))
		s.C, x = c.Apply(s.C, graph.SparseDot(x, n.C))
		return s, x
	}, charge{rest(hidden1), rest(hidden2), rest(outputs)}, x)
	return graph.Sum(read, 0)
}

// trains are inputs [steps, examples, inputs] that spike in three steps of ten.
func trains(examples int) *graph.Array { return numbers.Spikes(4, .3, steps, examples, inputs) }

// forward is a population of networks, each on the same batch of examples.
func forward(name string, examples int) Workload {
	return Workload{
		Name: name, What: fmt.Sprintf("forward, %d-%d-%d-%d LIF, %d steps, %d networks, batch %d", inputs, hidden1,
			hidden2, outputs, steps, members, examples),
		Args: []string{"forward", fmt.Sprint(members), fmt.Sprint(examples), fmt.Sprint(steps)}, Peers: peers,
		Work: float64(members * examples * steps),
		Open: func(_ context.Context, b xlabridge.Backend, o neurobench.Options) (*neurobench.Runner, error) {
			lanes, chunk := 8, 50
			if examples > 1 { // the products of one network are large enough
				lanes, chunk = 1, 10
			}
			tiles := population.CutTiles(members, lanes, o.Devices)
			nets := newNet(tiles.Total(), lanes)
			return open(b, o.Devices, []any{nets, trains(examples), tiles.Count()}, func(args []any) any {
				nets, x := args[0].(net), args[1].(*graph.Array)
				tile := func(local *graph.Array) *graph.Array {
					mine := population.At(nets, graph.Add(tiles.First(), local))
					return graph.VMap(func(n net) *graph.Array { return n.apply(x, chunk) })(mine)
				}
				rows := population.Each(tiles, args[2].(*graph.Array), tiles.Rows(graph.Float32, lanes, examples,
					outputs), tile)
				return graph.Mean(graph.Abs(tiles.Gather(rows)))
			})
		},
	}
}

// gradient is the value and gradient of one network's cross-entropy, each device with its part of the batch.
func gradient(name string, examples int) Workload {
	return Workload{
		Name: name, What: fmt.Sprintf("value and gradient, %d-%d-%d-%d LIF, %d steps, batch %d", inputs, hidden1,
			hidden2, outputs, steps, examples),
		Args: []string{"gradient", fmt.Sprint(examples), fmt.Sprint(steps)}, Peers: peers,
		Work: float64(examples * steps),
		Open: func(_ context.Context, b xlabridge.Backend, o neurobench.Options) (*neurobench.Runner, error) {
			if examples%o.Devices != 0 {
				o.Devices = 1
			}
			labels := numbers.Classes(5, outputs, examples)
			return open(b, o.Devices, []any{newNet(), trains(examples), labels}, func(args []any) any {
				part := examples / o.Devices
				start := graph.Mul(graph.AxisIndex(graph.DeviceAxis), part)
				zero := graph.Scalar(0, graph.Int32)
				x := graph.DynamicSlice(args[1].(*graph.Array), []*graph.Array{zero, start, zero},
					[]int{steps, part, inputs})
				y := graph.DynamicSlice(args[2].(*graph.Array), []*graph.Array{start}, []int{part})
				loss, d := graph.ValueAndGrad(func(n net) *graph.Array {
					return graph.Mean(graph.VMap2(nn.CrossEntropy)(n.apply(x, steps), y))
				})(args[0].(net))
				mean := func(a *graph.Array) *graph.Array { return graph.PMean(a, graph.DeviceAxis) }
				return []any{mean(loss), graph.MapTree(mean, d)}
			})
		},
	}
}

// forage is a population that plays Forage-L0 by the policy spiking.
func forage(name string, members, steps, substeps int, hidden string) Workload {
	return Workload{
		Name: name, What: fmt.Sprintf("Forage-L0-v1, %d x spiking:%s, %d steps of %d substeps", members, hidden, steps,
			substeps),
		Args: []string{"forage", fmt.Sprint(members), fmt.Sprint(steps), fmt.Sprint(substeps), hidden}, Peers: []Peer{
			{Name: "jax"}},
		Work: float64(members * steps),
		Open: func(ctx context.Context, b xlabridge.Backend, o neurobench.Options) (*neurobench.Runner, error) {
			c := neurobench.Experiment("Forage-L0-v1", "spiking:"+hidden, members, steps, o)
			return neurobench.OpenPlay(ctx, b, c.With("policy.substeps", substeps))
		},
	}
}

// open compiles a function of args, whose first result is a number.
func open(b xlabridge.Backend, devices int, args []any, f func(args []any) any) (*neurobench.Runner, error) {
	p, err := graph.TraceArgs("spiking", args, graph.TraceOptions{Replicas: devices}, f)
	if err != nil {
		return nil, err
	}
	program, err := b.Compile(p, xlabridge.CompileOptions{Replicas: devices, Purpose: "bench spiking", NoCache: true})
	if err != nil {
		return nil, err
	}
	return neurobench.NewProgram(b, devices, program, args)
}
