package bench

import (
	"fmt"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// newInference compiles a program that passes observations through one network, on all devices: tiles of so many lanes,
// one after the other. An output moves the next observation a little, so that no step can be left out.
func newInference(b xlabridge.Backend, size largeSize, devices, lanes int) (*Runner, error) {
	c := size.config("eggroll")
	r, err := c.Rollout()
	if err != nil {
		return nil, err
	}
	var params any
	if err := graph.Try(func() { params = r.Policy.Init(random.New(1)) }); err != nil {
		return nil, err
	}
	tiles := (size.population + devices*lanes - 1) / (devices * lanes)
	args := []any{params, graph.Of(int32(tiles))}
	in := len(r.Env.Spec().Observation.Shape().Dims)
	if in != 1 {
		return nil, fmt.Errorf("inference wants observations that are vectors, not of %d axes", in)
	}
	width := r.Env.Spec().Observation.Shape().Dims[0]
	p, err := graph.TraceArgs("plain inference", args, graph.TraceOptions{Replicas: devices}, func(args []any) any {
		shared := policy.Shared{Params: args[0], Factors: make([]policy.Factors, len(graph.Leaves(args[0])))}
		net := r.Policy.Traits().Prepared.Shared(shared)
		tile := func(x *graph.Array) *graph.Array {
			end, _ := graph.Scan(func(x, t *graph.Array) (*graph.Array, graph.None) {
				return graph.VMap(func(x *graph.Array) *graph.Array {
					_, out := r.Policy.Act(net, graph.None{}, x, random.New(0))
					return graph.Mul(graph.Add(x, graph.Index(out.Action, 0)), .99)
				})(x), graph.None{}
			}, x, graph.Iota(size.steps))
			return graph.Sum(end)
		}
		type loop struct{ I, Sum *graph.Array }
		first := graph.Convert(graph.AxisIndex(graph.DeviceAxis), graph.Float32)
		return graph.While(func(l loop) *graph.Array {
			return graph.Lt(l.I, args[1].(*graph.Array))
		}, func(l loop) loop {
			x := graph.Add(graph.Full(graph.ShapeOf(graph.Float32, lanes, width), .01),
				graph.Add(first, graph.Mul(l.Sum, 1e-6)))
			return loop{graph.Add(l.I, 1), graph.Add(l.Sum, tile(x))}
		}, loop{graph.Scalar(0, graph.Int32), graph.Scalar(0)}).Sum
	})
	if err != nil {
		return nil, err
	}
	layout := plan.Plan{}
	if b.Backend() == "cpu" {
		layout.VectorWidth = plan.VectorWidth
	}
	program, err := b.Compile(p, layout.Compile())
	if err != nil {
		return nil, err
	}
	return neurobench.NewProgram(b, devices, program, args)
}
