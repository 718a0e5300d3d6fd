package qd

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	_ "xlarun/envs/board"
	_ "xlarun/envs/classic"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/episode"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runtest"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func small() Config {
	c := DefaultConfig()
	c.Policy, c.Steps, c.Batch, c.Archive, c.Tile, c.EvalEvery = "linear", 20, 24, "grid:6", 8, 2
	return c
}

func start(t *testing.T, b xlabridge.Backend, c Config) *Run {
	t.Helper()
	r, err := c.Start(t.Context(), b)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r.(*Run)
}

var rawBytes = runtest.Bytes

func advance(t *testing.T, s *Run, generations int) ([]run.Metrics, map[string]string) {
	return runtest.Steps(t, s, generations), rawBytes(t, runtest.Snapshot(t, s))
}

// Metrics and state are the same bytes on one device and on two, and after a resume.
func TestSameOnAnyDevicesAndResumed(t *testing.T) {
	for _, emitter := range []string{"isoline", "bandit"} {
		if emitter == "isoline" && !long.On() {
			continue // the bandit has it, too
		}
		var metrics []run.Metrics
		var state map[string]string
		for devices := 1; devices <= 2; devices++ {
			c := small()
			if c.Emitter, c.Devices = emitter, devices; emitter == "bandit" {
				c.Emitter, c.Parted = "searches", c.Parted.With("emitter.ranking", "bandit")
			}
			if c.Emitter == "searches" {
				c.Strategy, c.Parted = "snes", c.Parted.With("emitter.searches", "4")
				c.Annealing.Rate.Value = .5
			}
			s := start(t, xlatest.Open(t, devices), c)
			first, _ := advance(t, s, 3)
			middle, err := s.Snapshot(t.Context())
			require.NoError(t, err)
			last, end := advance(t, s, 3)
			require.NoError(t, s.Restore(t.Context(), middle))
			again, resumed := advance(t, s, 3)
			require.Equal(t, last, again, emitter)
			require.Equal(t, end, resumed, emitter)
			if devices == 2 {
				require.Equal(t, metrics, append(first, last...), emitter)
				require.Equal(t, state, end, emitter)
			}
			metrics, state = append(first, last...), end
		}
		filled, _ := metrics[5].Get("coverage")
		require.Greater(t, filled, 0., emitter)
	}
}

// The interpreter's generation, member by member: each elite has the fitness and the descriptor of its own episodes.
func TestElitesAreTheirEpisodes(t *testing.T) {
	c := small()
	s := start(t, &xlabridge.Reference{}, c)
	_, err := s.Step(t.Context())
	require.NoError(t, err)
	snapshot, err := s.Snapshot(t.Context())
	require.NoError(t, err)
	state, err := s.state(snapshot)
	require.NoError(t, err)
	files, err := s.Files(snapshot, true)
	require.NoError(t, err)
	arrays := files[0].Arrays.(map[string]*graph.Array)
	cells, fitness := floats(t, arrays["cell"]), floats(t, arrays["fitness"])
	require.Equal(t, float64(len(cells)), floats(t, state.Archive.(Elites).Count)[0])
	for _, generation := range floats(t, arrays["generation"]) {
		require.Equal(t, 1., generation, "generations count from 1, as the rows of metrics do")
	}
	params, err := s.member(state.Archive.(Elites).Genomes.Index(int(cells[0])))
	require.NoError(t, err)
	saved := graph.Leaves(params)
	require.Equal(t, floats(t, saved[0]), floats(t, arrays["member.Layers.0.W"].Index(0)))
	// The first generation's members, played again one by one.
	keys := random.SplitN(random.FoldIn(state.Key, 0), 2)
	p := s.program
	best := map[int]float64{}
	for i := range c.Batch {
		member, episodes := random.Split2(random.FoldIn(keys[0], i))
		got, err := graph.Eval(p.Play.Member(p.Play.Policy.Init(member), episodes))
		require.NoError(t, err)
		unit, _ := scaled(p.Space, got.Descriptor)
		cell := int(floats(t, p.Container.Cell(nil, unit))[0])
		if f := floats(t, got.Return)[0]; f > best[cell] {
			best[cell] = f
		}
	}
	for i, cell := range cells {
		require.Equal(t, best[int(cell)], fitness[i])
	}
	require.Len(t, best, len(cells))
}

