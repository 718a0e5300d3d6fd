package evolve

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func init() {
	run.MustRegister(run.Kind{
		Name:  "islands",
		Short: "Evolve several populations in an environment, whose best members travel",
		Long: "Islands evolves several populations at once, in one compiled program: each is a search of its own, as xlarun evolve runs one. Every few\n" +
			"generations copies of the best members of each leave for others, where they are told in the place of the worst. Islands may have\n" +
			"hyper-parameters of their own: --strategy.sigma 0.05..0.5. The run's folder holds what evolve's does, and islands.json: how each\n" +
			"island is, and from which islands its survivors come.",
		Example:  "  xlarun islands CartPole-v1 --islands 8 --pop 64\n  xlarun islands Acrobot-v1 --islands 16 --topology torus --migrate-every 5\n  xlarun islands CartPole-v1 --islands 8 --strategy.sigma 0.02..0.5 --strategy.learning-rate 0.01,0.05",
		Argument: "env",
		Version:  1,
		Unit:     "generation",
		Work:     "environment steps of all members",
		New: func() run.Experiment {
			c := DefaultIslands()
			return &c
		},
	})
}

// Islands is one experiment of several searches. Start from DefaultIslands.
type Islands struct {
	Config          // of each island
	Islands  int    `set:"islands" min:"2" max:"1024" help:"populations that evolve side by side, each of --pop members"`
	Topology string `set:"topology" oneof:"ring,torus,random" help:"from where members come to an island: from the island before it (ring), from its neighbours on a grid that is closed at its ends\n(torus), or each from any other island, drawn anew (random)"`
	// Explore is the number of generations after which the worst islands take over the searches of the best with other Numbers; see explore.
	Explore int `set:"explore-every" min:"0" max:"1073741823" help:"generations after which the worst fifth of the islands go on with the searches of the best fifth, and with their hyper-parameters changed\n(population-based training); 0: never"`
}

// Values of Islands.Topology.
const (
	TopologyRing   = "ring"
	TopologyTorus  = "torus"
	TopologyRandom = "random"
)

// DefaultIslands are 8 islands of 64 members on a ring.
func DefaultIslands() Islands {
	c := DefaultConfig()
	c.Population = 64
	return Islands{Config: c, Islands: 8, Topology: TopologyRing}
}

// mostDescent bounds the shares of descent, f32[islands, places, islands].
const mostDescent = 1 << 26

// EachOfParts tells that Numbers of parts may be several, one for each island.
func (*Islands) EachOfParts() bool { return true }

// one is the config of one island, with the first of what each has several of, and these by full name.
func (c *Islands) one() (Config, map[string][]float64, error) {
	one := c.plain()
	one.kept = c.kept
	one.Devices = 1
	each := map[string][]float64{}
	for _, p := range c.Parts() {
		f, ok := settings.Lookup(c, p.Name)
		if !ok {
			continue
		}
		chosen, ok := p.Choices[settings.Choice(f.Text())]
		if !ok {
			continue // whoever makes the part says so
		}
		if err := c.Parted.Under(p.Name+".").ApplyEach(chosen, "the "+p.Name+" "+f.Text(), p.Name+"."); err != nil {
			return one, nil, err
		}
		for _, f := range settings.Fields(chosen) {
			if n, ok := f.Number(); ok && n.Each != "" {
				name := p.Name + "." + f.Name
				each[name] = n.Several(c.Islands, name, c.Seed)
				one.Parted = one.Parted.With(name, n.Value)
			}
		}
	}
	return one, each, nil
}

// ofIsland is the config of one island with what is its own.
func (c *Islands) ofIsland(one Config, each map[string][]float64, island int) Config {
	for name, values := range each {
		one = one.With(name, values[island])
	}
	return one
}

// Check finds the first mistake in the config, a *settings.Error, before anything is traced or compiled.
func (c *Islands) Check(on plan.Machine) error {
	_, _, err := c.experiment(on)
	return err
}

