// Package network holds the networks of self-play. From the observation of the player to move, a network computes the
// logits of a policy over the actions, and a value from -1 (lost) to 1 (won). There is one file a network. Register
// adds a network to the command line.
package network

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

// Game is the part of a game that networks depend on.
type Game struct {
	Observation []int // dims of the observation, float32
	Actions     int
	// Vertices is the number of vertices if the game colors a complete graph; 0: a board. Observations of a graph are
	// [edges, features]; its actions are the edges in the first color, then in the second.
	Vertices int
}

// Network is a policy and a value. Its methods are traced, and take one observation.
type Network interface {
	// Init draws parameters: a tree of float32.
	Init(key random.Key) any
	// Apply returns logits [actions] and a value, a scalar from -1 to 1, in the dtype of the parameters.
	Apply(params any, observation *graph.Array) (logits, value *graph.Array)
}

// Maker is the settings of a network (package settings), from which it is made. Its errors are *settings.Error.
type Maker interface {
	Make(g Game) (Network, error)
}

// partName is the setting with the name of a network.
const partName = "network"

var registry = settings.NewRegistry[Maker]("network", partName, "network")

// MustRegister adds a network under a name without colons and blanks. maker returns its default settings. It panics if
// the name is taken. If the meaning of the parameters changes, take another name: saved networks are loaded by it.
func MustRegister(name string, maker func() Maker) { registry.MustRegister(name, maker) }

// Names lists the registered networks, sorted.
func Names() []string { return registry.Names() }

// Part is the part "network" of a kind of run's settings.
func Part() settings.Part { return registry.Part() }

// Make returns the network of a spec, "name" or "name:arguments", with settings of its own. Its errors are
// *settings.Error.
func Make(spec string, values settings.Values, g Game) (Network, error) {
	m, err := registry.Choose(spec, values)
	if err != nil {
		return nil, err
	}
	return m.Make(g)
}

// head returns the last layer of a policy or a value. Its weights are small, so that an untrained network is nearly
// indifferent.
func head(key random.Key, in, out int) nn.Dense {
	return nn.NewDense(key, in, out, nn.Weights(nn.Normal(smallWeights/math.Sqrt(float64(in)))))
}

const smallWeights = .1

// value returns the output of a value head, f32[].
func value(h nn.Dense, x *graph.Array) *graph.Array { return h.Apply(x).Index(0).Tanh() }
