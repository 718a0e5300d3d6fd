// Package qd searches for many different members of high fitness: quality-diversity search by MAP-Elites (Mouret and
// Clune, "Illuminating search spaces by mapping elites", 2015). An archive, an emitter and the scores of episodes meet
// in one compiled generation (generation.go).
package qd

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"xlarun/envs"
	_ "xlarun/envs/tasks" // tasks of one step; no other kind needs them
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/quantity"
	"xlarun/rollout/episode"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "qd",
		Short: "Fill an archive with members that behave differently, each as good as can be",
		Long: "Qd searches for many good members that differ in behavior (quality diversity, MAP-Elites). A behavior " +
			"descriptor says how a member behaved, such as its mean speed. An archive divides the descriptors into " +
			"cells and keeps the best member of each cell. The run's folder holds the files of an evolve run, and " +
			"archive.safetensors: cells, fitness, descriptors and genomes.",
		Example: "  xlarun qd CartPole-v1\n" +
			"  xlarun qd Arm-v0 --archive cvt:10000 --batch 4096\n" +
			"  xlarun qd Forage-L1-v1 --archive grid:20,20 --emitter.line-sigma 0.1\n" +
			"  xlarun qd Pendulum-v1 --descriptor observations --descriptor.elements 0,2 --descriptor.bounds=-1,1,-8,8",
		Argument:  "env",
		Version:   5,
		Unit:      "generation",
		Length:    "generations",
		Unbounded: true,
		Work:      "computed environment steps of all members",
		Picture:   "archive",
		New: func() run.Experiment {
			c := DefaultConfig()
			return &c
		},
	})
}

// Config is one experiment. Start from DefaultConfig.
type Config struct {
	run.EpisodeSettings
	run.EvalSettings
	run.Common
	run.Budget
	Batch       int    `set:"batch" min:"1" max:"16777216" help:"members of a generation"`
	Generations int    `set:"generations" short:"g" program:"no" resume:"any" min:"1" max:"1073741823" help:"generations at most"`
	Archive     string `set:"archive" help:"cells of descriptors, or another way to keep members"`
	Emitter     string `set:"emitter" help:"what makes new members from the archive (sbx where --archive nsga2 has bounds)"`
	Descriptor  string `set:"descriptor" help:"what describes the behavior of a member"`
	Strategy    string `set:"strategy" help:"what an emitter such as searches searches with"`
	Scoring
	run.Layout
	made func() (*Program, error) // the program of these settings, made once; nil: made in each call
}

// Scoring are the settings of what counts in an archive.
type Scoring struct {
	Offset    settings.Number `set:"qd-offset" help:"number that qd_score adds for each elite, to its fitness"`
	Annealing `advanced:""`
	Objectives
}

// DefaultConfig is MAP-Elites on CartPole.
func DefaultConfig() Config {
	return Config{
		EpisodeSettings: run.EpisodeSettings{
			EnvSettings:  run.EnvSettings{Env: "CartPole-v1", Policy: "mlp:16,16"},
			Steps:        500,
			Episodes:     1,
			GoalSettings: run.GoalSettings{Target: "0", EvalEpisodes: 100},
		},
		EvalSettings: run.EvalSettings{EvalEnvs: 64, EvalEvery: 10},
		Batch:        256, Generations: 500, Archive: "grid:32", Emitter: "isoline", Descriptor: "env",
		Strategy: "sepcmaes",
		Scoring:  Scoring{Annealing: Annealing{Rate: settings.Num(1)}},
	}
}

// Parts returns archive, emitter, strategy, descriptor and policy.
func (c *Config) Parts() []settings.Part {
	return []settings.Part{archives.Part(), emitters.Part(), strategy.Part(), descriptors.Part(), policy.Part()}
}