// A member with NaN in its fitness or its descriptor is dropped, one whose descriptor is out of bounds is clipped; both
// are counted.
func TestDroppedAndClipped(t *testing.T) {
	c := small()
	c.Descriptor = "observations"
	c.Parted = c.Parted.With("descriptor.elements", "1").With("descriptor.bounds", "-0.001,0.001")
	s := start(t, &xlabridge.Reference{}, c)
	m, err := s.Step(t.Context())
	require.NoError(t, err)
	clipped, _ := m.Get("clipped")
	require.Greater(t, clipped, 0.)
	rare, ok := m.Get("clipped_descriptors")
	require.True(t, ok)
	require.Equal(t, clipped, rare)

	for _, part := range []string{"some", "all"} {
		c = small()
		c.Descriptor = "nan-of-" + part
		s = start(t, &xlabridge.Reference{}, c)
		m, err = s.Step(t.Context())
		require.NoError(t, err)
		dropped, _ := m.Get("dropped")
		coverage, _ := m.Get("coverage")
		if part == "some" {
			require.Greater(t, dropped, 0.)
			require.Less(t, dropped, float64(c.Batch))
			require.Greater(t, coverage, 0.)
			require.Nil(t, m.Failed)
			continue
		}
		require.Equal(t, float64(c.Batch), dropped)
		require.Zero(t, coverage)
		require.ErrorContains(t, m.Failed(t.Context()), "all 24 members of the first generation were dropped")
	}
}

// TestNothingEntersTheArchive: with a threshold above every fitness the archive stayed empty in silence.
func TestNothingEntersTheArchive(t *testing.T) {
	c := small()
	c.Annealing = Annealing{Rate: settings.Num(.1), Min: settings.Num(1e9)}
	m, err := start(t, &xlabridge.Reference{}, c).Step(t.Context())
	require.NoError(t, err)
	require.NotNil(t, m.Failed)
	require.ErrorContains(t, m.Failed(t.Context()), "takes only a fitness above --threshold-min 1e+09: give one below")
}

// What an archive takes on a device is known before it is compiled, within 10 % of the compiler's figure. The short
// form has one, the program of TestCompiledMemoryIsChecked.
func TestMemoryIsPredicted(t *testing.T) {
	c := small()
	c.Env, c.Policy, c.Steps, c.Batch, c.Tile, c.Devices = "Arm-v0", "vector", 1, 128, 0, 1
	grid, cvt, apart, fronts, population, small := c, c, c, c, c, tabled()
	grid.Archive, cvt.Archive, apart.Archive = "grid:100", "cvt:5000", "unstructured:20000"
	fronts.Env, fronts.Archive, fronts.Front, fronts.Reference = "MultiRastrigin-v0", "grid:10", 100, []float64{-3, -3}
	population.Env, population.Archive, population.Reference = "ZDT1-v0", "nsga2:1000", []float64{-9, -9}
	for name, c := range map[string]Config{"grid": grid, "CVT": cvt, "unstructured": apart,
		"fronts": fronts, "NSGA-II": population, "small": small} {
		if !long.On() && name != "small" {
			continue
		}
		s := start(t, xlatest.Open(t, 1), c)
		_, device, err := c.predicted(s.program, plan.Machine{CPU: true, Devices: 1})
		require.NoError(t, err)
		compiled := s.Profile().PeakMemoryBytes
		t.Logf("%s: predicted %d, compiled %d", name, device+graph.TreeBytes(s.inputs.Tables), compiled)
		require.InEpsilon(t, compiled, device+graph.TreeBytes(s.inputs.Tables), .1, name)
	}
}

// tabled is an archive whose centroids are a table.
func tabled() Config {
	c := small()
	c.Policy, c.Archive, c.Devices = "linear", "cvt:2000", 1
	return c
}

