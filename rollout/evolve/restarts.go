package evolve

import (
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// RestartSettings say how a search that has converged starts again; see restarting.
type RestartSettings struct {
	Restarts      string `set:"restarts" program:"no" oneof:"none,ipop,bipop" help:"how a search that has converged starts again: not at all, with twice the population (ipop), or in turn with small populations that have evaluated less (bipop)"`
	MaxPopulation int    `set:"max-population" program:"no" min:"2" max:"16777216" zero:"16 times the population" needs:"restarts=!none" help:"largest population of a restart; 0 for 16 times the first population"`
}

// Values of RestartSettings.Restarts.
const (
	RestartsNone  = "none"
	RestartsIPOP  = "ipop"
	RestartsBIPOP = "bipop"
)

// restarting is the feature of a run that starts again when a search has converged: from another genome, with a new
// strategy state and another population. The best members and the statistics of observations stay, and generations
// count on.
//
// A search of n parameters and λ members has converged when the best fitness of its last 10 + ⌈30 n / λ⌉ generations
// and the fitness of the last generation's members all lie within 1e-12, or within the rounding of float32 (TolHistFun
// of Hansen, "Benchmarking a BI-population CMA-ES on the BBOB-2009 function testbed", 2009). Members that failed do not
// count. If all members fail after a generation in which some did not, the search has converged. If all fail from its
// first generation on, the run ends.
//
// With ipop (Auger and Hansen, "A restart CMA evolution strategy with increasing population size", 2005) each restart
// doubles the population, up to the largest that is allowed. With bipop (Hansen, 2009) these searches take turns with
// small ones, of λ·(λ_large / 2λ)^(u²) members and sigma·10^(-2v), u and v uniform: the kind that has evaluated fewer
// members is next.
//
// Each population has its own program, compiled when it is first needed, with the layout of the first one. The state
// holds all that decides about restarts. It follows from fitness, seed and settings alone.
type restarting struct {
	idle
	params int // numbers of one member
	restarts
}

// restarts is the state of restarting.
type restarts struct {
	population int     // of the current search
	count      int     // restarts so far
	doublings  int     // of the large population
	small      bool    // the search is one of bipop's small ones
	sigma      float64 // factor of the strategy's sigma in it
	startStep  int64   // the last step before the current search
	spent      int64   // members that earlier searches evaluated
	// members that bipop's large and small searches evaluated, without the first search
	largeSpent, smallSpent int64
	bests                  []float64 // of its latest generations, at most as many as the window
}

// window returns the number of generations over which the best fitness has to stay the same.
func (r *restarts) window(params int) int {
	return 10 + (30*params+r.population-1)/r.population
}

// observe records a generation and reports whether the search has converged.
func (r *restarts) observe(best, worst float64, params int) bool {
	window := r.window(params)
	r.bests = append(r.bests, best)
	if len(r.bests) > window {
		r.bests = r.bests[len(r.bests)-window:]
	}
	if len(r.bests) < window {
		return false
	}
	least, most := min(best, worst), max(best, worst)
	for _, f := range r.bests {
		least, most = min(least, f), max(most, f)
	}
	if least == most { // infinite ones too: all members failed
		return true
	}
	return most-least <= max(1e-12, math.Abs(most)*0x1p-23)
}

// next begins another search after step generations in all; populations are multiples of group.
func (r *restarts) next(c Config, group int, step int64) {
	spent := int64(r.population) * (step - r.startStep)
	r.spent += spent
	if r.count > 0 {
		if r.small {
			r.smallSpent += spent
		} else {
			r.largeSpent += spent
		}
	}
	r.count++
	r.startStep, r.bests, r.sigma = step, nil, 1
	most := c.mostMembers()
	whole := func(p int) int { return p - p%group }
	large := func(doublings int) int {
		p := c.Population
		for range doublings {
			p = min(2*p, most)
		}
		return p
	}
	r.small = c.Restarts == RestartsBIPOP && r.smallSpent < r.largeSpent
	if !r.small {
		r.doublings++
		r.population = whole(large(r.doublings))
		return
	}
	draw := r.rand(c)
	u, v := draw.Float64(), draw.Float64()
	ratio := max(1, float64(large(r.doublings))/float64(2*c.Population))
	r.population = whole(min(int(float64(c.Population)*math.Pow(ratio, u*u)), most))
	r.sigma = math.Pow(10, -2*v)
}

// mostMembers returns the largest population of a config with restarts.
func (c *Config) mostMembers() int {
	if c.MaxPopulation > 0 {
		return c.MaxPopulation
	}
	return min(16*c.Population, generation.MaxPopulation)
}

// restarts reports whether a search that has converged starts again.
func (c *Config) restarts() bool { return c.Restarts != RestartsNone && c.Restarts != "" }

// checkRestarts refuses a largest population without restarts, or one below the first.
func (c *Config) checkRestarts() error {
	if c.MaxPopulation != 0 && (c.Restarts == RestartsNone || c.MaxPopulation < c.Population) {
		return settings.Wrong("max-population", c.MaxPopulation, "restarts (--restarts ipop or bipop) and the "+
			"population, %d, or more", c.Population)
	}
	return nil
}

// checkGrown refuses a config whose largest population does not fit in memory, before the run starts.
func (c *Config) checkGrown(on plan.Machine) error {
	if !c.restarts() {
		return nil
	}
	grown := c.grown(c.mostMembers(), c.Seed)
	s, err := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
	if err != nil {
		return err
	}
	grown.Population -= grown.Population % s.GroupSize
	if _, err := grown.setup(on); err != nil {
		return settings.Wrong("max-population", c.MaxPopulation, "a population that the restarts may grow to; one of "+
			"%d is refused: %v", grown.Population, err)
	}
	return nil
}

// grown returns the config of a search with another population, without restarts.
func (c *Config) grown(population int, seed int64) Config {
	g := c.clone()
	g.Population, g.Seed, g.Restarts, g.MaxPopulation = population, seed, RestartsNone, 0
	return g
}

// rand returns the random numbers of a restart.
func (r *restarts) rand(c Config) *rand.Rand {
	return rand.New(rand.NewPCG(uint64(c.Seed), uint64(r.count)))
}

// seed returns the seed of the current search.
func (r *restarts) seed(c Config) int64 {
	if r.count == 0 {
		return c.Seed
	}
	draw := r.rand(c)
	draw.Float64()
	draw.Float64()
	return draw.Int64()
}

// Names of the arrays that restarts add to a snapshot.
const (
	restartsPrefix = "restarts."
	restartsCounts = restartsPrefix + "counts"
	restartsBests  = restartsPrefix + "bests"
)

// arrays returns the state as arrays of a snapshot: whole numbers as float64, which counts to 2^53.
func (r *restarts) arrays() map[string]*graph.Array {
	small := 0.
	if r.small {
		small = 1
	}
	counts := []float64{float64(r.population), float64(r.count), float64(r.doublings), small, r.sigma,
		float64(r.startStep), float64(r.spent), float64(r.largeSpent), float64(r.smallSpent)}
	return map[string]*graph.Array{
		restartsCounts: graph.Float64s(counts),
		restartsBests:  graph.Float64s(slices.Clone(r.bests), len(r.bests)),
	}
}

// readRestarts returns the state of restarts in a snapshot.
func readRestarts(s run.Snapshot) (r restarts, err error) {
	read := func(name string) (numbers []float64) {
		if a := s.Arrays[name]; a != nil && err == nil {
			numbers, err = graph.Floats(a)
		}
		return numbers
	}
	counts := read(restartsCounts)
	r.bests = read(restartsBests)
	if err != nil {
		return r, err
	}
	if len(counts) != 9 || counts[0] < 1 || counts[0] > generation.MaxPopulation {
		return r, settings.Wrong("restarts", "a state without "+restartsCounts, "one that a run with restarts "+
			"made: restore what the same settings made")
	}
	r.population, r.count, r.doublings = int(counts[0]), int(counts[1]), int(counts[2])
	r.small, r.sigma = counts[3] == 1, counts[4]
	r.startStep, r.spent = int64(counts[5]), int64(counts[6])
	r.largeSpent, r.smallSpent = int64(counts[7]), int64(counts[8])
	return r, nil
}

func openRestarts(_ context.Context, e *Evolution) (feature, error) {
	return &restarting{params: e.setup.Params, restarts: restarts{population: e.config.Population, sigma: 1}}, nil
}

// keepLayout gives the config the layout that was chosen for a run.
func (c *Config) keepLayout(of *generation.Setup) {
	layout := of.Layout
	c.Tile, c.BatchLast, c.Unroll = layout.Tile, layout.BatchLast, layout.Unroll
	c.EpisodeBatch, c.VectorWidth = layout.EpisodeBatch, layout.VectorWidth
}

// searchOf returns the config of the search that a snapshot belongs to.
func (c *Config) searchOf(s run.Snapshot) (*Config, error) {
	search := *c
	if c.restarts() {
		r, err := readRestarts(s)
		if err != nil {
			return nil, err
		}
		if search, err = r.search(search); err != nil {
			return nil, err
		}
	}
	if c.Grow {
		capacity, err := readCapacity(s)
		if err != nil {
			return nil, err
		}
		search = search.withCapacity(capacity)
	}
	return &search, nil
}

// search returns the config of the current search of a run with these settings.
func (r *restarts) search(first Config) (Config, error) {
	c := first.grown(r.population, r.seed(first))
	if r.sigma == 1 {
		return c, nil
	}
	s, err := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
	if err != nil {
		return c, err
	}
	if f, ok := settings.Lookup(s.Settings, "sigma"); ok {
		sigma, err := strconv.ParseFloat(f.Text(), 32)
		if err != nil {
			return c, err
		}
		c = c.With("strategy.sigma", float64(float32(sigma*r.sigma)))
	}
	return c, nil
}

func (r *restarting) shape(c Config) (Config, error) { return r.search(c) }

// after starts another search if this one has converged. If it cannot be made, the run ends with its last snapshot.
func (r *restarting) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	members := r.spent + int64(r.population)*(m.Step-r.startStep)
	for i, v := range m.Values {
		if v.Name == run.ComputedSteps {
			m.Values[i].Number = float64(members * int64(e.config.Episodes) * int64(e.config.Steps))
		}
	}
	m.Values = append(m.Values, run.Value{Name: "population", Number: float64(r.population)}, run.Value{
		Name: "restarts", Number: float64(r.count)})
	if slices.ContainsFunc(r.bests, finite) {
		m.Failed = nil // the search has had results: if all members go on to fail, it has converged
	}
	best, _ := m.Get("best_fitness")
	worst, _ := m.Get("worst_fitness")
	if m.Done || !r.observe(best, worst, r.params) {
		return nil
	}
	return r.restart(ctx, e, m.Step)
}

// restart starts another search. It keeps the best members, and generations count on.
func (r *restarting) restart(ctx context.Context, e *Evolution, step int64) error {
	old, err := e.Loop.Snapshot(ctx)
	if err != nil {
		return err
	}
	r.next(e.config, e.program.Strategy.GroupSize, step)
	if err := e.replace(ctx); err != nil {
		return err
	}
	return e.takeOver(ctx, old, step)
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

func (r *restarting) save(arrays map[string]*graph.Array) { maps.Copy(arrays, r.arrays()) }

// load goes on with any of the searches.
func (r *restarting) load(s run.Snapshot) (other bool, err error) {
	state, err := readRestarts(s)
	if err != nil {
		return false, err
	}
	// The number of restarts decides the seed, which validations use.
	other = state.population != r.population || state.sigma != r.sigma || state.count != r.count
	r.restarts = state
	return other, nil
}
