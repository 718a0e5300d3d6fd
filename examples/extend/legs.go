package main

import (
	"math"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/mujoco"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

func init() {
	legs := mujoco.HalfCheetah
	legs.ID, legs.Designs, legs.Design = "Legs-v0", 6, stretched
	legs.Start = func(t mujoco.Task, key random.Key, p mujoco.Params) (q, v *graph.Array) {
		q, v = mujoco.HalfCheetah.Start(t, key, p)
		return q.Add(graph.Float32s([]float32{0, .3, 0, 0, 0, 0, 0, 0, 0})), v // long legs start in the air
	}
	envs.MustRegister(legs)
	policy.MustRegister("bodied", &Bodied{Designs: 6})
}

// stretched is HalfCheetah with other lengths of thigh, shin and foot, of the leg behind and then of that in front:
// each from 2/3 to 3/2 of its own. Inertias are those of thin rods.
func stretched(m *bodies.Model, design *graph.Array) bodies.Params {
	factors := graph.Concatenate(0, graph.Ones(graph.ShapeOf(graph.Float32, len(m.Bodies)-design.Dim(0))),
		design.Mul(math.Log(1.5)).Exp())
	own := m.Params()
	var parents, geoms, sizes, inertias []*graph.Array
	for _, b := range m.Bodies {
		parents = append(parents, factors.Index(b.Parent).Mul(graph.Float32s([]float32{1, 1, 1})))
	}
	for i := range m.Bodies {
		f := factors.Index(i)
		inertias = append(inertias, graph.Stack([]*graph.Array{f.Mul(f).Mul(f), f.Mul(f).Mul(f), f}, 0))
	}
	for _, g := range m.Geoms {
		f, one := factors.Index(g.Body), graph.Scalar(1)
		geoms = append(geoms, graph.Stack([]*graph.Array{f, f, f}, 0))
		sizes = append(sizes, graph.Stack([]*graph.Array{one, f, one}, 0)) // radius, half length
	}
	return bodies.Params{Mass: own.Mass.Mul(factors), Inertia: own.Inertia.Mul(graph.Stack(inertias, 0)),
		Com: own.Com.Mul(factors.ExpandDims(1)), Pos: own.Pos.Mul(graph.Stack(parents, 0)),
		GeomPos: own.GeomPos.Mul(graph.Stack(geoms, 0)), Size: own.Size.Mul(graph.Stack(sizes, 0))}
}

// Bodied is a linear policy with numbers of its own as last outputs, which do not depend on what it observes: the
// design of its body ("bodied:6" has six). A strategy searches for both together (Ha, "Reinforcement learning for
// improving agent design", 2019).
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
func (b *Bodied) Act(p BodiedParams, none graph.None, observation *graph.Array,
	key random.Key) (graph.None, policy.Output) {
	none, out := b.net.Act(p.Net, none, observation, key)
	return none, policy.Output{Action: graph.Concatenate(0, out.Action, p.Design)}
}