// A program that takes too much memory is refused after it was compiled, when its tables are known.
func TestCompiledMemoryIsChecked(t *testing.T) {
	c := tabled()
	c.Memory = 2 << 20
	require.NoError(t, c.Check(plan.Machine{Devices: 1}))
	_, err := c.Start(t.Context(), xlatest.Open(t, 1))
	require.ErrorContains(t, err, "fewer cells: 2000 of 10 parameters and 24 members take about ")
}

// nanOf is a descriptor that is NaN: in episodes that begin to the left, or in all.
type nanOf struct{ all bool }

func init() {
	MustRegisterDescriptor("nan-of-some", &nanOf{})
	MustRegisterDescriptor("nan-of-all", &nanOf{true})
}

func (n *nanOf) Make(envs.Environment) (episode.Descriptor, error) {
	return episode.StepMean{Bounds: envs.Positive(1, 1), Of: func(s episode.Step, _ any) *graph.Array {
		x := graph.SliceAxis(s.Observation, 0, 0, 2)
		if n.all {
			return x.Mul(math.NaN())
		}
		return graph.Select(s.Number.Eq(1), x.Index(0).Log(), 0.).Add(x)
	}}, nil
}

// several changes a config with fronts of two objectives.
func several(change func(c *Config)) func(c *Config) {
	return func(c *Config) {
		c.Env, c.Policy, c.Front, c.Reference = "MultiRastrigin-v0", "vector", 5, []float64{-1, -1}
		change(c)
	}
}