// Board returns the rows of the display. Rows whose metrics the archive does not have are hidden.
func (c *Config) Board() []run.DisplayRow {
	goal := run.TargetText(c.Env, c.Goal)
	best, evaluated := goal, []run.DisplayRow(nil) // the target is behind the number that decides
	if c.EvalEnvs > 0 {
		best, evaluated = "", []run.DisplayRow{run.EvalRow(goal)}
	}
	rows := []run.DisplayRow{
		{Label: "coverage", Plain: true, Rare: true, Parts: []run.Part{{Metric: "coverage", Format: run.Percent}},
			Curve: "coverage", Color: "cyan"},
		{Label: "QD score", Plain: true, Rare: true, Parts: []run.Part{{Metric: "qd_score"}}, Curve: "qd_score",
			Color: "green"},
		{Label: "hypervolume", Plain: true, Rare: true, Parts: []run.Part{{Metric: "hypervolume"},
			{Before: ", of all cells ", Metric: "moqd_score"}}, Curve: "hypervolume", Color: "green"},
		{Label: "elites", Plain: true, Rare: true, Parts: []run.Part{{Metric: "elites", Format: run.Whole},
			{Before: ", ", Metric: "first_front", Format: run.Whole, Behind: " of them non-dominated"}}},
		{Label: "best", Plain: true, Parts: []run.Part{{Metric: "best_fitness", Behind: best},
			{Before: ", mean elite ", Metric: "elite_mean"}}},
		{Label: "changed", Rare: true, Parts: []run.Part{{Metric: "new_cells", Format: run.Whole, Behind: " new cells",
			One: " new cell"},
			{Before: ", ", Metric: "improved", Format: run.Whole, Behind: " better elites", One: " better elite"}}},
		{Label: "added", Rare: true, Parts: []run.Part{{Metric: "added", Format: run.Whole, Behind: " new elites",
			One: " new elite"}}},
		{Label: "outside", Plain: true, Rare: true, Parts: []run.Part{
			{Metric: "clipped_descriptors", Format: run.Whole, Behind: " descriptors clipped to their bounds",
				One: " descriptor clipped to its bounds"}}},
		{Label: "dropped", Plain: true, Rare: true, Parts: []run.Part{
			{Metric: "dropped_members", Format: run.Whole, Behind: " members without a finite fitness or descriptor",
				One: " member without a finite fitness or descriptor"}}},
	}
	rows = append(rows, evaluated...)
	if p, err := c.program(); err == nil {
		rows = append(rows, p.Container.Traits().Rows...)
	}
	return rows
}

// Rollout returns how members are evaluated.
func (c *Config) Rollout() (*episode.Rollout, error) {
	r, err := c.EpisodeSettings.Rollout()
	if err != nil {
		return nil, err
	}
	archive, err := archives.Choose(c.Archive, c.Parted.Under("archive."))
	if err != nil {
		return nil, err
	}
	maker, err := descriptors.Choose(c.Descriptor, c.Parted.Under("descriptor."))
	if err != nil {
		return nil, err
	}
	if !archive.Needs().Descriptor {
		if c.Descriptor != DefaultConfig().Descriptor {
			return nil, settings.Wrong("descriptor", c.Descriptor, "env: the archive %s has no use for descriptors",
				c.Archive)
		}
		return r, nil
	}
	if r.Descriptor, err = maker.Make(r.Env); err != nil {
		return nil, err
	}
	return r, checkSpace(r.Descriptor.Space())
}

// Check finds the first mistake in the config, a *settings.Error.
func (c *Config) Check(on plan.Machine) error {
	p, err := c.program()
	if err != nil {
		return err
	}
	return c.checkMemory(p, on, 0, 0)
}

// program returns the generation without its layout, for any machine. It is shared: a caller that changes a field, such
// as Play, changes a copy of the Program and of what the field points to.
func (c *Config) program() (*Program, error) {
	if c.made != nil {
		return c.made()
	}
	return c.makeProgram()
}

