package evolve

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// Archipelago is a run of islands: a compiled generation of all of them and its state on the devices.
type Archipelago struct {
	*run.Loop
	config   Islands
	lanes    *lanes
	target   float64
	profile  run.Profile
	bestEver float64
	means    []float64 // of the islands' fitness in the last generation of this run; nil before one
	bests    []float64
}

// IslandsState is everything that one generation of islands hands to the next.
type IslandsState struct {
	Lanes State                   // leaves [islands, …]
	Each  map[string]*graph.Array // f32[islands], by name: the Numbers of which each island has its own
	Mean  *graph.Array            // f32[islands]: of the last generation's members whose fitness is a number; -Inf where none's is
	Key   random.Key              // of what is drawn for all islands
}

// islandsInputs are those of the program.
type islandsInputs struct {
	Lanes laneInputs
	Every *graph.Array // i32[]: generations from one migration to the next; 0: none
}

// NewArchipelago checks the config, chooses the plan, compiles a generation for b and puts the first state on the devices.
func NewArchipelago(b xlabridge.Backend, c Islands) (*Archipelago, error) {
	devices := c.Devices
	if devices == 0 {
		devices = b.NumDevices()
	}
	x, each, err := c.experiment(plan.MachineOf(b, devices))
	if err != nil {
		return nil, err
	}
	chosen, err := x.choose(b)
	x.late.Wait() // a run of islands does not wait for measurements at its end
	if err != nil {
		return nil, err
	}
	return x.archipelago(b, c, each, devices, chosen)
}

func (x *experiment) archipelago(b xlabridge.Backend, c Islands, each map[string][]float64, devices int, chosen plan.Choice) (*Archipelago, error) {
	l, err := x.newLanes(c.Islands, min(x.laneTile(), (c.Islands+1)/2), devices)
	if err != nil {
		return nil, err
	}
	a := &Archipelago{config: c, lanes: l, target: c.Goal(x.play.Env.Spec()), bestEver: math.Inf(-1)}
	var first IslandsState
	if err := graph.Try(func() { first = c.start(l, each) }); err != nil {
		return nil, err
	}
	in := islandsInputs{l.shared(each), graph.Of(int32(c.MigrateEvery))}
	options := run.LoopOptions{Name: "islands", Purpose: c.Purpose(), Plan: l.layout, Computed: x.params*c.Islands >= largeMember}
	a.Loop, err = run.NewLoop(b, options, first, in, func(s IslandsState, in islandsInputs) (IslandsState, figures) {
		return c.generation(l, s, in, each)
	})
	if err != nil {
		return nil, err
	}
	p := a.Loop.Profile()
	p.Choice = chosen
	p.Choice.Plan = fmt.Sprintf("%s, %d islands a tile", x.layout, l.cut.Lanes)
	p.Facts = []run.Fact{{Name: "tile", Value: x.layout.Tile}, {Name: "islands_tile", Value: l.cut.Lanes}, {Name: "tiles", Value: x.groups.Total()},
		{Name: "lanes_last", Value: x.layout.LanesLast}, {Name: "unroll", Value: x.layout.Unroll}, {Name: "parameters", Value: x.params}}
	p.Chosen = settings.Values{"tile": x.layout.Tile, "lanes-last": x.layout.LanesLast, "unroll": x.layout.Unroll, "vector-width": x.layout.VectorWidth}
	a.profile = p
	return a, nil
}

// start is the first state: island i has the key FoldIn(key of the seed, i).
func (c *Islands) start(l *lanes, each map[string][]float64) IslandsState {
	key := random.New(c.Seed)
	s := l.starts(c.Islands, each, func(i int) random.Key { return random.FoldIn(key, i) })
	own := graph.Eye(graph.Float32, c.Islands)
	s.Lanes.Migration.Descent = graph.BroadcastTo(graph.ExpandDims(own, 1), s.Lanes.Migration.Descent.Dims()...)
	return IslandsState{s.Lanes, s.Each, graph.Full(graph.ShapeOf(graph.Float32, c.Islands), math.Inf(-1)), random.FoldIn(key, c.Islands)}
}

