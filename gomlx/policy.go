package gomlx

import (
	"fmt"
	"slices"

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

// RecurrentNetwork builds one step of a network with memory. carry is what the step before returned as next, and zeros
// in an episode's first step: the shapes of the policy's carry, each with a leading axis of one. observations and
// outputs mean the same as for a Network.
type RecurrentNetwork func(scope *model.Scope, observations *mlgraph.Node, carry []*mlgraph.Node, outputs int) (
	out *mlgraph.Node, next []*mlgraph.Node)

// Register adds a network as a policy without settings, for --policy and policy.Make. It panics if the name is taken.
// For a policy with settings register a policy.Maker of your own, and call NewPolicy in its method Make.
func Register(name string, n Network) { RegisterRecurrent(name, n.recurrent()) }

// RegisterRecurrent is Register for a network with memory, a carry of arrays of the given shapes.
func RegisterRecurrent(name string, n RecurrentNetwork, carry ...graph.Shape) {
	policy.MustRegister(name, &maker{n, carry})
}

type maker struct {
	network RecurrentNetwork
	carry   []graph.Shape
}

func (m *maker) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	return NewRecurrentPolicy(m.network, m.carry, observation, outputs)
}

// recurrent is the network with an empty carry.
func (n Network) recurrent() RecurrentNetwork {
	return func(scope *model.Scope, observations *mlgraph.Node, _ []*mlgraph.Node, outputs int) (*mlgraph.Node,
		[]*mlgraph.Node) {
		return n(scope, observations, outputs), nil
	}
}

// Policy is a GoMLX network. Its Model has the parameters.
type Policy struct {
	Model *Model
	carry []graph.Shape
}

// NewPolicy records a network for one observation of a space.
func NewPolicy(n Network, observation envs.Space, outputs int) (*Policy, error) {
	return NewRecurrentPolicy(n.recurrent(), nil, observation, outputs)
}

// NewRecurrentPolicy records a network with a carry of arrays of the given shapes for one observation of a space.
func NewRecurrentPolicy(n RecurrentNetwork, carry []graph.Shape, observation envs.Space, outputs int) (*Policy,
	error) {
	build := func(scope *model.Scope, inputs []*mlgraph.Node) []*mlgraph.Node {
		out, next := n(scope, inputs[0], inputs[1:], outputs)
		return append([]*mlgraph.Node{out}, next...)
	}
	wrong := func(got, format string, args ...any) error {
		return &settings.Error{Key: "policy", Got: got, Wants: fmt.Sprintf(format, args...)}
	}
	s := batched(observation.Shape())
	inputs := []graph.Shape{s}
	for _, c := range carry {
		inputs = append(inputs, leading(c))
	}
	m, err := NewModel(nil, build, inputs...)
	if err != nil {
		return nil, wrong("a GoMLX network", "one that can be recorded for observations of %s: %v", s, err)
	}
	want := graph.ShapeOf(graph.Float32, 1, outputs)
	if got := m.Outputs()[0]; got.Size() != outputs || !got.DType.IsFloat() {
		return nil, wrong("a GoMLX network that returns "+got.String(), "%s, a number for each of the policy's outputs",
			want)
	}
	same := func(a, b graph.Shape) bool { return a.Equal(b) }
	if got := m.Outputs()[1:]; !slices.EqualFunc(got, inputs[1:], same) {
		return nil, wrong(fmt.Sprintf("a GoMLX network whose next carry is %v", got), "the shapes of its carry, %v",
			inputs[1:])
	}
	if len(m.parameters) == 0 {
		return nil, wrong("a GoMLX network without trainable variables", "at least one")
	}
	return &Policy{m, carry}, nil
}

// batched is the shape of the observations that a Network gets.
func batched(s graph.Shape) graph.Shape {
	if s.DType == graph.Bool {
		s.DType = graph.Float32
	}
	return leading(s)
}

// leading is a shape with a leading axis of one.
func leading(s graph.Shape) graph.Shape {
	return graph.ShapeOf(s.DType, append([]int{1}, s.Dims...)...)
}

// Traits are none.
func (p *Policy) Traits() (t policy.Traits[any, any]) { return t }

// Init draws one member's parameters by GoMLX's initializers.
func (p *Policy) Init(key random.Key) any { return p.Model.Init(key) }

// Start returns a carry of zeros; the empty tree of a network without memory.
func (p *Policy) Start(any) any {
	if len(p.carry) == 0 {
		return graph.None{}
	}
	carry := make([]*graph.Array, len(p.carry))
	for i, s := range p.carry {
		carry[i] = graph.Zeros(s)
	}
	return carry
}

// Act calls the network.
func (p *Policy) Act(params, carry any, observation *graph.Array, key random.Key) (any, policy.Output) {
	const op = "gomlx.Policy.Act"
	all, ok := params.(map[string]*graph.Array)
	if !ok {
		graph.Throw(op, "got parameters of type %T, want a map of arrays, as Init returns it", params)
	}
	s := batched(observation.Shape())
	inputs := []*graph.Array{observation.Convert(s.DType).Reshape(s.Dims...)}
	if len(p.carry) > 0 {
		now, ok := carry.([]*graph.Array)
		if !ok || len(now) != len(p.carry) {
			graph.Throw(op, "got a carry of type %T, want %d arrays, as Start returns them", carry, len(p.carry))
		}
		for _, a := range now {
			inputs = append(inputs, a.ExpandDims(0))
		}
	}
	results := p.Model.Call(all, key, inputs...)
	out := policy.Output{Action: graph.Flatten1D(results[0]).Convert(graph.Float32)}
	if len(p.carry) == 0 {
		return carry, out
	}
	next := make([]*graph.Array, len(p.carry))
	for i, a := range results[1:] {
		next[i] = a.Reshape(p.carry[i].Dims...)
	}
	return next, out
}