func TestBadInput(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no descriptor", func(c *Config) { c.Env = "Acrobot-v1" }, "Acrobot-v1 describes no behavior"},
		{"sides", func(c *Config) { c.Archive = "grid:4,4,4" }, "2 numbers, one for each number"},
		{"cells", func(c *Config) { c.Archive = "grid:100000" }, "at most 16777216 cells"},
		{"too many cells", func(c *Config) { c.Archive, c.Memory = "cvt:1000", 4000 }, "fewer cells: 1000 "},
		{"unknown archive", func(c *Config) { c.Archive = "gird" }, "did you mean grid?"},
		{"unknown emitter", func(c *Config) { c.Emitter = "line" }, "one of "},
		{"bounds", func(c *Config) { c.Parted = c.Parted.With("emitter.bounds", "1,0") }, "LOW,HIGH"},
		{"an unbounded element", func(c *Config) { c.Descriptor = "observations" }, "finite bounds of element 1"},
		{"a missing element", func(c *Config) {
			c.Descriptor = "observations"
			c.Parted = c.Parted.With("descriptor.elements", "4")
		}, "numbers from 0 to 3"},
		{"no element", func(c *Config) {
			c.Descriptor = "observations"
			c.Parted = c.Parted.With("descriptor.elements", "")
		}, "one element or more, as in 0,1"},
		{"sample", func(c *Config) { c.Sample = 3 }, "xlarun play RUN --cell N"},
		{"an unknown environment", func(c *Config) { c.Env = "Nothing-v0" }, "env"},
		{"a strategy's number", func(c *Config) {
			c.Parted = c.Parted.With("strategy.sigma", 2)
		}, "isoline has no"},
		{"a strategy's text", func(c *Config) {
			c.Parted = c.Parted.With("strategy.sigma", "x")
		}, "want a number"},
		{"a game", func(c *Config) { c.Env = "TicTacToe-v1" }, "environment of one player"},
		{"a strategy that nothing uses", func(c *Config) { c.Strategy = "snes" }, "isoline has no"},
		{"a strategy that cannot emit", func(c *Config) { c.Emitter, c.Strategy = "searches", "neat" },
			"one that searches vectors, such as sepcmaes: the genomes of neat"},
		{"cells are counted before they are computed", func(c *Config) {
			c.Archive, c.Memory = "cvt:16777216", 1<<30
		}, "fewer cells: 16777216 "},
		{"one objective", func(c *Config) { c.Front = 5 },
			"such as MultiRastrigin-v0, Noisy-v0, Plain-v0, ZDT1-v0: this one"},
		{"no descriptor but objectives", func(c *Config) { c.Env, c.Policy = "ZDT1-v0", "vector" },
			"--archive nsga2 needs none"},
		{"a front without cells", several(func(c *Config) { c.Archive, c.Front = "nsga2", 3 }),
			"nsga2 has no cells"},
		{"a front without cells", several(func(c *Config) { c.Archive = "unstructured" }),
			"unstructured has no cells"},
		{"novelty of an archive with cells", func(c *Config) {
			c.Emitter, c.Parted = "searches", c.Parted.With("emitter.ranking", "novelty")
		}, "measures no novelty"},
		{"elites no distance apart", func(c *Config) {
			c.Archive, c.Parted = "unstructured", c.Parted.With("archive.distance", "0")
		}, "a number above 0"},
		{"more elites than memory", func(c *Config) { c.Archive, c.Memory = "unstructured:1000000", 1<<20 },
			"fewer elites: 1000000 "},
		{"an unknown objective", several(func(c *Config) { c.Names = "at_0,at_1" }),
			"of these: at_0, at_2.2, return"},
		{"an objective twice", several(func(c *Config) { c.Names = "at_0,at_0" }), "different objectives"},
		{"one of the objectives", several(func(c *Config) { c.Names = "at_0" }), "two or more"},
		{"a short reference point", several(func(c *Config) { c.Reference = []float64{1} }),
			"\"1\", want 2 numbers"},
		{"no reference point", several(func(c *Config) { c.Reference = nil }), "want 2 numbers with commas"},

		{"searches by one fitness", several(func(c *Config) { c.Emitter = "searches" }), "isoline or sbx"},
		{"thresholds", several(func(c *Config) { c.Annealing.Rate.Value = .1 }), "here are several objectives"},
		{"objectives of a plain archive", several(func(c *Config) { c.Front, c.Names = 0, "at_0" }),
			"--front 50 or --archive nsga2"},
		{"a large population", several(func(c *Config) {
			c.Front, c.Archive, c.Batch, c.Memory = 0, "nsga2:60000", 60000, 1<<30
		}), "60000 members take about"},
		{"mutation without bounds", func(c *Config) { c.Emitter = "sbx" }, "--emitter isoline needs none"},
		{"a descriptor without use", several(func(c *Config) {
			c.Front, c.Archive, c.Descriptor = 0, "nsga2", "observations"
		}), "has no use for descriptors"},
	} {
		config := small()
		c.change(&config)
		err := config.Check(plan.Machine{Devices: 2})
		var wrong *settings.Error
		require.ErrorAs(t, err, &wrong, c.name)
		require.ErrorContains(t, err, c.want, c.name)
	}
	require.ErrorContains(t, checkSpace(envs.Box{Low: []float64{0}, High: []float64{math.Inf(1)}, Dims: []int{1},
		DType: graph.Float32}), "finite")
	require.ErrorContains(t, checkSpace(envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{0},
		DType: graph.Float32}), "one number or more: a list of its settings is empty")
}

// NSGA-II suits sbx where genomes have bounds; what is given stays.
func TestEmitterOfAnArchive(t *testing.T) {
	c := DefaultConfig()
	c.Env, c.Archive = "ZDT1-v0", "nsga2:20"
	require.Equal(t, "sbx", c.Suggested()["emitter"])
	c.Env = "Gather-v1"
	require.NotContains(t, c.Suggested(), "emitter", "genomes without bounds")
	c.Env, c.Archive = "Arm-v0", "grid:8"
	require.NotContains(t, c.Suggested(), "emitter")
}

// A reference point from which hypervolumes are infinite is refused; one at the bound gives finite ones.
func TestReferenceIsNear(t *testing.T) {
	c := small()
	several(func(*Config) {})(&c)
	c.Reference = []float64{-1, -1.1e15}
	require.ErrorContains(t, c.Check(plan.Machine{Devices: 1}), "numbers from -1e+15 to 1e+15")
	c.Reference[1] = math.NaN()
	require.ErrorContains(t, c.Check(plan.Machine{Devices: 1}), "a number for each objective")
	for k := 2; k <= mostObjectives; k++ {
		sum := graph.Full(graph.ShapeOf(graph.Float32, k), 2*mostReference(k)).Prod().Mul(mostCells)
		require.False(t, math.IsInf(floats(t, sum)[0], 1))
	}
}

