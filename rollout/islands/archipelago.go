package islands

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/vectorized"
	"xlarun/rollout/plan"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// Archipelago is a run of islands: a compiled generation of all of them and its state on the devices.
type Archipelago struct {
	*run.Loop
	config   Islands
	one      generation.Search // of an island
	backend  xlabridge.Backend
	lanes    *vectorized.Program
	target   float64
	profile  run.Profile
	bestEver float64
	means    []float64          // each island's mean fitness in the last generation; nil before the first
	bests    []float64          // each island's best fitness in the last generation
	last     generation.Summary // of the last generation of all islands
	newest   run.Evaluated
	reports  generation.Reports
}

// State is the carry from one generation of islands to the next.
type State struct {
	Lanes generation.State        // leaves [islands, …]
	Each  map[string]*graph.Array // f32[islands], by name: Numbers that differ between islands
	Mean  *graph.Array            // f32[islands]: mean fitness of the last generation; -Inf if all members failed
	Key   random.Key              // of draws for all islands together
}

// inputs are the inputs of the program.
type inputs struct {
	Lanes vectorized.Inputs
	Every *graph.Array // i32[]: generations from one migration to the next; 0: none
}

// NewArchipelago checks the config, chooses the plan, compiles a generation for b and puts the first state on the
// devices.
func NewArchipelago(ctx context.Context, b xlabridge.Backend, c Islands) (*Archipelago, error) {
	devices := c.Devices
	if devices == 0 {
		devices = b.NumDevices()
	}
	x, each, err := c.setup(plan.MachineOf(b, devices))
	if err != nil {
		return nil, err
	}
	choice, err := x.Choose(ctx, b)
	x.Wait() // here, because the run does not wait for measurements at its end
	if err != nil {
		return nil, err
	}
	l, err := vectorized.New(x, c.Islands, min(vectorized.Tile(x), (c.Islands+1)/2), devices)
	if err != nil {
		return nil, err
	}
	a := &Archipelago{config: c, one: x.Search, backend: b, lanes: l, target: c.Goal(x.Rollout.Env.Spec()),
		bestEver: math.Inf(-1), reports: generation.ReportsOf(x.Rollout, x.Strategy)}
	var first State
	if err := graph.Try(func() { first = c.start(l, each) }); err != nil {
		return nil, err
	}
	in := inputs{l.Shared(each), graph.Of(int32(c.MigrateEvery))}
	options := run.LoopOptions{Name: "islands", Purpose: c.Purpose(), Plan: l.Layout,
		Computed: x.Params*c.Islands >= generation.LargeMember,
		EnvSteps: true,
		Counter:  x.Counter(l.Cut.Used()*x.Groups.Used(), l.Cut.Devices)}
	in.Lanes.Counter = options.Counter.Input()
	a.Loop, err = run.NewLoop(b, options, first, in, func(s State, in inputs) (State, results) {
		return c.generation(l, s, in, each)
	})
	if err != nil {
		return nil, err
	}
	a.profile = a.Loop.Profile()
	a.profile.Choice = choice
	a.profile.Choice.Plan = fmt.Sprintf("%s, %s a tile", x.Layout, quantity.Count(l.Cut.Lanes, "island", "islands"))
	a.profile.Facts = []run.Fact{{Name: "tile", Value: x.Layout.Tile}, {Name: "islands_tile", Value: l.Cut.Lanes},
		{Name: "tiles", Value: x.Tiles()}, {Name: "batch_last", Value: x.Layout.BatchLast},
		{Name: "unroll", Value: x.Layout.Unroll}, {Name: "parameters", Value: x.Params}}
	a.profile.Chosen = x.Chosen()
	return a, nil
}

// start returns the first state: island i has the key FoldIn(key of the seed, i).
func (c *Islands) start(l *vectorized.Program, each map[string][]float64) State {
	key := random.New(c.Seed)
	s := l.Start(each, func(i int) random.Key { return random.FoldIn(key, i) })
	m := s.Lanes.Migration.(generation.MigrationState)
	m.Descent = graph.Eye(graph.Float32, c.Islands).ExpandDims(1).BroadcastTo(m.Descent.Dims()...)
	s.Lanes.Migration = m
	return State{s.Lanes, s.Each, graph.Full(graph.ShapeOf(graph.Float32, c.Islands), math.Inf(-1)),
		random.FoldIn(key, c.Islands)}
}

