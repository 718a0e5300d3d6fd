// Package network holds the networks of self-play: of what the player to move observes they make the logits of a policy over the
// actions, and a value from -1 (lost) to 1 (won). One file a network; Register makes another one known to the command line.
package network

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Game is what a network is made for.
type Game struct {
	Observation []int // dims of the observation, float32
	Actions     int
	// Vertices is the number of vertices of a game that colours a complete graph, whose observations are [edges, features] and whose
	// actions are its edges in one colour after the other; 0: a board.
	Vertices int
}

// Network is a policy and a value. Its functions are of one observation, to be traced and mapped.
type Network interface {
	// Init draws parameters: a tree of float32.
	Init(key random.Key) any
	// Apply gives logits [actions] and a value, a scalar from -1 to 1, in the dtype of the parameters.
	Apply(params any, observation *graph.Array) (logits, value *graph.Array)
}

// Maker is the settings of a network (package settings), which make it. Its errors are *settings.Error.
type Maker interface {
	Make(g Game) (Network, error)
}

var registry = struct {
	sync.RWMutex
	makers map[string]func() Maker
}{makers: map[string]func() Maker{}}

// Register makes a network known under a name without colons and blanks. maker gives its settings as they are by default. A name that
// is taken is refused. Who changes what parameters mean takes another name: saved networks know theirs by it.
func Register(name string, maker func() Maker) error {
	if name == "" || strings.ContainsAny(name, ": ") || maker == nil {
		return fmt.Errorf("network.Register: got the name %q, want one without colons and blanks, and a function that gives the settings", name)
	}
	registry.Lock()
	defer registry.Unlock()
	if registry.makers[name] != nil {
		return fmt.Errorf("network.Register: %s is registered already: choose another name", name)
	}
	registry.makers[name] = maker
	return nil
}

// MustRegister is Register for init functions.
func MustRegister(name string, maker func() Maker) {
	if err := Register(name, maker); err != nil {
		panic(err)
	}
}

// Names lists the registered networks, sorted.
func Names() []string {
	registry.RLock()
	defer registry.RUnlock()
	return slices.Sorted(maps.Keys(registry.makers))
}

func lookup(name string) Maker {
	registry.RLock()
	defer registry.RUnlock()
	if maker := registry.makers[name]; maker != nil {
		return maker()
	}
	return nil
}

// partName is the name of the setting that names a network.
const partName = "network"

// Part is the part "network" of a kind of run's settings.
func Part() settings.Part {
	p := settings.Part{Name: partName, Choices: map[string]any{}}
	for _, name := range Names() {
		p.Choices[name] = lookup(name)
	}
	return p
}

// Make makes the network of a spec, "name" or "name:arguments", with the settings own by name. Its errors are *settings.Error.
func Make(spec string, own settings.Values, g Game) (Network, error) {
	name, args, given := strings.Cut(spec, ":")
	m := lookup(name)
	if m == nil {
		e := settings.Unknown(partName, name, Names())
		e.Got = strconv.Quote(spec)
		return nil, e
	}
	if given {
		i := slices.IndexFunc(settings.Fields(m), settings.Field.IsArgument)
		if i < 0 {
			return nil, settings.Wrong(partName, spec, "%q: this network takes nothing behind a colon", name)
		}
		f := settings.Fields(m)[i]
		if _, twice := own[f.Name]; twice {
			return nil, settings.Wrong(partName+"."+f.Name, own[f.Name], "it either here or behind the colon of %q, not both", spec)
		}
		if err := f.Set(args); err != nil || strings.TrimSpace(args) == "" || settings.Check(m) != nil {
			return nil, settings.Wrong(partName, spec, "%s, as in %q", f.Wants, name+":"+f.Default)
		}
	}
	if err := own.Apply(m, "the network "+name, partName+"."); err != nil {
		return nil, err
	}
	return m.Make(g)
}

// head is the last layer of a policy or a value: its weights are small, so that an untrained network is nearly indifferent.
func head(key random.Key, in, out int) nn.Dense {
	return nn.NewDense(key, in, out, nn.Weights(nn.Normal(smallWeights/math.Sqrt(float64(in)))))
}

const smallWeights = .1

// value is a value head's output.
func value(h nn.Dense, x *graph.Array) *graph.Array {
	return graph.Tanh(graph.Index(h.Apply(x), 0))
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}
