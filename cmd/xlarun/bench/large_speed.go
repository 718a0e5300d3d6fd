package bench

import (
	"context"
	"fmt"
	"time"

	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// lowRankNeeded and lowRankAim are what a generation of low rank is to reach beside one of OpenES and beside plain inference.
var (
	lowRankBesideOpenES    = struct{ needed, aim float64 }{4, 10}
	lowRankBesideInference = struct{ needed, aim float64 }{.6, .95}
)

// lowRank times whole generations of eggroll and of openes and plain inference in turn: inference, eggroll, inference, openes. What
// counts are the medians of the ratios of processor time, which other work on the machine hardly moves; those by the clock stand beside.
func (b *bench) lowRank(ctx context.Context, size largeSize) ([]largeLine, error) {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return nil, err
	}
	defer func() { _ = backend.Close() }()
	var steps []func() error
	tiles := []int{}
	for _, strategy := range []string{"eggroll", "openes"} {
		c := size.config(strategy)
		c.Devices = b.flags.Devices
		e, err := b.newEngine(backend, c)
		if err != nil {
			return nil, err
		}
		defer func() { _ = e.Close() }()
		if tile, ok := e.Profile().Fact("tile").(int); ok {
			tiles = append(tiles, tile)
		}
		steps = append(steps, func() error { _, err := e.Step(); return err })
	}
	devices := b.flags.Devices
	if devices == 0 {
		devices = backend.NumDevices()
	}
	// Inference by the tiles that eggroll plays, and with all lanes of a device at once: the faster one counts.
	all := (size.population + devices - 1) / devices
	plain, err := fastestInference(backend, size, devices, append([]int{all}, tiles[:min(1, len(tiles))]...))
	if err != nil {
		return nil, err
	}
	defer plain.Close()
	steps = append([]func() error{plain.Run}, steps...)
	times := [3][]float64{}     // by the clock: inference, eggroll, openes
	ratios := [2][3][]float64{} // of processor time and by the clock: inference to eggroll, inference to openes, openes to eggroll
	for i := range b.flags.repeats + 1 {
		fmt.Fprintf(b.Out, "%s: repeat %d of %d\n", largeSpeedName, i, b.flags.repeats)
		var s [2][4]float64
		for at, which := range []int{0, 1, 0, 2} {
			start, used := time.Now(), b.processorTime(backend)
			if err := steps[which](); err != nil {
				return nil, err
			}
			s[0][at], s[1][at] = (b.processorTime(backend) - used).Seconds(), time.Since(start).Seconds()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		if i == 0 { // warms up
			continue
		}
		for by, s := range s {
			inference := (s[0] + s[2]) / 2
			for k, x := range []float64{inference / s[1], inference / s[3], s[3] / s[1]} {
				ratios[by][k] = append(ratios[by][k], x)
			}
		}
		for k, x := range []float64{(s[1][0] + s[1][2]) / 2, s[1][1], s[1][3]} {
			times[k] = append(times[k], x)
		}
	}
	line := func(name string, ours []float64, peer string, theirs []float64, ratio int, want struct{ needed, aim float64 }) largeLine {
		r, seconds := machine.Median(ratios[0][ratio]), machine.Median(theirs)
		l := largeLine{row: row{Name: name, Ours: machine.Median(ours), Peer: &peer, PeerSeconds: &seconds, Ratio: &r, Needed: want.needed, Aim: want.aim},
			ClockRatio: machine.Median(ratios[1][ratio])}
		l.note = fmt.Sprintf("%s: %.2f by the clock\n", name, l.ClockRatio)
		return l
	}
	lines := []largeLine{
		line(largeSpeedName+"-openes", times[1], "openes", times[2], 2, lowRankBesideOpenES),
		line(largeSpeedName+"-share", times[1], "inference", times[0], 0, lowRankBesideInference),
		line("openes-share", times[2], "inference", times[0], 1, struct{ needed, aim float64 }{}),
	}
	lines[0].note += fmt.Sprintf("%s: generations of %s and as many forward passes of one network, tiles of %v\n", largeSpeedName, size, tiles)
	return lines, nil
}

// inference is a program that passes observations of so many lanes through one network, step by step, on all devices.
type inference struct {
	program *xlabridge.Compiled
	args    []*graph.Array
}

// newInference compiles it: tiles of so many lanes, one after the other. What a network puts out moves its next observation a
// little, so that no step can be left out.
func newInference(b xlabridge.Backend, size largeSize, devices, lanes int) (*inference, error) {
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
		net := r.Policy.(policy.Sharer).PrepareShared(shared)
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
		return graph.While(func(l loop) *graph.Array { return graph.Lt(l.I, args[1].(*graph.Array)) }, func(l loop) loop {
			x := graph.Add(graph.Full(graph.ShapeOf(graph.Float32, lanes, width), .01), graph.Add(first, graph.Mul(l.Sum, 1e-6)))
			return loop{graph.Add(l.I, 1), graph.Add(l.Sum, tile(x))}
		}, loop{graph.Zeros(graph.ShapeOf(graph.Int32)), graph.Scalar(0)}).Sum
	})
	if err != nil {
		return nil, err
	}
	layout := plan.Plan{}
	if b.Backend() == "cpu" {
		layout.VectorWidth = plan.VectorWidth
	}
	i := &inference{}
	if i.program, err = b.Compile(p, layout.Compile()); err != nil {
		return nil, err
	}
	put, err := xlabridge.Put(b, devices, args)
	if err != nil {
		_ = i.program.Close()
		return nil, err
	}
	i.args = graph.Leaves(put)
	return i, nil
}

// Run passes all observations through.
func (i *inference) Run() error {
	out, err := i.program.Call(i.args)
	if err != nil {
		return err
	}
	defer xlabridge.Free(out)
	_, err = graph.Floats(out[0])
	return err
}

func (i *inference) Close() {
	xlabridge.Free(i.args)
	_ = i.program.Close()
}

// fastestInference is the inference that is fastest among those with so many lanes in a tile.
func fastestInference(b xlabridge.Backend, size largeSize, devices int, lanes []int) (*inference, error) {
	var best *inference
	least := 0.
	for _, n := range lanes {
		i, err := newInference(b, size, devices, n)
		if err != nil {
			return nil, err
		}
		seconds, err := plan.Fastest(0, func() bool { return false }, func() (float64, error) {
			start := time.Now()
			err := i.Run()
			return time.Since(start).Seconds(), err
		})
		if err != nil {
			return nil, err
		}
		if best == nil || seconds < least {
			if best != nil {
				best.Close()
			}
			best, least = i, seconds
			continue
		}
		i.Close()
	}
	return best, nil
}