// figures are what a generation tells the host.
type figures struct {
	Members *graph.Array // f32[islands, 3 + reports, members], see generation.run
	Islands *graph.Array // f32[3]: diversity between the islands' centres, and within of those who are about to leave; the foreign share of descent
	Taken   *graph.Array // i32[]: immigrants taken in so far
}

// generation is one of all islands. Who is about to leave when a migration is due arrives in it.
func (c *Islands) generation(l *lanes, s IslandsState, in islandsInputs, each map[string][]float64) (IslandsState, figures) {
	generation := graph.Index(s.Lanes.Generation, 0)
	due := graph.And(graph.Gt(in.Every, 0), graph.And(graph.Gt(generation, 0), graph.Eq(graph.Rem(generation, graph.Max(in.Every, 1)), 0)))
	if c.Explore > 0 {
		s = c.explore(s, generation, graph.And(graph.Gt(generation, 0), graph.Eq(graph.Rem(generation, c.Explore), 0)), each)
	}
	m := *s.Lanes.Migration
	m.Arriving = c.exchange(s.Key, generation, due, m.Leaving)
	s.Lanes.Migration = &m
	next, members := l.run(LanesState{s.Lanes, s.Each}, in.Lanes)
	out := IslandsState{next.Lanes, next.Each, meanOf(members), s.Key}

	centres := graph.VMap(func(of any) any { return l.generation.strategy.Centre(of) })(next.Lanes.Strategy)
	between := distance(centres, 0, 1)
	within := distance(next.Lanes.Migration.Leaving.Genomes, 1, 2)
	share := graph.Mean(next.Lanes.Migration.Descent, 1) // f32[islands, islands]
	own := graph.Sum(graph.Mul(share, graph.Eye(graph.Float32, c.Islands)))
	foreign := graph.Sub(1, graph.Div(own, float32(c.Islands)))
	return out, figures{members, graph.Stack([]*graph.Array{between, within, foreign}, 0), graph.Sum(next.Lanes.Migration.Taken)}
}

// meanOf are the islands' means, of figures f32[islands, 3 + reports, members].
func meanOf(members *graph.Array) *graph.Array {
	fitness := graph.Squeeze(graph.SliceAxis(graph.Barrier(members)[0], 1, 0, 1), 1)
	known := graph.Not(graph.IsNaN(fitness))
	count := graph.Sum(graph.Convert(known, graph.Float32), 1)
	return graph.Select(graph.Gt(count, 0), graph.Div(graph.Sum(graph.Select(known, fitness, 0), 1), graph.Max(count, 1)), math.Inf(-1))
}

// distance is how far genomes lie from their mean along an axis: the root of the mean square of all parameters. before is the number of axes in front of a genome's own.
func distance(genomes any, axis, before int) *graph.Array {
	sum, count := graph.Scalar(0), 0
	for _, leaf := range graph.Leaves(genomes) {
		if !leaf.DType().IsFloat() {
			continue
		}
		x := graph.Barrier(graph.Convert(leaf, graph.Float32))[0]
		away := graph.Sub(x, graph.ExpandDims(graph.Mean(x, axis), axis))
		sum = graph.Add(sum, graph.Sum(graph.Square(away)))
		count += leaf.Size()
	}
	return graph.Sqrt(graph.Div(sum, float32(max(1, count))))
}

// exchange are those who arrive on each island, of those who leave all of them; nobody where no migration is due.
func (c *Islands) exchange(key random.Key, generation, due *graph.Array, leaving Travellers) Travellers {
	n, k := c.Islands, c.Migrants
	from, rank := c.neighbours(key, generation)
	row := graph.Reshape(graph.Add(graph.Mul(from, k), rank), n*k)
	t := graph.MapTree(func(a *graph.Array) *graph.Array {
		flat := graph.Reshape(a, append([]int{n * k}, a.Dims()[2:]...)...)
		return graph.Barrier(graph.Reshape(graph.Take(flat, row, 0), a.Dims()...))[0]
	}, leaving)
	t.Fitness = graph.Select(due, t.Fitness, math.Inf(-1))
	t.From = from
	return t
}

