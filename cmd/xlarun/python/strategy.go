package python

import (
	"fmt"
	"maps"
	"math"
	"slices"
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

// genomes are what a strategy searches among.
type genomes struct {
	member  any                      // of abstract arrays
	genome  func(member any) any     // of a member
	of      func(genome any) any     // the member of a genome
	first   func(key random.Key) any // the member at which the search begins; nil: Python writes it
	network map[string]any           // what the arrays of a network stand for; nil: they are no networks
}

// strategy makes a search by a strategy, as `xlarun evolve` has it. Python writes its start into the fields of the
// mean, and calls "start"; neat begins where a run with its seed does.
func (s *Server) strategy(in *searchArgument, names keywords) (o object, description map[string]any, err error) {
	values := valuesOf(in.Settings)
	ofPolicy := settings.Values{}
	if in.Name == "neat" {
		ofPolicy = values.Under("policy-")
		maps.DeleteFunc(values, func(name string, _ any) bool { return strings.HasPrefix(name, "policy-") })
	}
	names.add("policy.", "policy_", slices.Collect(maps.Keys(ofPolicy))...)
	names.add("strategy.", "", slices.Collect(maps.Keys(values))...)
	if choice, ok := strategy.Part().Choices[in.Name]; ok {
		names.add("strategy.", "", settings.Names(choice)...)
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
	var g genomes
	if e.Fit != nil {
		g, err = networks(in, e, ofPolicy, names)
	} else {
		g, err = vectors(in, e)
	}
	if err != nil {
		return o, nil, err
	}
	if err := s.checkMemory("popsize", in.Popsize, e.GroupSize, heldMembers*graph.TreeBytes(g.member), 0); err != nil {
		return o, nil, err
	}
	purpose := fmt.Sprintf("%T, %d members", e.Settings, in.Popsize)
	x, err := s.search(byStrategy(in, e, g), purpose, in.Popsize, g.member, 0)
	o, description, err = x.object(err)
	if err == nil && g.network != nil {
		description["network"] = g.network
	}
	return o, description, err
}

// vectors are trees of arrays, whose leaves a strategy may want in one vector.
func vectors(in *searchArgument, e *strategy.Erased) (g genomes, err error) {
	leaves, err := in.members()
	if err != nil {
		return g, err
	}
	same := func(x any) any { return x }
	if !e.Flat {
		return genomes{member: leaves, genome: same, of: same}, nil
	}
	layout := population.LayoutOf(leaves)
	return genomes{member: leaves, genome: func(member any) any { return layout.Ravel(member) },
		of: func(genome any) any { return layout.Unravel(genome.(*graph.Array)) }}, nil
}

// networks are the parameters of the policy genome.
func networks(in *searchArgument, e *strategy.Erased, values settings.Values, names keywords) (g genomes, err error) {
	for _, size := range []struct {
		name string
		n    int
	}{{"inputs", in.Inputs}, {"outputs", in.Outputs}} {
		if size.n < 1 || size.n > 1<<16 {
			return g, console.BadInput("%s: got %d, want 1 to %d, of the networks of %s", size.name, size.n, 1<<16,
				in.Name)
		}
	}
	names.add("policy.", "policy_", settings.Names(policy.Part().Choices["genome"])...)
	p, _, err := policy.Make("genome", values, unbounded(in.Inputs), unbounded(in.Outputs))
	if err != nil {
		return g, err
	}
	if err := e.Fit(p); err != nil {
		return g, err
	}
	same := func(x any) any { return x }
	g = genomes{genome: same, of: same, first: func(key random.Key) any { return p.Init(key) }}
	g.member = graph.EvalShape(func() any { return p.Init(random.New(0)) })
	g.network, err = p.Traits().Describe(g.member)
	return g, err
}

// byStrategy returns how a strategy asks and tells.
func byStrategy(in *searchArgument, e *strategy.Erased, g genomes) algorithm {
	a := algorithm{in: settings.Inputs(e.Settings, "strategy."), stats: e.Reports, begins: firstMean}
	if g.first != nil {
		a.begins = nothing
	}
	a.start = func(fields []*graph.Array) any {
		keys := random.SplitN(random.New(in.Seed), 2)
		start := any(fields)
		if g.first != nil {
			start = g.first(keys[0])
		}
		return strategyState{e.Init(g.genome(start), in.Popsize), keys[1], graph.Scalar(0, graph.Int32)}
	}
	a.ask = func(state, numbers any) (draws, members any) {
		e, s := e.Bind(numbers.(map[string]*graph.Array)), state.(strategyState)
		key, groups := random.FoldIn(s.Key, s.Generation.Mul(2)), graph.Iota(in.Popsize/e.GroupSize)
		keys := graph.Once(graph.VMap(func(group *graph.Array) random.Key { return random.FoldIn(key, group) })(groups))
		draws = e.SampleEach(keys, s.Strategy, groups)
		return draws, e.Members(s.Strategy, draws, g.of)
	}
	a.tell = func(state, draws, numbers any, scores []*graph.Array) (any, *graph.Array) {
		e, s, f := e.Bind(numbers.(map[string]*graph.Array)), state.(strategyState), scores[0]
		f = graph.Select(f.IsFinite(), f, math.NaN())
		s.Strategy = e.Tell(s.Strategy, strategy.Evaluation{Fitness: f, Length: graph.ZerosLike(f)},
			population.Whole(draws))
		s.Generation = s.Generation.Add(1)
		if e.Report == nil {
			return s, nil
		}
		return s, e.Report(s.Strategy)
	}
	a.mean = func(state any) any { return g.of(e.Mean(state.(strategyState).Strategy)) }
	return a
}

// unbounded is the space of vectors.
func unbounded(n int) envs.Box {
	return envs.Box{Low: []float64{-envs.Unbounded}, High: []float64{envs.Unbounded}, Dims: []int{n},
		DType: graph.Float32}
}
