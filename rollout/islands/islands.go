// Package islands evolves several populations at once, which exchange their best members.
package islands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/evolve/vectorized"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "islands",
		Short: "Evolve several populations in an environment, whose best members travel",
		Long: "Islands evolves several populations at once, in one compiled program: each is a search of its own, as " +
			"xlarun evolve runs one. Every few generations copies of the best members of each leave for other " +
			"islands, where they replace the worst members. Islands may have hyper-parameters of their own: " +
			"--strategy.sigma 0.05..0.5. The run's folder holds the files of an evolve run, and islands.json: the " +
			"results of each island, and the islands from which its survivors descend.",
		Example: "  xlarun islands CartPole-v1 --islands 8 --pop 64\n" +
			"  xlarun islands Acrobot-v1 --islands 16 --topology torus --migrate-every 5\n" +
			"  xlarun islands CartPole-v1 --islands 8 --strategy.sigma 0.02..0.5 --strategy.learning-rate 0.01,0.05",
		Argument:  "env",
		Version:   4,
		Unit:      "generation",
		Length:    "generations",
		Unbounded: true,
		Work:      "computed environment steps of all members",
		New: func() run.Experiment {
			c := DefaultIslands()
			return &c
		},
	})
}

// Islands is one experiment of several searches. Start from DefaultIslands.
type Islands struct {
	generation.Search // of each island
	generation.MigrationSettings
	Islands  int    `set:"islands" min:"2" max:"1024" help:"populations that evolve side by side, each of --pop members"`
	Topology string `set:"topology" oneof:"ring,torus,random" help:"from where members come to an island: from the island before it (ring), from its neighbors on a grid that is closed at its ends (torus), or each from any other island, drawn anew (random)"`
	// Explore is the number of generations between calls of explore.
	Explore int `set:"explore-every" advanced:"" min:"0" max:"1073741823" help:"generations after which the worst fifth of the islands go on with the searches of the best fifth, and with their hyper-parameters changed (population-based training); 0: never"`
}

// Values of Islands.Topology.
const (
	TopologyRing   = "ring"
	TopologyTorus  = "torus"
	TopologyRandom = "random"
)

// DefaultIslands are 8 islands of 64 members on a ring.
func DefaultIslands() Islands {
	c := generation.DefaultSearch()
	c.Population = 64
	return Islands{Search: c, MigrationSettings: generation.DefaultMigration(), Islands: 8, Topology: TopologyRing}
}

// maxDescent bounds the shares of descent, f32[islands, places, islands].
const maxDescent = 1 << 26

// EachOfParts reports that Numbers of parts may differ between islands.
func (*Islands) EachOfParts() bool { return true }

// With returns the experiment with one more setting of a part: With("strategy.sigma", .2).
func (c Islands) With(name string, value any) Islands {
	c.Search = c.Search.With(name, value)
	return c
}

// perIsland returns the search of the first island, and the Numbers that differ between islands, by full name.
func (c *Islands) perIsland() (one generation.Search, each map[string][]float64, err error) {
	if err := settings.Check(c); err != nil {
		return c.Search, nil, err
	}
	one = c.Clone()
	one.Devices = 1
	one.EvalEnvs = (c.EvalEnvs + c.Islands - 1) / c.Islands // all evaluate one member, each on as many episodes
	each = map[string][]float64{}
	for _, p := range c.Parts() {
		f, ok := settings.Lookup(c, p.Name)
		if !ok {
			continue
		}
		chosen, ok := p.Choices[settings.Choice(f.Text())]
		if !ok {
			continue // Check refuses it
		}
		if err := c.Parted.Under(p.Name+".").ApplyEach(chosen, "the "+p.Name+" "+f.Text(), p.Name+"."); err != nil {
			return one, nil, err
		}
		for _, f := range settings.Fields(chosen) {
			if n, ok := f.Number(); ok && n.Each != "" {
				name := p.Name + "." + f.Name
				if n.Listed() > c.Islands {
					return one, nil, settings.Wrong(name, n.Each, "at most %d numbers, one for each island, or a "+
						"range: the others would not be used", c.Islands)
				}
				each[name] = n.Several(c.Islands, name, c.Seed)
				one.Parted = one.Parted.With(name, n.Value)
			}
		}
	}
	return one, each, nil
}

// ofIsland returns the search of one island with its own Numbers.
func ofIsland(one generation.Search, each map[string][]float64, island int) generation.Search {
	for name, values := range each {
		one = one.With(name, values[island])
	}
	return one
}

// Suggested returns settings for the environment, and as many migrants as the population allows.
func (c *Islands) Suggested() settings.Values {
	values := c.EpisodeSettings.Suggested()
	c.SuggestEval(values, c.Islands*c.Population*c.Episodes)
	c.SuggestMigrants(values, c.MigrationSettings)
	return values
}

// Check returns the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Islands) Check(on plan.Machine) error {
	_, _, err := c.setup(on)
	return err
}

