package python

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/settings"
)

// strategyState is the state of a strategy and what its draws depend on, as in generation.State.
type strategyState struct {
	Strategy   any
	Key        random.Key
	Generation *graph.Array // i32[]
}

// strategy makes a search by a strategy, as `xlarun evolve` has it. Python writes its start into the fields of the
// mean, and calls "start"; neat begins where a run with its seed does.
func (s *Server) strategy(argument []byte) (o object, description map[string]any, err error) {
	var in searchArgument
	if err := read(argument, &in); err != nil {
		return o, nil, err
	}
	values := valuesOf(in.Settings)
	ofPolicy := settings.Values{}
	if in.Name == "neat" {
		ofPolicy = values.Under("policy-")
		maps.DeleteFunc(values, func(name string, _ any) bool { return strings.HasPrefix(name, "policy-") })
	}
	e, err := strategy.Make(in.Name, values)
	if err != nil {
		return o, nil, err
	}
	if err := values.CheckNeeds(e.Settings, "strategy."); err != nil {
		return o, nil, err
	}
	if err := generation.CheckPopulation("popsize", in.Popsize, in.Name, e); err != nil {
		return o, nil, err
	}
	var member any                                   // of abstract arrays
	var first func(key random.Key) any               // nil: Python says where it begins
	var network map[string]any                       // what the arrays of a genome stand for
	genome := func(member any) any { return member } // of a member
	of := genome                                     // the member of a genome
	if e.Fit != nil {
		p, err := networks(&in, ofPolicy)
		if err != nil {
			return o, nil, err
		}
		if err := e.Fit(p); err != nil {
			return o, nil, err
		}
		first = func(key random.Key) any { return p.Init(key) }
		member = graph.EvalShape(func() any { return p.Init(random.New(0)) })
		if network, err = p.Traits().Describe(member); err != nil {
			return o, nil, err
		}
	} else {
		leaves, err := in.members()
		if err != nil {
			return o, nil, err
		}
		if member = leaves; e.Flat {
			layout := population.LayoutOf(leaves)
			genome = func(member any) any { return layout.Ravel(member) }
			of = func(genome any) any { return layout.Unravel(genome.(*graph.Array)) }
		}
	}
	if err := s.checkMemory(in.Popsize, e.GroupSize, member, 0); err != nil {
		return o, nil, err
	}
	a := algorithm{in: settings.Inputs(e.Settings, "strategy."), stats: e.Reports}
	a.start = func(fields []*graph.Array) any {
		keys := random.SplitN(random.New(in.Seed), 2)
		start := any(fields)
		if first != nil {
			start = first(keys[0])
		}
		return strategyState{e.Init(genome(start), in.Popsize), keys[1], graph.Scalar(0, graph.Int32)}
	}
	a.ask = func(state, numbers any) (draws, members any) {
		e, s := e.Bind(numbers.(map[string]*graph.Array)), state.(strategyState)
		key, groups := random.FoldIn(s.Key, s.Generation.Mul(2)), graph.Iota(in.Popsize/e.GroupSize)
		keys := graph.Once(graph.VMap(func(group *graph.Array) random.Key { return random.FoldIn(key, group) })(groups))
		draws = e.SampleEach(keys, s.Strategy, groups)
		return draws, e.Members(s.Strategy, draws, of)
	}
	a.tell = func(state, draws, numbers any, told []*graph.Array) (any, *graph.Array) {
		e, s, f := e.Bind(numbers.(map[string]*graph.Array)), state.(strategyState), told[0]
		f = graph.Select(f.IsFinite(), f, math.NaN())
		s.Strategy = e.Tell(s.Strategy, strategy.Evaluation{Fitness: f, Length: graph.ZerosLike(f)},
			population.Whole(draws))
		s.Generation = s.Generation.Add(1)
		if e.Report == nil {
			return s, nil
		}
		return s, e.Report(s.Strategy)
	}
	a.mean = func(state any) any { return of(e.Mean(state.(strategyState).Strategy)) }
	x, err := s.search(a, fmt.Sprintf("%T, %d members", e.Settings, in.Popsize), in.Popsize, member, false, 0)
	if first != nil && err == nil {
		x.began = nil
	}
	o, description, err = x.object(err)
	if err == nil && network != nil {
		description["network"] = network
	}
	return o, description, err
}

// networks returns the policy whose parameters are the genomes of networks.
func networks(in *searchArgument, values settings.Values) (policy.Policy, error) {
	for _, size := range []struct {
		name string
		n    int
	}{{"inputs", in.Inputs}, {"outputs", in.Outputs}} {
		if size.n < 1 || size.n > 1<<16 {
			return nil, console.BadInput("%s: got %d, want 1 to %d, of the networks of %s", size.name, size.n, 1<<16,
				in.Name)
		}
	}
	p, _, err := policy.Make("genome", values, unbounded(in.Inputs), unbounded(in.Outputs))
	return p, err
}

// unbounded is the space of vectors.
func unbounded(n int) envs.Box {
	return envs.Box{Low: []float64{-envs.Unbounded}, High: []float64{envs.Unbounded}, Dims: []int{n},
		DType: graph.Float32}
}