// results are the outputs of a generation for the host.
type results struct {
	Members *graph.Array // f32[islands, …]: the numbers of each island, see generation.Program.Run
	// Islands is f32[3]: the diversity between the islands' means, the diversity among the members that are ready to
	// leave an island, and the foreign share of descent.
	Islands *graph.Array
	Taken   *graph.Array // i32[]: immigrants taken in so far
}

// generation is one generation of all islands. If a migration is due, the members that are ready to leave arrive first.
func (c *Islands) generation(l *vectorized.Program, s State, in inputs, each map[string][]float64) (State, results) {
	number := s.Lanes.Generation.Index(0)
	migrates := in.Every.Gt(0).And(number.Gt(0).And(number.Rem(in.Every.Max(1)).Eq(0)))
	if c.Explore > 0 {
		s = c.explore(s, number, number.Gt(0).And(number.Rem(c.Explore).Eq(0)), each)
	}
	m := s.Lanes.Migration.(generation.MigrationState)
	m.Arriving = c.exchange(s.Key, number, migrates, m.Leaving)
	s.Lanes.Migration = m
	if c.EvalEnvs > 0 { // all islands evaluate what the run would save, each by a part of the episodes
		l = l.Evaluating(l.Search.Strategy.Mean(population.At(s.Lanes.Strategy, s.Mean.ArgMax(0))))
	}
	next, members := l.Run(vectorized.State{Lanes: s.Lanes, Each: s.Each}, in.Lanes)
	out := State{next.Lanes, next.Each, meanFitness(members, c.Population), s.Key}

	m = next.Lanes.Migration.(generation.MigrationState)
	means := graph.VMap(func(s any) any { return l.Search.Strategy.Mean(s) })(next.Lanes.Strategy)
	between := deviation(means, 0)
	within := deviation(m.Leaving.Genomes, 1)
	share := m.Descent.Mean(1) // f32[islands, islands]
	ownShare := share.Mul(graph.Eye(graph.Float32, c.Islands)).Sum()
	foreign := graph.Sub(1, ownShare.Div(float32(c.Islands)))
	return out, results{members, graph.Stack([]*graph.Array{between, within, foreign}, 0), m.Taken.Sum()}
}

// meanFitness returns the mean fitness of each island, given the numbers of vectorized.Program.Run, which begin with
// the fitness of all members.
func meanFitness(numbers *graph.Array, members int) *graph.Array {
	fitness := graph.SliceAxis(graph.Once(numbers), 1, 0, members)
	known := fitness.IsNaN().Not()
	count := known.Convert(graph.Float32).Sum(1)
	return graph.Select(count.Gt(0), graph.Select(known, fitness, 0).Sum(1).Div(count.Max(1)), math.Inf(-1))
}

// deviation is the root mean square distance of all parameters of genomes from their mean along an axis.
func deviation(genomes any, axis int) *graph.Array {
	sum, count := graph.Scalar(0), 0
	for _, leaf := range graph.Leaves(genomes) {
		if !leaf.DType().IsFloat() {
			continue
		}
		x := graph.Once(leaf.Convert(graph.Float32))
		centered := x.Sub(x.Mean(axis).ExpandDims(axis))
		sum = sum.Add(centered.Square().Sum())
		count += leaf.Size()
	}
	return sum.Div(float32(max(1, count))).Sqrt()
}

