package evolve

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// search is a compiled generation and its state on the devices. A run has one at a time; restarts and growth replace it
// by another one.
type search struct {
	*run.Loop
	config  Config // of this search: with its own population, seed and capacity, and the layout that was chosen
	setup   *generation.Setup
	program *generation.Program
	profile run.Profile
	hall    generation.Hall // without members
	chunk   *chunk          // nil: one host computes the whole population
	others  []string        // prefixes of the arrays in a snapshot that belong to the run's features
}

// newSearch checks the config, chooses the plan, traces one generation, compiles it for b (through the cache) and puts
// the first state on the devices.
func newSearch(ctx context.Context, b xlabridge.Backend, c Config) (*search, error) {
	x, err := c.setup(plan.MachineOf(b, c.Devices))
	if err != nil {
		return nil, err
	}
	if c.hosted() { // a host makes the noise of all members
		if err := x.ForceRegenerate(); err != nil {
			return nil, err
		}
	}
	choice, err := x.Choose(ctx, b)
	var s *search
	if err == nil {
		s, err = c.start(b, x, choice)
	}
	if err != nil {
		x.Wait() // the caller may close the backend now
		return nil, err
	}
	return s, nil
}

// start builds the run within its memory budget. The compiler's number of bytes counts, not the estimate. If it exceeds
// the budget, the run is built again with regenerated noise.
func (c Config) start(b xlabridge.Backend, x *generation.Setup, choice plan.Choice) (*search, error) {
	for {
		s, err := c.compile(b, x, choice)
		if err != nil {
			return nil, err
		}
		bytes := s.profile.PeakMemoryBytes * int64(s.profile.Devices)
		if budget := int64(c.Memory); budget == 0 || bytes <= budget {
			return s, nil
		}
		_ = s.closePrograms()
		if x.Regenerate {
			return nil, x.TooLargeCompiled(bytes)
		}
		if err := x.ForceRegenerate(); err != nil {
			return nil, err
		}
	}
}

// compile traces and compiles a plan and puts its first state on the devices.
func (c Config) compile(b xlabridge.Backend, x *generation.Setup, choice plan.Choice) (*search, error) {
	program, err := x.Program()
	if err != nil {
		return nil, err
	}
	s := &search{config: c, setup: x, program: program}
	s.config.Search = x.Search
	var first generation.State
	if err := graph.Try(func() { first = program.Start(c.key()) }); err != nil {
		return nil, err
	}
	s.hall = first.Hall
	options := run.LoopOptions{Name: "generation", Purpose: x.Purpose(), Plan: x.Layout, EnvSteps: true,
		Computed: x.Params >= generation.LargeMember, Undivided: x.Undivided,
		// An array of an accelerator's state may be a kernel of its own. On a TPU so may be a part of a vector, of
		// which a tree has many.
		Packed: x.Machine.Accelerator && (program.Genomes != nil || b.Backend() != "tpu")}
	in := x.Inputs(x.Groups.PerDevice)
	if c.hosted() {
		err = s.join(b, options, first, in)
	} else {
		options.Counter = x.Counter(x.Groups.Used(), x.Groups.Devices)
		if options.Counter == nil && c.ValidationTarget != 0 {
			options.Counter = run.NewStageCounter()
		}
		in.Counter = options.Counter.Input()
		s.Loop, err = run.NewLoop(b, options, first, in, program.Run)
	}
	if err != nil {
		return nil, err
	}
	s.profile = s.Loop.Profile()
	if s.chunk != nil {
		s.profile.Account(s.chunk.Program())
	}
	s.profile.Choice = choice
	s.profile.PlannedBytes = x.Planned(s.Loop.Compiled().Program)
	s.profile.MemoryBudget = x.Machine.Free
	s.profile.Facts = []run.Fact{{Name: "tile", Value: x.Layout.Tile}, {Name: "tiles", Value: x.Tiles()},
		{Name: "batch_last", Value: x.Layout.BatchLast}, {Name: "unroll", Value: x.Layout.Unroll},
		{Name: "episode_batch", Value: x.Layout.EpisodeBatch},
		{Name: "noise_redrawn", Value: x.Regenerate}, {Name: "parameters", Value: x.Params}}
	s.profile.Chosen = x.Chosen()
	s.profile.Placement = &run.Placement{Lanes: x.Layout.Tile, BatchLast: x.Layout.BatchLast, Member: s.MemberAt}
	return s, nil
}

// close frees the state and the programs. It waits for measurements that still run. What reads only snapshots goes on.
func (s *search) close() error {
	s.setup.Wait()
	return s.closePrograms()
}

func (s *search) closePrograms() error {
	if s.chunk != nil {
		return errors.Join(s.chunk.Close(), s.Loop.Close())
	}
	return s.Loop.Close()
}

// reports returns the names of the numbers that environment, policy and strategy report.
func (s *search) reports() generation.Reports {
	return generation.ReportsOf(s.program.Rollout, s.setup.Strategy)
}

// state returns a snapshot of this search as a generation.State.
func (s *search) state(snapshot run.Snapshot) (state generation.State, err error) {
	v, err := s.Loop.Unflatten(s.ownArrays(snapshot))
	if err != nil {
		return state, err
	}
	return v.(generation.State), nil
}

// ownArrays returns the part of a snapshot that is the program's state. A snapshot of an early version gets an empty
// hall of fame.
func (s *search) ownArrays(snapshot run.Snapshot) run.Snapshot {
	all := maps.Clone(snapshot.Arrays)
	maps.DeleteFunc(all, func(name string, _ *graph.Array) bool {
		return slices.ContainsFunc(s.others, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	if all["hall.fitness"] == nil && len(all) > 0 {
		leaves, tree := graph.Flatten(struct{ Hall generation.Hall }{s.hall})
		for i, a := range leaves {
			all[run.LeafName(tree.Path(i))] = a
		}
	}
	return run.Snapshot{Step: snapshot.Step, Arrays: all}
}

// keptParts are the parts of a state that a search which starts again takes over.
var keptParts = []string{"generation", "best", "hall", "observed", run.EnvSteps}

// takeOver gives the search the best members, the observations and the generation of another one, after a step.
func (s *search) takeOver(ctx context.Context, old run.Snapshot, step int64) error {
	own, err := s.Loop.Snapshot(ctx)
	if err != nil {
		return err
	}
	for name := range own.Arrays {
		if part, _, _ := strings.Cut(name, "."); slices.Contains(keptParts, part) {
			own.Arrays[name] = old.Arrays[name]
		}
	}
	own.Step = step
	return s.Loop.Restore(ctx, own)
}

// MemberAt returns the number of the member that plays in a lane (0 … tile-1) of a tile; -1 for padding.
func (s *search) MemberAt(tile, lane int) int {
	t := s.program.Groups
	group := tile*t.Lanes + lane%t.Lanes
	if group >= t.Items {
		return -1
	}
	return lane/t.Lanes*t.Items + group
}
