package evolve

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"xlarun/graph"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// GrowSettings say what happens when genomes have used up their padding; see growing.
type GrowSettings struct {
	Grow bool `set:"grow" program:"no" help:"when a mutation finds no room in a genome, the population moves to arrays of twice the length, for nodes or for connections"`
}

// growing is the feature of a run of padded genomes that moves to more capacity after a generation in which a mutation
// found none. A larger size is another program, compiled between two generations, with the layout of the first one. The
// state is padded, and nothing else of it changes. It has the sizes, so that a run that is resumed goes on with them.
// All of this follows from the state and the settings alone, except that a run stays as it is where the next size does
// not fit in memory.
type growing struct {
	idle
	capacity capacity
	stays    bool // there is no memory for the next size
}

// capacity holds the settings of the policy that have grown, by name; empty at first.
type capacity map[string]int

// String returns "56 nodes and 400 connections".
func (c capacity) String() string {
	var words []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(c))) {
		words = append(words, fmt.Sprintf("%d %s", c[name], name))
	}
	return strings.Join(words, " and ")
}

// The metrics of the capacity with which a generation was played.
const capacityNodes, capacityConnections = "capacity_nodes", "capacity_connections"

// capacityPrefix begins the names of the arrays that hold the capacity in a snapshot.
const capacityPrefix = "room."

// readCapacity returns the capacity in a snapshot.
func readCapacity(s run.Snapshot) (capacity, error) {
	c := capacity{}
	for name, a := range s.Arrays {
		if setting, ok := strings.CutPrefix(name, capacityPrefix); ok {
			x, err := graph.Float(a)
			if err != nil {
				return nil, err
			}
			c[setting] = int(x)
		}
	}
	return c, nil
}

// arrays returns the arrays that hold the capacity in a snapshot.
func (c capacity) arrays() map[string]*graph.Array {
	all := map[string]*graph.Array{}
	for name, length := range c {
		all[capacityPrefix+name] = graph.Of(int32(length))
	}
	return all
}

// withCapacity returns the config of the search with some capacity.
func (c *Config) withCapacity(to capacity) Config {
	wide := c.clone()
	wide.Grow = false
	for name, length := range to {
		wide = wide.With("policy."+name, length)
	}
	return wide
}

// checkGrow refuses a run that cannot grow.
func (c *Config) checkGrow() error {
	if !c.Grow {
		return nil
	}
	s, err := strategy.Make(c.Strategy, c.Parted.Under("strategy."))
	if err != nil {
		return err
	}
	if s.Wider != nil {
		return nil
	}
	return settings.Wrong("grow", true, "a strategy whose networks grow, --strategy neat with --policy %s: members of "+
		"%s keep their size", settings.AnyOf(policy.GenomePolicies()), c.Strategy)
}

func openGrowth(context.Context, *Evolution) (feature, error) {
	return &growing{capacity: capacity{}}, nil
}

func (g *growing) shape(c Config) (Config, error) { return c.withCapacity(g.capacity), nil }

// after moves the population to more capacity if a mutation found none in this generation.
func (g *growing) after(ctx context.Context, e *Evolution, m *run.Metrics) error {
	network := e.program.Rollout.Policy.Traits().Genotype
	m.Values = append(m.Values, run.Value{Name: capacityNodes, Number: float64(network.Nodes)},
		run.Value{Name: capacityConnections, Number: float64(network.Connections)})
	refused, _ := m.Get(e.program.Strategy.Refusals)
	if refused == 0 || m.Done || m.Stalled || g.stays {
		return nil
	}
	notice, err := g.grow(ctx, e)
	if notice != "" {
		m.Notices = append(m.Notices, fmt.Sprintf("generation %d: %s", m.Step, notice))
	}
	return err
}

// grow moves the population to more capacity, and says so.
func (g *growing) grow(ctx context.Context, e *Evolution) (notice string, err error) {
	start := time.Now()
	snapshot, err := e.Loop.Snapshot(ctx)
	if err != nil {
		return "", err
	}
	old := e.search
	state, err := old.state(snapshot)
	if err != nil {
		return "", err
	}
	more, err := old.program.Strategy.Capacity(state.Strategy)
	if err != nil || len(more) == 0 {
		return "", err
	}
	to := maps.Clone(g.capacity)
	for name, length := range more {
		to[name] = length.(int)
	}
	was := g.capacity
	g.capacity = to
	wide, err := e.shaped()
	if err != nil {
		return "", err
	}
	if _, err := wide.setup(plan.MachineOf(e.backend, wide.Devices)); err != nil {
		g.capacity = was
		return g.stay(to, err), nil
	}
	if err := e.replace(ctx); err != nil {
		g.capacity = was
		if _, full := errors.AsType[*xlabridge.OutOfMemoryError](err); !full {
			return "", err
		}
		if back := e.replace(ctx); back != nil {
			return "", back
		}
		return g.stay(to, err), e.Loop.Restore(ctx, snapshot)
	}
	if state, err = e.program.Wider(state, old.program); err != nil {
		return "", err
	}
	leaves, tree := graph.Flatten(state)
	for i, a := range leaves {
		snapshot.Arrays[run.LeafName(tree.Path(i))] = a
	}
	if err := e.Loop.Restore(ctx, snapshot); err != nil {
		return "", err
	}
	return fmt.Sprintf("genomes are full: the population has moved to %s in %.2f s, compiling %.2f s", to,
		time.Since(start).Seconds(), e.profile.CompileSeconds), nil
}

// stay makes the run keep its capacity, and says why.
func (g *growing) stay(to capacity, err error) string {
	g.stays = true
	return fmt.Sprintf("genomes are full and stay as they are, since %s cannot be had: %v", to, err)
}

func (g *growing) save(arrays map[string]*graph.Array) { maps.Copy(arrays, g.capacity.arrays()) }

// load goes on with any capacity.
func (g *growing) load(s run.Snapshot) (other bool, err error) {
	to, err := readCapacity(s)
	if err != nil {
		return false, err
	}
	other = !maps.Equal(to, g.capacity)
	g.capacity = to
	return other, nil
}