// Step runs one generation of all islands: one call of the compiled program.
func (a *Archipelago) Step() (run.Metrics, error) {
	v, err := a.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	c, pop := a.config, a.config.Population
	tail := v[len(v)-4:]
	each := (len(v) - 4) / c.Islands // of one island
	var fitness, lengths, steps []float64
	a.means, a.bests = nil, nil
	for i := range c.Islands {
		own := v[i*each : (i+1)*each]
		fitness, lengths, steps = append(fitness, own[:pop]...), append(lengths, own[pop:2*pop]...), append(steps, own[2*pop:3*pop]...)
		m := measure(own[:pop], own[pop:2*pop], own[2*pop:3*pop])
		a.means, a.bests = append(a.means, m.mean), append(a.bests, m.best)
	}
	s := measure(fitness, lengths, steps)
	a.bestEver = max(a.bestEver, s.best)
	best := slices.Max(a.means)
	perGeneration := int64(c.Islands) * int64(pop) * int64(c.Episodes) * int64(c.Steps)
	m := run.Metrics{Step: a.Steps(), Work: float64(perGeneration), Done: best >= a.target, Values: []run.Value{
		{Name: "best_fitness", Number: s.best}, {Name: "best_mean", Number: best}, {Name: "mean_fitness", Number: s.mean}, {Name: "std_fitness", Number: s.std},
		{Name: "worst_fitness", Number: s.worst}, {Name: "best_ever", Number: a.bestEver}, {Name: "mean_length", Number: s.length},
		{Name: "failed", Number: float64(s.failed)}, {Name: "env_steps", Number: float64(a.Steps() * perGeneration)},
		{Name: "diversity", Number: tail[0]}, {Name: "diversity_within", Number: tail[1]}, {Name: "foreign", Number: tail[2]}, {Name: "immigrants", Number: tail[3]},
	}}
	if c.Islands <= curvesOfIslands {
		for i, mean := range a.means {
			m.Values = append(m.Values, run.Value{Name: fmt.Sprintf("mean_%d", i), Number: mean})
		}
	}
	m.Values = append(m.Values, s.failures(a.Steps())...)
	return m, nil
}

// curvesOfIslands is the most islands of which each has its mean among the metrics.
const curvesOfIslands = 64

// Restore goes on from a snapshot.
func (a *Archipelago) Restore(s run.Snapshot) error {
	if err := a.Loop.Restore(s); err != nil {
		return err
	}
	best, err := graph.Floats(s.Arrays["lanes.best.fitness"])
	if err == nil {
		a.bestEver = slices.Max(best)
	}
	a.means, a.bests = nil, nil
	return err
}

// Profile says what was compiled.
func (a *Archipelago) Profile() run.Profile { return a.profile }

// Candidates are the centre of the island whose mean was highest in the last generation, and the member with the highest fitness of the whole run.
func (a *Archipelago) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := a.Unflatten(s)
	if err != nil {
		return nil, err
	}
	state, g := v.(IslandsState), a.lanes.generation
	highest := func(x *graph.Array) *graph.Array { return graph.ArgMax(x, 0) } // of equal ones the first
	candidates := []run.Candidate{{Name: "centre"}, {Name: "best_ever"}}
	err = graph.Try(func() {
		candidates[0].Params = g.params(g.strategy.Centre(population.At(state.Lanes.Strategy, highest(state.Mean))), nil)
		candidates[1].Params = g.params(population.At(state.Lanes.Best.Genome, highest(state.Lanes.Best.Fitness)), nil)
	})
	for i := range candidates {
		if err == nil {
			candidates[i].Params, err = graph.Eval(candidates[i].Params)
		}
	}
	return candidates, err
}

