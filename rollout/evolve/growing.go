package evolve

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"xlarun/graph"
	"xlarun/rollout/evolve/generation"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// GrowSettings say what happens when genomes have used up their padding; see growing.
type GrowSettings struct {
	Grow bool     `set:"grow" program:"no"`
	_    struct{} `help:"when a mutation finds no room in a genome, the population moves to arrays of twice the"`
	_    struct{} `help:"length, for nodes or for connections"`
}

// growing is an evolution of padded genomes that moves to more room after a generation in which a mutation found none.
// A larger size is another program, compiled between two generations, with the layout of the first one. The state is
// padded, and nothing else of it changes. It has the sizes, so that a run that is resumed goes on with them. All of
// this follows from the state and the settings alone, except that a run stays as it is where the next size does not fit
// in memory.
type growing struct {
	replacing // by one of each room
	room      room
	stays     bool // there is no memory for the next size
}

// room holds the settings of the policy that have grown, by name; empty at first.
type room map[string]int

// String returns "56 nodes and 400 connections".
func (r room) String() string {
	var words []string
	for _, name := range slices.Backward(slices.Sorted(maps.Keys(r))) {
		words = append(words, fmt.Sprintf("%d %s", r[name], name))
	}
	return strings.Join(words, " and ")
}

// The metrics of the room in which a generation was played.
const roomNodes, roomConnections = "room_nodes", "room_connections"

// roomPrefix begins the names of the arrays that hold the room in a snapshot.
const roomPrefix = "room."

// readRoom returns the room in a snapshot.
func readRoom(s run.Snapshot) (room, error) {
	r := room{}
	for name, a := range s.Arrays {
		if setting, ok := strings.CutPrefix(name, roomPrefix); ok {
			x, err := graph.Float(a)
			if err != nil {
				return nil, err
			}
			r[setting] = int(x)
		}
	}
	return r, nil
}

// arrays returns the arrays that hold the room in a snapshot.
func (r room) arrays() map[string]*graph.Array {
	all := map[string]*graph.Array{}
	for name, length := range r {
		all[roomPrefix+name] = graph.Of(int32(length))
	}
	return all
}

// withRoom returns the config of the search with some room.
func (c *Config) withRoom(r room) Config {
	wide := c.clone()
	wide.Grow = false
	for name, length := range r {
		wide = wide.With("policy."+name, length)
	}
	return wide
}

// checkGrow refuses a run that cannot grow.
func (c *Config) checkGrow(s strategy.Strategy) error {
	if !c.Grow {
		return nil
	}
	wrong := func(wants string) error { return settings.Wrong("grow", true, "%s", wants) }
	switch _, grows := s.(strategy.Growing); {
	case !grows:
		return wrong("a strategy whose networks grow, --strategy neat with --policy " +
			settings.AnyOf(policy.GenomePolicies()) + ": members of " + c.Strategy + " keep their size")
	case c.restarts():
		return wrong("--restarts none with it: a search that starts again would start with the first room")
	case c.Join != "":
		return wrong("no --join with it: hosts compute one program")
	}
	return nil
}

func newGrowing(b xlabridge.Backend, c Config) (*growing, error) {
	g := &growing{room: room{}}
	err := g.init(b, c, c.withRoom(nil), g.room.String(), snapshotExtra{roomPrefix,
		func() map[string]*graph.Array { return g.room.arrays() },
		func(s run.Snapshot) (string, error) {
			r, err := readRoom(s)
			return r.String(), err
		},
		func(room string) error {
			return settings.Wrong("grow", true, "a snapshot of a room that this run has had, not of %s", room)
		}})
	if err != nil {
		return nil, err
	}
	return g, nil
}

// move moves to another room.
func (g *growing) move(to room) error {
	err := g.replace(g.first.withRoom(to), to.String())
	if err == nil {
		g.room = to
	}
	return err
}

// Step runs one generation. If a mutation found no room in it, the population moves to more.
func (g *growing) Step() (run.Metrics, error) {
	m, err := g.Evolution.Step()
	if err != nil {
		return m, err
	}
	network := policy.Unwrap(g.program.Rollout.Policy).(policy.GenomePolicy).Genotype()
	m.Values = append(m.Values, run.Value{Name: roomNodes, Number: float64(network.Nodes)},
		run.Value{Name: roomConnections, Number: float64(network.Connections)})
	refused, _ := m.Get(g.program.Strategy.(strategy.Growing).Refusals())
	if refused == 0 || m.Done || m.Stalled || g.stays {
		return m, nil
	}
	notice, err := g.grow()
	if notice != "" {
		m.Notices = append(m.Notices, fmt.Sprintf("generation %d: %s", m.Step, notice))
	}
	return m, err
}

// grow moves the population to more room, and says so.
func (g *growing) grow() (notice string, err error) {
	start := time.Now()
	snapshot, err := g.Evolution.Snapshot()
	if err != nil {
		return "", err
	}
	v, err := g.Evolution.Unflatten(snapshot)
	if err != nil {
		return "", err
	}
	old, last := g.Evolution, g.last
	state := v.(generation.State)
	more, err := old.program.Strategy.(strategy.Growing).Room(state.Strategy)
	if err != nil || len(more) == 0 {
		return "", err
	}
	to := maps.Clone(g.room)
	for name, length := range more {
		to[name] = length.(int)
	}
	wide := g.first.withRoom(to)
	if _, err := wide.setup(plan.MachineOf(g.backend, wide.Devices)); err != nil {
		return g.stay(to, err), nil
	}
	if err := g.move(to); err != nil {
		if _, full := errors.AsType[*xlabridge.OutOfMemoryError](err); !full {
			return "", err
		}
		if back := g.move(g.room); back != nil {
			return "", back
		}
		if back := g.Evolution.Restore(snapshot); back != nil {
			return "", back
		}
		g.last = last
		return g.stay(to, err), nil
	}
	if state, err = g.program.Wider(state, old.program); err != nil {
		return "", err
	}
	leaves, tree := graph.Flatten(state)
	for i, a := range leaves {
		snapshot.Arrays[run.LeafName(tree.Path(i))] = a
	}
	if err := g.Evolution.Restore(snapshot); err != nil {
		return "", err
	}
	g.last = last
	return fmt.Sprintf("genomes are full: the population has moved to %s in %.2f s, compiling %.2f s", to,
		time.Since(start).Seconds(), g.profile.CompileSeconds), nil
}

// stay makes the run keep its room, and says why.
func (g *growing) stay(to room, err error) string {
	g.stays = true
	return fmt.Sprintf("genomes are full and stay as they are, since %s cannot be had: %v", to, err)
}

// Restore sets the state to a snapshot of any room.
func (g *growing) Restore(s run.Snapshot) error {
	to, err := readRoom(s)
	if err != nil {
		return err
	}
	if !maps.Equal(to, g.room) {
		if err := g.move(to); err != nil {
			return err
		}
	}
	return g.Evolution.Restore(s)
}