// setup checks the config and lays out one island. It also returns the Numbers that differ between islands.
func (c *Islands) setup(on plan.Machine) (*generation.Setup, map[string][]float64, error) {
	one, each, err := c.perIsland()
	if err != nil {
		return nil, nil, err
	}
	if c.Explore > 0 && len(each) == 0 {
		return nil, nil, settings.Wrong("explore-every", c.Explore, "a setting of which each island has its own, "+
			"such as --strategy.sigma 0.05..0.5: there is nothing to explore")
	}
	if err := c.CheckDevices(on.Devices); err != nil {
		return nil, nil, err
	}
	if len(each) > 0 { // Numbers of an island may not fit together
		for i := range c.Islands {
			island := ofIsland(one, each, i)
			if _, err := strategy.Make(island.Strategy, island.Parted.Under("strategy.")); err != nil {
				return nil, nil, err
			}
		}
	}
	on.Free /= int64(c.Islands)
	if one.Memory > 0 {
		one.Memory = max(1, one.Memory/settings.Bytes(c.Islands))
	}
	x, err := one.NewSetup(generation.Options{Migrants: c.Migrants, Islands: c.Islands, Alone: true}, on)
	if e, ok := errors.AsType[*settings.Error](err); ok && e.Key == "memory" {
		return nil, nil, settings.Wrong("memory", c.Memory, "%s, as each of the %d islands has a part of it", e.Wants,
			c.Islands)
	}
	if err != nil {
		return nil, nil, err
	}
	places := 1
	if x.Strategy.Parent != nil {
		places = x.Strategy.Places(c.Population)
	}
	if c.Islands*c.Islands*places > maxDescent {
		return nil, nil, settings.Wrong("islands", c.Islands, "fewer: of %d genomes on each, the shares of all "+
			"islands take more than %d numbers", places, maxDescent)
	}
	return x, each, nil
}

// Purpose describes the program.
func (c *Islands) Purpose() string {
	return fmt.Sprintf("%d islands (%s, %d travel), each %s", c.Islands, c.Topology, c.Migrants, c.one().Purpose())
}

// several lists the Numbers that differ between islands, or none if they are wrong.
func (c *Islands) several() []string {
	_, each, err := c.perIsland()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(each))
}

// one returns the search of the first island, for descriptions.
func (c *Islands) one() *generation.Search {
	one, _, err := c.perIsland()
	if err != nil {
		one = c.Clone()
	}
	return &one
}

// Board returns the rows of a display.
func (c *Islands) Board() []run.DisplayRow {
	rows := c.one().Board()
	first, failed := rows[:len(rows)-3], rows[len(rows)-1]
	mean := rows[len(rows)-3].Parts[0].Behind
	return slices.Concat(first, []run.DisplayRow{
		{Label: "island", Plain: true, Parts: []run.Part{{Before: "best mean ", Metric: "best_mean", Behind: mean},
			{Before: ", all ", Metric: "mean_fitness"}}, Curve: "best_mean", Color: "cyan"},
		{Label: "diversity", Plain: true, Parts: []run.Part{{Before: "between ", Metric: "diversity", Format: run.Loss},
			{Before: ", within ", Metric: "diversity_within", Format: run.Loss}}, Curve: "diversity"},
		{Label: "migration", Plain: true, Parts: []run.Part{
			{Metric: "immigrants", Format: run.Whole, Behind: " taken in"}, {Before: ", foreign ", Metric: "foreign",
				Format: run.Percent}}},
		failed,
	})
}

// ChoosePlan chooses the plan of an island.
func (c *Islands) ChoosePlan(ctx context.Context, b xlabridge.Backend) (plan.Choice, error) {
	one, _, err := c.perIsland()
	if err != nil {
		return plan.Choice{}, err
	}
	x, err := one.NewSetup(generation.Options{}, plan.MachineOf(b, one.Devices))
	if err != nil {
		return plan.Choice{}, err
	}
	choice, err := x.Choose(ctx, b)
	x.Wait()
	return choice, err
}

// Start chooses the plan, traces one generation of all islands, compiles it for b (through the cache) and puts the
// first state on the devices.
func (c *Islands) Start(ctx context.Context, b xlabridge.Backend) (run.Run, error) {
	return NewArchipelago(ctx, b, *c)
}

// MemberCount returns the number of members on all islands.
func (c *Islands) MemberCount(run.Snapshot) (int, error) { return c.Islands * c.Population, nil }

// eachName returns the name in a snapshot of a Number that differs between islands.
func eachName(name string) string {
	_, tree := graph.Flatten(struct{ Each map[string]*graph.Array }{map[string]*graph.Array{name: graph.Scalar(0)}})
	return run.LeafName(tree.Path(0))
}

// Remake makes members again of the populations that a state asks for next. The first island has the first numbers.
func (c *Islands) Remake(b xlabridge.Backend, s run.Snapshot, numbers []int) ([]run.Sampled, error) {
	one, each, err := c.perIsland()
	if err != nil {
		return nil, err
	}
	for name := range each { // as the state has them
		a, ok := s.Arrays[eachName(name)]
		if !ok || a.Size() != c.Islands {
			return nil, fmt.Errorf("the state has no %s of %d islands: take the checkpoint of a run with the same "+
				"settings", name, c.Islands)
		}
		if each[name], err = graph.Floats(a); err != nil {
			return nil, err
		}
	}
	var all []run.Sampled
	for _, n := range numbers {
		island, member := n/c.Population, n%c.Population
		config := ofIsland(one, each, island)
		x, err := config.NewSetup(generation.Options{}, plan.MachineOf(b, config.Devices))
		if err != nil {
			return nil, err
		}
		snapshot, err := vectorized.Snapshot(s, island)
		if err != nil {
			return nil, err
		}
		members, err := x.Remake(b, snapshot, []int{member})
		if err != nil {
			return nil, err
		}
		m := members[0]
		m.Name, m.Number = fmt.Sprintf("member %d of island %d, generation %d", member, island, s.Step+1), n
		all = append(all, m)
	}
	return all, nil
}

// Measures lists the names of a run's metrics.
func (c *Islands) Measures() []string {
	names := []string{"best_fitness", "best_mean", "mean_fitness", "std_fitness", "worst_fitness", "best_ever",
		"mean_length", "failed", run.EnvSteps, run.ComputedSteps, "diversity", "diversity_within", "foreign",
		"immigrants"}
	names = append(append(names, c.EvalMeasures()...), c.ReportNames()...)
	for i := range c.curves() {
		names = append(names, curveOf(i))
	}
	return names
}
