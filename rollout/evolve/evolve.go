// Package evolve runs evolution strategies over populations of policies: one generation is one compiled program.
package evolve

import (
	"errors"
	"time"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// Profile says what the compiled program is and where it came from.
type Profile struct {
	TraceSeconds    float64     `json:"trace_seconds"`
	CompileSeconds  float64     `json:"compile_seconds"`
	Cache           string      `json:"cache"`
	CacheReason     string      `json:"cache_reason,omitempty"`
	PeakMemoryBytes int64       `json:"peak_memory_bytes"` // what the program needs of one device; 0 where the backend does not say
	Devices         int         `json:"devices"`
	Tile            int         `json:"tile"`  // members that run together on a device
	Tiles           int         `json:"tiles"` // of all devices, padding included
	LanesLast       bool        `json:"lanes_last"`
	Unroll          int         `json:"unroll"`
	Plan            string      `json:"plan"`                   // the layout in words
	PlanSource      string      `json:"plan_source"`            // "static", "given", "tuned" or "stored"
	PlanReason      string      `json:"plan_reason,omitempty"`  // why no plan was read or stored, where one should have been
	TuneSeconds     float64     `json:"tune_seconds,omitempty"` // spent on measuring plans
	PlansTried      []TriedPlan `json:"plans_tried,omitempty"`
	PlannedBytes    int64       `json:"planned_memory_bytes"` // the plan's estimate for the run's arrays on all devices
	MemoryBudget    int64       `json:"memory_budget_bytes"`  // what they may take; 0: not known
	NoiseRedrawn    bool        `json:"noise_redrawn"`        // noise was not kept for tell, to save memory
	Parameters      int         `json:"parameters"`
}

// Evolution is a run: a compiled generation and its state on the devices. It is not for use by several goroutines at a
// time.
type Evolution struct {
	config     Config
	spec       envs.Spec
	backend    xlabridge.Backend
	generation *generation
	program    *xlabridge.Compiled
	stateTree  *graph.Tree
	state      []*graph.Array // on the devices
	inputs     []*graph.Array
	profile    Profile
	done       int
	last       Metrics
}

// errNoState is what calls get after Close, or after a generation that failed and took the donated state with it.
var errNoState = errors.New("evolve: the run was closed, or a generation failed: make a new one")

// New checks the config, chooses the plan, traces one generation, compiles it for b (through the cache) and puts the first
// state on the devices.
func New(b xlabridge.Backend, c Config) (*Evolution, error) {
	plan, chosen, err := planFor(b, c)
	if err != nil {
		return nil, err
	}
	e, err := build(b, plan)
	if err != nil {
		return nil, err
	}
	// The compiler knows better than the estimate. Where it is held against a budget that somebody gave, noise is drawn
	// again in place of kept, which changes no result.
	total := e.profile.PeakMemoryBytes * int64(e.profile.Devices)
	if budget := plan.config.Memory; budget > 0 && total > budget {
		_ = e.Close()
		if plan.redraw {
			return nil, plan.tooLargeCompiled(total)
		}
		plan.mustRedraw = true
		if err := plan.fit(budget); err != nil {
			return nil, err
		}
		if e, err = build(b, plan); err != nil {
			return nil, err
		}
		if total = e.profile.PeakMemoryBytes * int64(e.profile.Devices); total > budget {
			_ = e.Close()
			return nil, plan.tooLargeCompiled(total)
		}
	}
	e.profile.TuneSeconds, e.profile.PlanReason, e.profile.PlansTried = chosen.Seconds, chosen.Reason, chosen.Tried
	return e, nil
}

// generation is what of a plan is traced.
func (p *plan) generation() *generation {
	return &generation{rollout: p.rollout(), strategy: p.strategy, groups: p.groups, redraw: p.redraw, deviceKeys: p.config.Keys == KeysDevice}
}

// build traces and compiles a plan and puts its first state on the devices.
func build(b xlabridge.Backend, plan *plan) (*Evolution, error) {
	e := &Evolution{config: plan.config, spec: plan.env.Spec(), backend: b}
	g := plan.generation()
	e.generation = g
	var first State
	in := inputs{plan.config.settings(), graph.Of(int32(plan.groups.PerDevice))}
	err := graph.Try(func() {
		g.layout = rollout.LayoutOf(plan.policy.Init(random.New(0)))
		first = g.start(random.New(plan.config.Seed), in.Settings)
	})
	if err != nil {
		return nil, err
	}
	p, err := graph.TraceArgs("generation", []any{first, in}, graph.TraceOptions{Replicas: plan.groups.Devices, Donate: []int{0}},
		func(args []any) any {
			next, results := g.run(args[0].(State), args[1].(inputs))
			return []any{next, results}
		})
	if err != nil {
		return nil, err
	}
	options := plan.layout.Compile()
	options.Purpose = plan.config.Purpose()
	if e.program, err = b.Compile(p, options); err != nil {
		return nil, err
	}
	planned, _ := plan.memory()
	e.profile = Profile{TraceSeconds: p.TraceSeconds, Cache: xlabridge.CacheOff, Devices: plan.groups.Devices,
		Tile: plan.layout.Tile, Tiles: plan.groups.Total(), LanesLast: plan.layout.LanesLast, Unroll: plan.layout.Unroll,
		Plan: plan.layout.String(), PlanSource: plan.source, PlannedBytes: planned, MemoryBudget: plan.on.free,
		NoiseRedrawn: plan.redraw, Parameters: g.layout.Size()}
	if x := e.program.Executable; x != nil {
		info := x.Info()
		e.profile.CompileSeconds, e.profile.Cache, e.profile.CacheReason = info.Seconds, info.Cache, info.Reason
		if m, err := x.Memory(); err == nil {
			e.profile.PeakMemoryBytes = m.Total()
		}
	}
	if first, err = xlabridge.Put(b, plan.groups.Devices, first); err == nil {
		in, err = xlabridge.Put(b, plan.groups.Devices, in)
	}
	if err != nil {
		_ = e.program.Close()
		return nil, err
	}
	e.state, e.stateTree = graph.Flatten(first)
	e.inputs = graph.Leaves(in)
	return e, nil
}

// Step runs one generation: one call of the compiled program.
func (e *Evolution) Step() (Metrics, error) {
	start := time.Now()
	if e.state == nil {
		return Metrics{}, errNoState
	}
	args := append(append([]*graph.Array(nil), e.state...), e.inputs...)
	out, err := e.program.Call(args)
	if err != nil {
		e.state = nil // donated: it is gone
		return Metrics{}, err
	}
	n := len(e.state)
	e.state = out[:n]
	v, err := graph.Floats(out[n])
	if err != nil {
		return Metrics{}, err
	}
	xlabridge.Free(out[n])
	e.done++
	m := measure(v[:len(v)/2], v[len(v)/2:])
	m.Generation = e.done
	m.BestEver = m.BestFitness
	if e.done > 1 {
		m.BestEver = max(m.BestFitness, e.last.BestEver)
	}
	c := e.config
	m.EnvSteps = int64(e.done) * int64(c.Population) * int64(c.Episodes) * int64(c.Steps)
	m.Seconds = time.Since(start).Seconds()
	e.last = m
	return m, nil
}

// Profile says what was compiled.
func (e *Evolution) Profile() Profile { return e.profile }

// Spec is the environment's.
func (e *Evolution) Spec() envs.Spec { return e.spec }

// Config is the config with its defaults filled in.
func (e *Evolution) Config() Config { return e.config }

// Solved tells whether the last generation's mean fitness reached the environment's reward threshold.
func (e *Evolution) Solved() bool {
	return e.done > 0 && e.last.MeanFitness >= e.spec.RewardThreshold
}

// Snapshot is a copy of the state on the host: flat arrays by name.
type Snapshot struct {
	Generation int
	Arrays     map[string]*graph.Array
}

// Snapshot copies the state to the host.
func (e *Evolution) Snapshot() (Snapshot, error) {
	if e.state == nil {
		return Snapshot{}, errNoState
	}
	s := Snapshot{Generation: e.done, Arrays: map[string]*graph.Array{}}
	for i, a := range e.state {
		h, err := xlabridge.ToHost(a)
		if err != nil {
			return Snapshot{}, err
		}
		s.Arrays[e.stateTree.Path(i)[1:]] = h
	}
	return s, nil
}

// Best is the best member so far: its parameters as the policy's tree, on the host, and its fitness.
func (e *Evolution) Best() (params any, fitness float64, err error) {
	s, err := e.Snapshot()
	if err != nil {
		return nil, 0, err
	}
	if fitness, err = graph.Float(s.Arrays["Best.Fitness"]); err != nil {
		return nil, 0, err
	}
	if err = graph.Try(func() { params = e.generation.layout.Unravel(s.Arrays["Best.Vector"]) }); err != nil {
		return nil, 0, err
	}
	params, err = graph.Eval(params)
	return params, fitness, err
}

// Centre is the policy that stands for the whole search, on the host: the mean of the distribution that members are drawn
// from, or the best of the elites. It is what the next generation scatters around, and was not played itself.
func (e *Evolution) Centre() (params any, err error) {
	if e.state == nil {
		return nil, errNoState
	}
	host := make([]*graph.Array, len(e.state))
	for i, a := range e.state {
		if host[i], err = xlabridge.ToHost(a); err != nil {
			return nil, err
		}
	}
	err = graph.Try(func() {
		state := e.stateTree.Unflatten(host).(State)
		params = e.generation.layout.Unravel(e.generation.strategy.Centre(state.Strategy))
	})
	if err != nil {
		return nil, err
	}
	return graph.Eval(params)
}

// MemberAt is the number of the member that plays in a lane (0 … Profile.Tile-1) of a tile (0 … Profile.Tiles-1); -1 for
// padding.
func (e *Evolution) MemberAt(tile, lane int) int {
	t := e.generation.groups
	group := tile*t.Lanes + lane%t.Lanes
	if group >= t.Items {
		return -1
	}
	return lane/t.Lanes*t.Items + group
}

// Policy is the policy that Best's parameters are for.
func (e *Evolution) Policy() policy.Policy { return e.generation.rollout.Policy }

// Close frees the state and the program.
func (e *Evolution) Close() error {
	for _, a := range e.state {
		xlabridge.Free(a)
	}
	e.state = nil
	return e.program.Close()
}
