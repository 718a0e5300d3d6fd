package evolve

import (
	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Phases runs the parts of a generation as separate programs, "ask", "play" and "tell", each `repeats` times after a
// first one. The state does not change. In the whole program the parts share work and memory, so their sum may be more
// than the time of a generation.
func (e *Evolution) Phases(repeats int) (phases []run.Phase, err error) {
	now, err := e.State()
	if err != nil {
		return nil, err
	}
	p, state, in := e.program, now.(generation.State), e.setup.Inputs(e.program.Groups.PerDevice)
	measure := func(name string, args []any, f func(args []any) any) (out any) {
		if err == nil {
			var phase run.Phase
			out, phase, err = e.measure(name, repeats, args, f)
			phases = append(phases, phase)
		}
		return out
	}
	draws := measure("ask", []any{state, in}, func(a []any) any {
		return p.Ask(a[0].(generation.State), a[1].(generation.Inputs))
	})
	results := measure("play", []any{state, in, draws}, func(a []any) any {
		return p.Evaluate(a[0].(generation.State), a[1].(generation.Inputs), a[2])
	})
	next := measure("tell", []any{state, in, draws, results}, func(a []any) any {
		return p.Tell(a[0].(generation.State), a[1].(generation.Inputs), a[2], a[3].(generation.Results))
	})
	for _, tree := range []any{draws, results, next} {
		xlabridge.Free(tree)
	}
	if err != nil {
		return nil, err
	}
	return phases, nil
}

// measure compiles f and times its calls. It also returns the last results, on the devices.
func (e *Evolution) measure(name string, repeats int, args []any, f func(args []any) any) (any, run.Phase, error) {
	options := graph.TraceOptions{Replicas: e.program.Groups.Devices}
	traced, err := graph.TraceArgs("generation: "+name, args, options, f)
	if err != nil {
		return nil, run.Phase{}, err
	}
	compile := e.program.Rollout.Plan.Compile()
	compile.Purpose = "profile of " + e.config.Purpose()
	program, err := e.backend.Compile(traced, compile)
	if err != nil {
		return nil, run.Phase{}, err
	}
	defer func() { _ = program.Close() }()
	leaves := graph.Leaves(args)
	var out []*graph.Array
	phase, err := run.TimePhase(name, repeats, 1, func() (err error) {
		xlabridge.Free(out)
		out, err = program.Call(leaves)
		return err
	})
	if err != nil {
		return nil, phase, err
	}
	return traced.OutTree().Unflatten(out), phase, nil
}
