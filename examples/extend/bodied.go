package main

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

func init() { policy.MustRegister("bodied", &Bodied{Designs: 6}) }

// Bodied is a linear policy whose last outputs are parameters: the design of its body ("bodied:6" has six). A strategy
// searches for both together (Ha, "Reinforcement learning for improving agent design", 2019).
type Bodied struct {
	Designs int `set:"designs" args:"" min:"1" max:"4096" help:"last outputs that are numbers of the policy"`
	policy.Stateless[BodiedParams]
	net *policy.MLP
}

// BodiedParams are the parameters of one member.
type BodiedParams struct {
	Net    policy.Params
	Design *graph.Array // f32[Designs]
}

// Make makes the policy for observations of a space.
func (b *Bodied) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	net, err := policy.NewMLP(nil, "", observation, max(outputs-b.Designs, 1))
	return policy.Erase(&Bodied{Designs: b.Designs, net: net}), err
}

// Traits are none.
func (*Bodied) Traits() (t policy.Traits[BodiedParams, graph.None]) { return t }

// Init draws the network. Designs start at 0.
func (b *Bodied) Init(key random.Key) BodiedParams {
	return BodiedParams{b.net.Init(key), graph.Zeros(graph.ShapeOf(graph.Float32, b.Designs))}
}

// Act computes the controls, and appends the design.
func (b *Bodied) Act(p BodiedParams, none graph.None, obs *graph.Array, key random.Key) (graph.None, policy.Output) {
	none, out := b.net.Act(p.Net, none, obs, key)
	return none, policy.Output{Action: graph.Concatenate(0, out.Action, p.Design)}
}
