// Package network holds the networks of self-play: of what the player to move observes they make the logits of a policy
// over the actions, and a value from -1 (lost) to 1 (won). One file a network; Register makes another one known to the
// command line.
package network

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Game is what a network is made for.
type Game struct {
	Observation []int // dims of the observation, float32
	Actions     int
	// Vertices is the number of vertices of a game that colours a complete graph, whose observations are [edges,
	// features] and whose actions are its edges in one colour after the other; 0: a board.
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

// partName is the name of the setting that names a network.
const partName = "network"

var registry = settings.NewRegistry[Maker]("network", partName, "network")

// Register makes a network known under a name without colons and blanks. maker gives its settings as they are by
// default. A name that is taken is refused. Who changes what parameters mean takes another name: saved networks know
// theirs by it.
func Register(name string, maker func() Maker) error { return registry.Register(name, maker) }

// MustRegister is Register for init functions.
func MustRegister(name string, maker func() Maker) { registry.MustRegister(name, maker) }

// Names lists the registered networks, sorted.
func Names() []string { return registry.Names() }

// Part is the part "network" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make makes the network of a spec, "name" or "name:arguments", with the settings own by name. Its errors are
// *settings.Error.
func Make(spec string, own settings.Values, g Game) (Network, error) {
	m, err := registry.Choose(spec, own)
	if err != nil {
		return nil, err
	}
	return m.Make(g)
}

// head is the last layer of a policy or a value: its weights are small, so that an untrained network is nearly
// indifferent.
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