// Step runs one generation of all islands: one call of the compiled program.
func (a *Archipelago) Step(context.Context) (run.Metrics, error) {
	v, err := a.Numbers()
	if err != nil {
		return run.Metrics{}, err
	}
	c, pop := a.config, a.config.Population
	tail := v[len(v)-4:]
	each := (len(v) - 4) / c.Islands // of one island
	var fitness, lengths, steps, eval []float64
	reported := make([][]float64, len(a.reports.Policy)) // of each member
	own := make([][]float64, len(a.reports.Strategy))    // of each island's strategy
	a.means, a.bests = nil, nil
	solved := false // by the mean of an island without failed members
	for i := range c.Islands {
		rows, evaluated := a.one.Split(v[i*each : (i+1)*each])
		eval = append(eval, evaluated...)
		fitness, lengths, steps = append(fitness, rows[:pop]...), append(lengths, rows[pop:2*pop]...),
			append(steps, rows[2*pop:3*pop]...)
		for k := range reported {
			reported[k] = append(reported[k], rows[(3+k)*pop:(4+k)*pop]...)
		}
		for k := range own {
			own[k] = append(own[k], rows[(3+len(reported))*pop+k])
		}
		m := generation.Summarize(rows[:pop], rows[pop:2*pop], rows[2*pop:3*pop])
		a.means, a.bests = append(a.means, m.Mean), append(a.bests, m.Best)
		solved = solved || c.EvalEnvs == 0 && m.Failed == 0 && m.Mean >= a.target
	}
	s := generation.Summarize(fitness, lengths, steps)
	a.last, a.bestEver = s, max(a.bestEver, s.Best)
	best := slices.Max(a.means)
	*a.EnvSteps() += c.EnvSteps(lengths)
	perGeneration := int64(c.Islands) * int64(pop) * int64(c.Episodes) * int64(c.Steps)
	m := run.Metrics{Step: a.Steps(), Work: float64(perGeneration), Values: []run.Value{
		{Name: "best_fitness", Number: s.Best}, {Name: "best_mean", Number: best},
		{Name: "mean_fitness", Number: s.Mean}, {Name: "std_fitness", Number: s.Std},
		{Name: "worst_fitness", Number: s.Worst}, {Name: "best_ever", Number: a.bestEver},
		{Name: "mean_length", Number: s.Length},
		{Name: "failed", Number: float64(s.Failed)},
		{Name: run.EnvSteps, Number: *a.EnvSteps()},
		{Name: run.ComputedSteps, Number: float64(a.Steps() * perGeneration)},
		{Name: "diversity", Number: tail[0]}, {Name: "diversity_within", Number: tail[1]},
		{Name: "foreign", Number: tail[2]}, {Name: "immigrants", Number: tail[3]},
	}}
	for k, name := range a.reports.Policy {
		m.Values = append(m.Values, run.Value{Name: name, Number: episode.MeanOfFinite(reported[k])})
	}
	for k, name := range a.reports.Strategy {
		m.Values = append(m.Values, run.Value{Name: name, Number: episode.MeanOfFinite(own[k])})
	}
	for i := range c.curves() {
		m.Values = append(m.Values, run.Value{Name: curveOf(i), Number: a.means[i]})
	}
	if c.EvalDue(a.Steps()) {
		m.Values = append(m.Values, run.EvalValues(run.NewEvaluation(eval, c.Episodes))...)
	}
	if m.Done = solved; c.EvalEnvs > 0 {
		m.Done = a.Reached(m.Number)
	}
	a.newest.Note(m)
	m.Values = append(m.Values, s.Failures(a.Steps())...)
	if s.Failed == s.Members {
		m.Failed = a.allFailed
	}
	return m, nil
}

// Reached is that of run.Capabilities. Metrics do not say on which island members failed, so after a generation with
// some the run goes on.
func (a *Archipelago) Reached(metric func(name string) float64) bool {
	if a.config.EvalEnvs > 0 {
		return run.EvalReached(metric, a.target)
	}
	return metric("failed") == 0 && metric("best_mean") >= a.target
}

// allFailed returns the error of the last generation, in which all members of all islands failed.
func (a *Archipelago) allFailed(ctx context.Context) error {
	s, err := a.Loop.Snapshot(ctx)
	if err == nil {
		s, err = generation.BeforeFailure(s, "lanes.")
	}
	if err != nil {
		return err
	}
	return generation.NewAllFailed(a.backend, a.last, "member 0 of island 0", a.config.Job().Play, s)
}

// maxCurves is the largest number of islands with a metric of their mean.
const maxCurves = 64

// curves returns the number of islands with a metric of their mean: all, or none.
func (c *Islands) curves() int {
	if c.Islands > maxCurves {
		return 0
	}
	return c.Islands
}

// curveOf returns the metric of an island's mean fitness.
func curveOf(island int) string { return fmt.Sprintf("mean_%d", island) }

// Restore sets the state to a snapshot.
func (a *Archipelago) Restore(ctx context.Context, s run.Snapshot) error {
	if err := a.Loop.Restore(ctx, s); err != nil {
		return err
	}
	best, err := graph.Floats(s.Arrays["lanes.best.fitness"])
	if err == nil {
		a.bestEver = slices.Max(best)
	}
	a.means, a.bests, a.newest = nil, nil, run.Evaluated{}
	return err
}

// Profile returns what was compiled.
func (a *Archipelago) Profile() run.Profile { return a.profile }

// Describe says what the run can do.
func (a *Archipelago) Describe() *run.Capabilities {
	can := a.Loop.Describe()
	can.Members, can.Ending, can.Files, can.Reached = a, a.Ending, a.Files, a.Reached
	return can
}