// Fame are the members of all islands' halls of fame, the one with the highest fitness first, as many as one hall has.
func (a *Archipelago) Fame(s run.Snapshot) (all []run.Famed, err error) {
	v, err := a.Unflatten(s)
	if err != nil || v.(IslandsState).Lanes.Hall == nil {
		return nil, err
	}
	h := v.(IslandsState).Lanes.Hall
	places := h.Fitness.Dim(1)
	for i := range a.config.Islands {
		of, err := a.lanes.generation.fame(graph.MapTree(func(x *graph.Array) *graph.Array { return graph.Index(x, i) }, h))
		if err != nil {
			return nil, err
		}
		all = append(all, of...)
	}
	slices.SortStableFunc(all, func(a, b run.Famed) int {
		return cmp.Or(cmp.Compare(b.Fitness, a.Fitness), cmp.Compare(a.Step, b.Step))
	})
	return all[:min(places, len(all))], nil
}

// Ending sums the run up.
func (a *Archipelago) Ending(last run.Metrics) string {
	mean, _ := last.Get("best_mean")
	foreign, _ := last.Get("foreign")
	text := "best island's mean " + number(mean)
	if last.Done {
		text += fmt.Sprintf(" of the %s wanted", number(a.target))
	} else if !math.IsNaN(a.target) {
		text += ", the target is " + number(a.target)
	}
	return text + fmt.Sprintf("; %.0f %% of what the islands have come to is from others", 100*foreign)
}

// island is what islands.json says of one.
type island struct {
	Mean *float64           `json:"mean_fitness"` // of the last generation; null where nobody's is a number
	Best *float64           `json:"best_fitness"`
	Ever *float64           `json:"best_ever"`
	Own  map[string]float64 `json:"settings,omitempty"` // of which each has its own
	// Descent is the share of each island, by number, in what this one has come to.
	Descent []float64 `json:"descent"`
	// Survivors are the islands from which most of each genome comes that the strategy keeps, in the order of its state; of a distribution there is one, its centre.
	Survivors []int `json:"survivors"`
	// Taken are the immigrants of each island, by number, that were among the better half or became a kept genome.
	Taken []float64 `json:"immigrants"`
}

// Files are what each island has come to.
func (a *Archipelago) Files(bool) ([]run.File, error) {
	if a.means == nil {
		return nil, nil
	}
	v, err := a.State()
	if err != nil {
		return nil, err
	}
	state := v.(IslandsState).Lanes
	read := func(x *graph.Array) (all []float64) {
		if err == nil {
			if x, err = xlabridge.ToHost(x); err == nil {
				all, err = graph.Floats(x)
			}
		}
		return all
	}
	descent, taken, ever := read(state.Migration.Descent), read(state.Migration.Taken), read(state.Best.Fitness)
	if err != nil {
		return nil, err
	}
	own := map[string][]float64{} // they change where islands explore
	for name, x := range v.(IslandsState).Each {
		own[name] = read(x)
	}
	if err != nil {
		return nil, err
	}
	n := a.config.Islands
	places := len(descent) / n / n
	all := make([]island, n)
	for i := range all {
		of := island{Mean: finite(a.means[i]), Best: finite(a.bests[i]), Ever: finite(ever[i]), Taken: taken[i*n : (i+1)*n], Descent: make([]float64, n)}
		for place := range places {
			row := descent[(i*places+place)*n:][:n]
			most := 0
			for j, share := range row {
				of.Descent[j] += share / float64(places)
				if share > row[most] {
					most = j
				}
			}
			of.Survivors = append(of.Survivors, most)
		}
		if len(own) > 0 {
			of.Own = map[string]float64{}
			for name, values := range own {
				of.Own[strings.ReplaceAll(name, "-", "_")] = values[i]
			}
		}
		all[i] = of
	}
	return []run.File{{Name: "islands.json", JSON: map[string]any{"topology": a.config.Topology, "islands": all}}}, nil
}

// finite is nil for what JSON has no number for.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