// makeProgram is program, made anew.
func (c *Config) makeProgram() (*Program, error) {
	if err := settings.Check(c); err != nil {
		return nil, err
	}
	r, err := c.Rollout()
	if err != nil {
		return nil, err
	}
	p := &Program{Play: &episode.PopulationRollout{Rollout: r}}
	if r.Descriptor != nil {
		p.Space = r.Descriptor.Space()
	}
	if err := c.parts(p); err != nil {
		return nil, err
	}
	if c.Sample > 0 {
		return nil, settings.Wrong("sample", c.Sample, "0: xlarun play RUN --cell N plays an elite")
	}
	return p, c.genome(p)
}

// parts sets the archive and the emitter of a program, given how it plays and the space of its descriptors.
func (c *Config) parts(p *Program) (err error) {
	p.Scoring = c.Scoring
	if p.Container, err = c.container(p); err != nil {
		return err
	}
	if p.Emitter, err = emitters.Choose(c.Emitter, c.Parted.Under("emitter.")); err != nil {
		return err
	}
	emitter := p.Emitter.Traits()
	if emitter.SetStrategy != nil {
		s, err := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
		if err != nil {
			return err
		}
		if s.Fit != nil { // its genomes are no vectors, which an archive keeps
			return settings.Wrong("strategy", c.Strategy, "one that searches vectors, such as %s: the genomes "+
				"of %s have a structure of their own, and archives keep vectors", DefaultConfig().Strategy, c.Strategy)
		}
		emitter.SetStrategy(s, c.Batch)
		if p.Objectives.Names != "" {
			return settings.Wrong("emitter", c.Emitter, "isoline or sbx: its searches rank members by one "+
				"fitness, and here are several objectives")
		}
	} else if err := c.checkNoStrategy(); err != nil {
		return err
	}
	if e, ok := p.Emitter.(*Searches); ok && e.Ranking == rankNovelty && p.Container.Traits().Near == nil {
		return settings.Wrong("emitter.ranking", e.Ranking, "another one, or --archive unstructured: the archive "+
			"%s measures no novelty", c.Archive)
	}
	if emitter.Check != nil {
		if err := emitter.Check(c.Batch); err != nil {
			return err
		}
	}
	emitter = p.Emitter.Traits() // with the reports of its strategy
	if msg := envs.CheckReports(emitter.Reports, emitter.Report != nil); msg != "" {
		return envs.ResultError(p.Emitter, "emitter", "Traits", msg)
	}
	return nil
}

// container returns the archive. It sets the needs and the objectives of the program.
func (c *Config) container(p *Program) (Container, error) {
	maker, err := archives.Choose(c.Archive, c.Parted.Under("archive."))
	if err != nil {
		return nil, err
	}
	var of Measures
	if len(p.Space.Dims) > 0 {
		of.Descriptor = p.Space.Dims[0]
	}
	if p.Needs = maker.Needs(); !p.Needs.Cells && c.Front > 0 {
		return nil, settings.Wrong("front", c.Front, "0: the archive %s has no cells, in which fronts could be",
			c.Archive)
	}
	if p.Needs.Objectives || c.Front > 0 {
		if p.Objectives, err = c.selectObjectives(p.Play.Env.Spec()); err != nil {
			return nil, err
		}
		if c.Annealing.Rate.Value < 1 {
			return nil, settings.Wrong("learning-rate", c.Annealing.Rate.Value, "1: thresholds are for one fitness, "+
				"and here are several objectives")
		}
	} else if key, value, ok := c.givenSetting(); ok {
		return nil, settings.Wrong(key, value, "none: the archive %s keeps members by their return. --front 50 or "+
			"--archive nsga2 keep them by several objectives", c.Archive)
	} else {
		p.Objectives = Objectives{}
	}
	of.Objectives = p.Objectives
	made, err := maker.Make(of)
	if err != nil {
		return nil, err
	}
	if k := len(of.names()); hypervolumeWork(made.Most(), k) > mostHypervolumeWork {
		return nil, settings.Wrong("archive", c.Archive, "%s: the hypervolumes take too long, of %d elites with %d "+
			"objectives", c.fewer(), made.Most(), k)
	}
	return made, nil
}