// experiment is that of one island, checked, and what each has of its own.
func (c *Islands) experiment(on plan.Machine) (*experiment, map[string][]float64, error) {
	if err := settings.Check(c); err != nil {
		return nil, nil, err
	}
	for _, x := range []struct {
		key, got, usual string
		why             string
	}{
		{"restarts", c.Restarts, RestartsNone, "islands start once"},
		{"keys", c.Keys, KeysGlobal, "an island is played on one device, wherever that is"},
		{"island", c.Island, "", "that is for xlarun evolve, one process an island"},
		{"migration-dir", c.MigrationDir, "", "that is for xlarun evolve, one process an island"},
	} {
		if x.got != x.usual && x.got != "" {
			return nil, nil, settings.Wrong(x.key, x.got, "%q: %s", x.usual, x.why)
		}
	}
	if c.Explore > 0 && len(c.several()) == 0 {
		return nil, nil, settings.Wrong("explore-every", c.Explore, "a setting of which each island has its own, such as --strategy.sigma 0.05..0.5: there is nothing to explore")
	}
	if c.Patience > 0 {
		return nil, nil, settings.Wrong("patience", c.Patience, "0: islands run until a target or their last generation")
	}
	if c.NormalizeObservations {
		return nil, nil, settings.Wrong("normalize-observations", true, "false: a member would see the world in another scale on each island")
	}
	if on.Devices > 0 && c.Devices > on.Devices {
		return nil, nil, settings.Wrong("devices", c.Devices, "at most the %d that the backend was opened with", on.Devices)
	}
	one, each, err := c.one()
	if err != nil {
		return nil, nil, err
	}
	for i := range c.Islands { // their numbers may not go together
		if len(each) == 0 {
			break
		}
		of := c.ofIsland(one, each, i)
		if _, err := strategy.Make(of.Strategy, of.Parted.Under("strategy.")); err != nil {
			return nil, nil, err
		}
	}
	if on.Free > 0 {
		on.Free /= int64(c.Islands)
	}
	if one.Memory > 0 {
		one.Memory /= settings.Bytes(c.Islands)
	}
	x, err := one.experiment(on)
	if err != nil {
		return nil, nil, err
	}
	if err := x.migrate(c.Islands); err != nil {
		return nil, nil, err
	}
	places := 1
	if l, ok := x.strategy.(strategy.Lineal); ok {
		places = l.Places(c.Population)
	}
	if c.Islands*c.Islands*places > mostDescent {
		return nil, nil, settings.Wrong("islands", c.Islands, "fewer: of %d genomes on each, the shares of all islands take more than %d numbers", places, mostDescent)
	}
	return x, each, nil
}

// migrate makes the experiment one of several islands, by number.
func (x *experiment) migrate(islands int) error {
	if _, ok := x.strategy.(strategy.Receiving); !ok {
		return settings.Wrong("strategy", x.config.Strategy, "a strategy that takes members in, that is one of %s", receiving())
	}
	groups := x.config.Population / x.strategy.GroupSize()
	if x.config.Migrants > groups/2 {
		return settings.Wrong("migrants", x.config.Migrants, "at most %d, half of the %d groups of a population of %d", groups/2, groups, x.config.Population)
	}
	x.migrating = migrating{x.config.Migrants, islands}
	x.redraw = false
	return nil
}

// receiving are the names of the strategies that take members in.
func receiving() string {
	text := ""
	for _, name := range strategy.Names() {
		if s, err := strategy.Make(name, nil); err == nil {
			if _, ok := s.(strategy.Receiving); ok {
				text += ", " + name
			}
		}
	}
	return text[min(2, len(text)):]
}

// Setup says what is run.
func (c *Islands) Setup() string {
	return fmt.Sprintf("%d islands (%s, %d every %d generations), each %s", c.Islands, c.Topology, c.Migrants, c.MigrateEvery, c.plainOne().Setup())
}

// Purpose says in a few words what the program is for.
func (c *Islands) Purpose() string {
	return fmt.Sprintf("%d islands (%s, %d travel), each %s", c.Islands, c.Topology, c.Migrants, c.plainOne().Purpose())
}

// Programs is what the program follows from.
func (c *Islands) Programs() string {
	one := c.plainOne()
	return fmt.Sprintf("islands=%d;topology=%s;migrants=%d;explore=%d;each=%v;", c.Islands, c.Topology, c.Migrants, c.Explore, c.several()) + settings.Program(one)
}

// several are the names of the Numbers of which each island has its own; none where they are wrong.
func (c *Islands) several() []string {
	_, each, err := c.one()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(each))
}

func (c *Islands) plainOne() *Config {
	one, _, err := c.one()
	if err != nil {
		one = c.plain()
	}
	return &one
}