// A job makes its program once for the names of metrics, the display and the start. It does not see later changes of
// the settings, and another job does.
func TestProgramIsMadeOnce(t *testing.T) {
	c := small()
	once := c.once()
	c.Parted = c.Parted.With("emitter.iso-sigma", "0.5")
	p, err := once.program()
	require.NoError(t, err)
	q, err := once.program()
	require.NoError(t, err)
	require.Same(t, p, q)
	q, err = c.once().program()
	require.NoError(t, err)
	require.NotSame(t, p, q)
	require.Equal(t, .5, q.Emitter.(*IsoLine).IsoSigma.Value)
	c.Archive = "grid:0"
	_, err = c.once().program()
	require.Error(t, err)
}

// The stored config has the layout that was chosen, and a run with it gives the same bytes.
func TestChosenLayout(t *testing.T) {
	c := small()
	c.Tile, c.Unroll = 0, 0
	r := start(t, &xlabridge.Reference{}, c)
	chosen := r.Profile().Chosen
	require.Positive(t, chosen["tile"])
	require.Equal(t, 1, chosen["unroll"])
	_, want := advance(t, r, 2)
	require.NoError(t, chosen.Apply(&c, "the run", ""))
	_, got := advance(t, start(t, &xlabridge.Reference{}, c), 2)
	require.Equal(t, want, got)
}

// An environment suggests a reference point for those of its objectives that a run names, too.
func TestReferenceOfNamedObjectives(t *testing.T) {
	c := small()
	several(func(c *Config) { c.Reference = nil })(&c)
	for names, want := range map[string][]float64{"": {1, 2}, "at_0,at_2.2": {1, 2}, "at_2.2,at_0": {2, 1},
		"at_0,return": nil, "at_0,at_1": nil} {
		c.Names = names
		require.Equal(t, want, c.referenceOf([]float64{1, 2}), names)
	}
	c.Names = "at_2.2,at_0"
	require.Equal(t, []float64{-2000, -2000}, c.Suggested()["reference-point"])
	c.Front = 0
	require.NotContains(t, c.Suggested(), "reference-point", "one elite in a cell")
}

// What a program is for names no strategy and no descriptor that the run does not use.
func TestPurposeNamesWhatIsUsed(t *testing.T) {
	c := small()
	require.Equal(t, "qd env CartPole-v1, policy linear, steps 20, episodes 1, eval-envs 64, eval-every 2, "+
		"batch 24, archive grid:6, emitter isoline, descriptor env, tile 8, batch-last false", c.Job().Purpose)
	c.Emitter = "searches"
	require.Contains(t, c.Job().Purpose, "strategy sepcmaes")
	several(func(c *Config) { c.Archive, c.Front = "nsga2", 0 })(&c)
	require.NotContains(t, c.Job().Purpose, "descriptor")
}

// A hypervolume of 0 says why.
func TestNobodyExceedsTheReference(t *testing.T) {
	o := Objectives{Reference: []float64{3, -2.5}}
	require.Contains(t, o.remark(0, 4), "no member exceeds the reference point in all objectives: "+
		"--reference-point 3,-2.5")
	require.Empty(t, o.remark(0, 0), "nobody at all")
	require.Empty(t, o.remark(.5, 4))
	c := small()
	several(func(c *Config) { c.Reference = []float64{1000, 1000} })(&c)
	p, err := c.program()
	require.NoError(t, err)
	metric := func(name string) float64 { return map[string]float64{"elites": 3}[name] }
	require.Contains(t, p.Container.Summary(metric), "--reference-point 1000,1000")
	c.Front, c.Archive = 0, "nsga2:20"
	p, err = c.program()
	require.NoError(t, err)
	require.Contains(t, p.Container.Summary(metric), "--reference-point 1000,1000")
}