// Candidates returns the mean of the island with the highest mean in the last generation, and the best member of the
// whole run.
func (a *Archipelago) Candidates(s run.Snapshot) ([]run.Candidate, error) {
	v, err := a.Unflatten(s)
	if err != nil {
		return nil, err
	}
	var joined generation.State
	err = graph.Try(func() {
		state := v.(State)
		joined = state.Lanes
		joined.Strategy = population.At(state.Lanes.Strategy, state.Mean.ArgMax(0)) // the first of equal ones
		joined.Best = population.At(state.Lanes.Best, state.Lanes.Best.Fitness.ArgMax(0))
	})
	if err != nil {
		return nil, err
	}
	return a.lanes.Search.Candidates(joined)
}

// HallEntries returns the best members of all islands' halls of fame, as many as one hall has places.
func (a *Archipelago) HallEntries(s run.Snapshot) (all []run.HallEntry, err error) {
	v, err := a.Unflatten(s)
	if err != nil {
		return nil, err
	}
	halls := v.(State).Lanes.Hall
	for i := range a.config.Islands {
		hall := graph.MapTree(func(x *graph.Array) *graph.Array { return x.Index(i) }, halls)
		members, err := hall.Members(a.lanes.Search)
		if err != nil {
			return nil, err
		}
		all = append(all, members...)
	}
	generation.SortHall(all)
	return all[:min(a.lanes.Search.Places, len(all))], nil
}

// Ending summarizes the run.
func (a *Archipelago) Ending(last run.Metrics) string {
	foreign, _ := last.Get("foreign")
	mean, _ := last.Get("best_mean")
	text := "best island's mean " + generation.Number(mean)
	switch {
	case a.newest.Step > 0:
		text = a.newest.Text("generation", last, a.target)
	case last.Done:
		text += fmt.Sprintf(" of the %s wanted", generation.Number(a.target))
	case a.config.EvalEnvs == 0 && !math.IsNaN(a.target):
		text += ", the target is " + generation.Number(a.target)
	}
	return text + fmt.Sprintf("; %.0f %% of the islands' descent is from others", 100*foreign) + a.last.FailedText()
}

// island is the entry of one island in islands.json.
type island struct {
	Mean *float64           `json:"mean_fitness"` // of the last generation; null if all members failed
	Best *float64           `json:"best_fitness"`
	Ever *float64           `json:"best_ever"`
	Own  map[string]float64 `json:"settings,omitempty"` // Numbers that differ between islands
	// Descent is the share of each island, by number, in this island's descent.
	Descent []float64 `json:"descent"`
	// Survivors is the island with the largest share in each genome of the state, or in the mean of a distribution.
	Survivors []int `json:"survivors"`
	// Taken counts the immigrants from each island, by number; see generation.MigrationState.
	Taken []float64 `json:"immigrants"`
}

// Files returns islands.json.
func (a *Archipelago) Files(run.Snapshot, bool) ([]run.File, error) {
	if a.means == nil {
		return nil, nil
	}
	v, err := a.State()
	if err != nil {
		return nil, err
	}
	state := v.(State)
	travel := state.Lanes.Migration.(generation.MigrationState)
	read := func(x *graph.Array) (all []float64) {
		if err == nil {
			if x, err = xlabridge.ToHost(x); err == nil {
				all, err = graph.Floats(x)
			}
		}
		return all
	}
	descent, taken, ever := read(travel.Descent), read(travel.Taken), read(state.Lanes.Best.Fitness)
	if err != nil {
		return nil, err
	}
	numbers := map[string][]float64{} // --explore-every changes them
	for name, x := range state.Each {
		numbers[name] = read(x)
	}
	if err != nil {
		return nil, err
	}
	n := a.config.Islands
	places := len(descent) / n / n
	all, shares := make([]island, n), make([]float64, n)
	for i := range all {
		entry := island{Mean: run.Finite(a.means[i]), Best: run.Finite(a.bests[i]), Ever: run.Finite(ever[i]),
			Taken: taken[i*n : (i+1)*n], Descent: make([]float64, n)}
		for place := range places {
			row := descent[(i*places+place)*n:][:n]
			most := 0
			for j, share := range row {
				entry.Descent[j] += share / float64(places)
				if share > row[most] {
					most = j
				}
			}
			entry.Survivors = append(entry.Survivors, most)
		}
		if len(numbers) > 0 {
			entry.Own = map[string]float64{}
			for name, values := range numbers {
				entry.Own[strings.ReplaceAll(name, "-", "_")] = values[i]
			}
		}
		all[i] = entry
		for j, share := range entry.Descent {
			shares[j] += share / float64(n)
		}
	}
	return []run.File{{Name: "islands.json", JSON: map[string]any{"topology": a.config.Topology, "islands": all,
		"descent": shares}}}, nil
}
