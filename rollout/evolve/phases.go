package evolve

import (
	"slices"
	"time"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Phases runs the parts of a generation as programs of their own, "ask", "play" and "tell", each `repeats` times after
// a first one. The state stays as it is. In the whole program the parts share work and memory, so their sum may be more
// than the time of a generation.
func (e *Evolution) Phases(repeats int) (phases []run.Phase, err error) {
	now, err := e.State()
	if err != nil {
		return nil, err
	}
	p, state, in := e.program, now.(generation.State), e.setup.Inputs(e.program.Groups.PerDevice)
	measure := func(name string, f func(s generation.State, in generation.Inputs, more []any) any, more ...any) any {
		if err != nil {
			return nil
		}
		var out any
		var phase run.Phase
		args := append([]any{state, in}, more...)
		out, phase, err = e.measure(name, repeats, args, func(a []any) any {
			return f(a[0].(generation.State), a[1].(generation.Inputs), a[2:])
		})
		phases = append(phases, phase)
		return out
	}
	draws := measure("ask", func(s generation.State, in generation.Inputs, _ []any) any { return p.Ask(s, in) })
	results := measure("play", func(s generation.State, in generation.Inputs, more []any) any {
		return p.Evaluate(s, in, more[0])
	}, draws)
	next := measure("tell", func(s generation.State, in generation.Inputs, more []any) any {
		return p.Tell(s, in, more[0], more[1].(generation.Results))
	}, draws, results)
	for _, tree := range []any{draws, results, next} {
		xlabridge.Free(tree)
	}
	if err != nil {
		return nil, err
	}
	return phases, nil
}

// measure compiles f and calls it; it returns the last results, on the devices, and the times.
func (e *Evolution) measure(name string, repeats int, args []any, f func(args []any) any) (any, run.Phase, error) {
	phase := run.Phase{Name: name}
	options := graph.TraceOptions{Replicas: e.program.Groups.Devices}
	traced, err := graph.TraceArgs("generation: "+name, args, options, f)
	if err != nil {
		return nil, phase, err
	}
	compile := e.program.Rollout.Plan.Compile()
	compile.Purpose = "profile of " + e.config.Purpose()
	program, err := e.backend.Compile(traced, compile)
	if err != nil {
		return nil, phase, err
	}
	defer func() { _ = program.Close() }()
	leaves := graph.Leaves(args)
	out, err := program.Call(leaves)
	if err != nil {
		return nil, phase, err
	}
	seconds := make([]float64, repeats)
	for i := range seconds {
		xlabridge.Free(out)
		start := time.Now()
		if out, err = program.Call(leaves); err != nil {
			return nil, phase, err
		}
		seconds[i] = time.Since(start).Seconds()
	}
	slices.Sort(seconds)
	phase.Seconds, phase.Best = (seconds[(repeats-1)/2]+seconds[repeats/2])/2, seconds[0]
	return traced.OutTree().Unflatten(out), phase, nil
}