// fewer says how an archive becomes smaller.
func (c *Config) fewer() string {
	if c.Front > 0 {
		return "fewer cells or a smaller --front"
	}
	if maker, err := archives.Choose(c.Archive, nil); err == nil && !maker.Needs().Cells {
		return "fewer elites"
	}
	return "fewer cells"
}

// checkNoStrategy refuses a strategy and settings of it that are no defaults, for an emitter that has none. A config
// file of a run names the defaults.
func (c *Config) checkNoStrategy() error {
	chosen, err := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
	if err != nil {
		return err
	}
	if c.Strategy != DefaultConfig().Strategy {
		return settings.Wrong("strategy", c.Strategy, "--emitter searches with it: the emitter %s has no strategy",
			c.Emitter)
	}
	usual := strategy.Part().Choices[settings.Choice(c.Strategy)]
	for _, name := range slices.Sorted(maps.Keys(c.Parted.Under("strategy."))) {
		given, _ := settings.Lookup(chosen.Settings, name)
		if standard, _ := settings.Lookup(usual, name); given.Text() != standard.Text() {
			return settings.Wrong("strategy."+name, c.Parted["strategy."+name],
				"--emitter searches with it: the emitter %s has no strategy", c.Emitter)
		}
	}
	return nil
}

// genome sets the layout of genomes. It refuses a policy whose parameters are not all float32.
func (c *Config) genome(p *Program) error {
	var params any
	if err := graph.Try(func() { params = p.Play.Policy.Init(random.New(0)) }); err != nil {
		return err
	}
	if len(graph.Leaves(params)) == 0 {
		return settings.Wrong("policy", c.Policy, "a policy with parameters, which a search changes: its Init "+
			"returns none")
	}
	if path, shape, other := population.OtherDType(params); other {
		return settings.Wrong("policy", c.Policy, "a policy whose parameters are all float32 (its %s is %s)", path,
			shape)
	}
	p.Genomes = population.LayoutOf(params)
	return nil
}

// hostCopies is the number of archives in the memory of the host at the end of a run: a copy of the state, and the
// file.
const hostCopies = 2

// predicted returns the bytes of the archive, and those that a generation is likely to take on a device: the archive,
// the members as the device scored them and as all devices have them, and what the container needs. Tables are not
// among them.
func (c *Config) predicted(p *Program, on plan.Machine) (archive, device int64, err error) {
	n := p.Genomes.Size()
	if err = graph.Try(func() { archive = graph.TreeBytes(p.Container.Empty(n, p.Scoring)) }); err != nil {
		return 0, 0, err
	}
	row := n + len(p.Objectives.names()) + 3
	if len(p.Space.Dims) > 0 {
		row += p.Space.Dims[0]
	}
	device = archive + 2*4*int64(row)*int64(c.Batch)
	if w := p.Container.Traits(); w.Workspace != nil {
		reads, err := p.Play.Reads()
		if err != nil {
			return 0, 0, err
		}
		episodes := plan.EpisodeBatch(c.Episodes, reads.Member(), on.Accelerator)
		tile := plan.TilingOf(c.Batch, 1, reads, episodes, on.Accelerator).Tile()
		if c.Tile > 0 {
			tile = c.Tile
		}
		device += w.Workspace(c.Batch, tile)
	}
	return archive, device, nil
}

