package gomlx

import (
	"fmt"

	mlgraph "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// Network builds a network with GoMLX's layers. observations has a leading axis of one observation: f32[1, ...] of a
// box, the numbers of bools 0 and 1, or i32[1] of a discrete space, for an embedding. The result is [1, outputs]: a
// logit for each action, or a mean for each element of a box.
type Network func(scope *model.Scope, observations *mlgraph.Node, outputs int) *mlgraph.Node

// Register adds a network as a policy without settings, for --policy and policy.Make. It panics if the name is taken.
// For a policy with settings register a policy.Maker of your own, and call NewPolicy in its method Make.
func Register(name string, n Network) {
	policy.MustRegister(name, func() policy.Maker { return &maker{n} })
}

type maker struct{ network Network }

func (m *maker) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	return NewPolicy(m.network, observation, outputs)
}

// Policy is a GoMLX network without memory. Its Model has the parameters.
type Policy struct {
	policy.Stateless
	Model *Model
}

// NewPolicy records a network for one observation of a space.
func NewPolicy(n Network, observation envs.Space, outputs int) (*Policy, error) {
	build := func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node {
		return []*mlgraph.Node{n(scope, inputs[0], outputs)}
	}
	wrong := func(got, format string, args ...any) error {
		return &settings.Error{Key: "policy", Got: got, Wants: fmt.Sprintf(format, args...)}
	}
	s := batched(observation.Shape())
	m, err := NewModel(nil, build, s)
	if err != nil {
		return nil, wrong("a GoMLX network", "one that can be recorded for observations of %s: %v", s, err)
	}
	want := graph.ShapeOf(graph.Float32, 1, outputs)
	if got := m.Outputs()[0]; got.Size() != outputs || !got.DType.IsFloat() {
		return nil, wrong("a GoMLX network that returns "+got.String(), "%s, a number for each of the policy's outputs",
			want)
	}
	if len(m.parameters) == 0 {
		return nil, wrong("a GoMLX network without trainable variables", "at least one")
	}
	return &Policy{Model: m}, nil
}

// batched is the shape of the observations that a Network gets.
func batched(s graph.Shape) graph.Shape {
	d := s.DType
	if d == graph.Bool {
		d = graph.Float32
	}
	return graph.ShapeOf(d, append([]int{1}, s.Dims...)...)
}

// Init draws one member's parameters by GoMLX's initialisers.
func (p *Policy) Init(key random.Key) any { return p.Model.Init(key) }

// Act calls the network.
func (p *Policy) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	all, ok := params.(map[string]*graph.Array)
	if !ok {
		graph.Throw("gomlx.Policy.Act", "got parameters of type %T, want a map of arrays, as Init returns it", params)
	}
	s := batched(observation.Shape())
	out := p.Model.Call(all, key, observation.Convert(s.DType).Reshape(s.Dims...))[0]
	return carry, policy.Output{Action: graph.Flatten1D(out).Convert(graph.Float32)}
}