// Board is what a display shows.
func (c *Islands) Board() []run.Row {
	rows := c.plainOne().Board()
	mean := rows[1].Parts[0].Behind
	return []run.Row{
		rows[0],
		{Label: "island", Plain: true, Parts: []run.Part{{Before: "best mean ", Metric: "best_mean", Behind: mean}, {Before: ", all ", Metric: "mean_fitness"}}, Curve: "best_mean", Colour: "cyan"},
		{Label: "diversity", Plain: true, Parts: []run.Part{{Before: "between ", Metric: "diversity", Format: run.Loss}, {Before: ", within ", Metric: "diversity_within", Format: run.Loss}}, Curve: "diversity"},
		{Label: "migration", Plain: true, Parts: []run.Part{{Metric: "immigrants", Format: run.Whole, Behind: " taken in"}, {Before: ", foreign ", Metric: "foreign", Format: run.Percent}}},
		rows[3],
	}
}

// ChoosePlan chooses that of an island.
func (c *Islands) ChoosePlan(b xlabridge.Backend) (plan.Choice, error) {
	one, _, err := c.one()
	if err != nil {
		return plan.Choice{}, err
	}
	return one.ChoosePlan(b)
}

// Start chooses the plan, traces one generation of all islands, compiles it for b (through the cache) and puts the first state on the devices.
func (c *Islands) Start(b xlabridge.Backend) (run.Run, error) { return NewArchipelago(b, *c) }

// Members is the number of all islands' members.
func (c *Islands) Members(run.Snapshot) (int, error) { return c.Islands * c.Population, nil }

// eachName is the name in a snapshot of a Number of each island's own.
func eachName(name string) string {
	_, tree := graph.Flatten(struct{ Each map[string]*graph.Array }{map[string]*graph.Array{name: graph.Scalar(0)}})
	return run.LeafName(tree.Path(0))
}

// Remake makes members again of the populations that a state asks for next; the first island has the first numbers.
func (c *Islands) Remake(b xlabridge.Backend, s run.Snapshot, numbers []int) ([]run.Sampled, error) {
	one, each, err := c.one()
	if err != nil {
		return nil, err
	}
	for name := range each { // as the state has them
		a, ok := s.Arrays[eachName(name)]
		if !ok || a.Size() != c.Islands {
			return nil, fmt.Errorf("the state has no %s of %d islands: take the checkpoint of a run with the same settings", name, c.Islands)
		}
		if each[name], err = graph.Floats(a); err != nil {
			return nil, err
		}
	}
	var all []run.Sampled
	for _, n := range numbers {
		island := n / c.Population
		own := c.ofIsland(one, each, island)
		of, err := ofLane(s, island)
		if err != nil {
			return nil, err
		}
		members, err := own.Remake(b, of, []int{n % c.Population})
		if err != nil {
			return nil, err
		}
		m := members[0]
		m.Name, m.Number = fmt.Sprintf("member %d of island %d, generation %d", n%c.Population, island, s.Step+1), n
		all = append(all, m)
	}
	return all, nil
}

// neighbours are the islands from which members come to each island, and the number of the neighbour's best, for each that arrives: i32[islands, migrants].
// Those of a random topology are drawn for a generation.
func (c *Islands) neighbours(key random.Key, generation *graph.Array) (from, rank *graph.Array) {
	n, k := c.Islands, c.Migrants
	if c.Topology == TopologyRandom {
		other := random.Randint(random.FoldIn(key, generation), graph.ShapeOf(graph.Int32, n, k), 0, n-1)
		own := graph.BroadcastTo(graph.ExpandDims(graph.Iota(n), 1), n, k)
		return graph.Add(other, graph.Convert(graph.Ge(other, own), graph.Int32)), graph.BroadcastTo(graph.ExpandDims(graph.Iota(k), 0), n, k)
	}
	var islands, ranks []int32
	for i := range n {
		around := []int{(i + n - 1) % n}
		if c.Topology == TopologyTorus {
			around = torus(n, i)
		}
		for j := range k {
			islands = append(islands, int32(around[j%len(around)]))
			ranks = append(ranks, int32(j/len(around)))
		}
	}
	return graph.Int32s(islands, n, k), graph.Int32s(ranks, n, k)
}

// torus are the neighbours of an island on a grid that is as square as the number allows, each once: left, right, above, below.
func torus(n, i int) (around []int) {
	rows := int(math.Sqrt(float64(n)))
	for n%rows != 0 {
		rows--
	}
	columns := n / rows
	row, column := i/columns, i%columns
	seen := map[int]bool{i: true}
	for _, at := range [][2]int{{row, column + columns - 1}, {row, column + 1}, {row + rows - 1, column}, {row + 1, column}} {
		j := at[0]%rows*columns + at[1]%columns
		if !seen[j] {
			seen[j] = true
			around = append(around, j)
		}
	}
	return around
}