// checkMemory refuses an archive that does not fit in the free memory. compiled are the bytes that the compiled
// generation takes on a device, its tables among them; 0: it is not compiled yet, and what tables take is not known.
// The host has the tables, too, and at the end each device has those of the re-evaluation.
func (c *Config) checkMemory(p *Program, on plan.Machine, compiled, tables int64) error {
	n, err := policy.Size(p.Play.Policy)
	if err != nil {
		return err
	}
	free := on.Free
	if c.Memory > 0 {
		free = int64(c.Memory)
	}
	devices := int64(max(1, c.Devices))
	if c.Devices == 0 {
		devices = int64(max(1, on.Devices))
	}
	archive, predicted, err := c.predicted(p, on)
	if err != nil {
		return err
	}
	if compiled == 0 {
		compiled = predicted
	}
	need := devices * (compiled + tables)
	if !on.Accelerator { // the host has the same memory
		need += tables + hostCopies*archive
	}
	if free > 0 && need > free {
		return settings.Wrong("archive", c.Archive, "%s: %d of %d parameters and %d members take about %s on %s%s",
			c.fewer(), p.Container.Most(), n, c.Batch, plan.BytesText(need),
			quantity.Count(devices, "device", "devices"), plan.MoreThan(free, c.Memory > 0))
	}
	return nil
}

// layout is EpisodeSettings.PopulationRollout for the settings of the plan that are given.
func (c *Config) layout(b xlabridge.Backend, p *Program) error {
	s, err := c.PopulationRollout(b, c.Devices, c.Batch)
	if err != nil {
		return err
	}
	if c.Tile > 0 {
		s.Plan.Tile = c.Tile
	}
	s.Plan.BatchLast = c.BatchLast
	if c.Unroll > 0 {
		s.Plan.Unroll = c.Unroll
	}
	s.Descriptor = p.Play.Descriptor
	s.Tiles = population.CutTiles(c.Batch, s.Plan.Tile, s.Plan.Devices)
	p.EvalMembers, s.Spread = c.EvalMembers(c.Episodes), c.EvalEnvs > 0
	s.Tiles = s.Tiles.WithExtra(p.EvalMembers)
	p.Play = s
	return nil
}

// Start traces one generation, compiles it for b (through the cache) and puts the first state on the devices.
func (c *Config) Start(_ context.Context, b xlabridge.Backend) (run.Run, error) {
	if err := c.Check(plan.MachineOf(b, c.Devices)); err != nil {
		return nil, err
	}
	made, err := c.program()
	if err != nil {
		return nil, err
	}
	p := &Program{}
	*p = *made
	if err := c.layout(b, p); err != nil {
		return nil, err
	}
	var first State
	if err := graph.Try(func() { first = p.Start(random.New(c.Seed)) }); err != nil {
		return nil, err
	}
	in := Inputs{Every: graph.Of(int32(c.EvalEvery)), Play: p.Play.Inputs(), Tables: p.Container.Tables(),
		Numbers: p.numbers()}
	loop, err := run.NewLoop(b, run.LoopOptions{Name: "generation", Purpose: c.purpose(), Plan: p.Play.Plan,
		Computed: true, EnvSteps: true, Fits: func(made run.Program) error {
			return c.checkMemory(p, plan.MachineOf(b, c.Devices), made.MemoryBytes, graph.TreeBytes(in.Tables))
		}}, first, in, p.Run)
	if err != nil {
		return nil, err
	}
	rare := map[string]string{"clipped": "clipped_descriptors", "dropped": "dropped_members"}
	maps.Copy(rare, p.Container.Traits().Rare)
	return &Run{Loop: loop, config: *c, program: p, backend: b, inputs: in, rare: rare,
		target: c.Goal(p.Play.Env.Spec())}, nil
}

// checkSpace refuses a descriptor without a number, and one without finite bounds.
func checkSpace(space envs.Box) error {
	if space.Shape().Size() == 0 {
		return settings.Wrong("descriptor", fmt.Sprint(space), "one number or more: a list of its settings is empty")
	}
	low, high := boundsOf(space)
	for i := range low {
		if !(math.Abs(float64(low[i])) < envs.Unbounded && math.Abs(float64(high[i])) < envs.Unbounded) ||
			low[i] >= high[i] {
			return settings.Wrong("descriptor", fmt.Sprint(space), "bounds of each number that are finite, the lower "+
				"one first")
		}
	}
	return nil
}
