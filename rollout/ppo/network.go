package ppo

import (
	"fmt"
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// Params are what is learned.
type Params struct {
	Actor  any // of the acting network; where it is shared, with the values as further outputs
	Critic any // of the critic; graph.None{} where the actor has its outputs
	Head   any // of the distribution over actions; policy.Stochastic.Start
}

// network is an actor and a critic, written for one observation.
type network struct {
	actor  policy.Policy
	critic policy.Policy     // nil: the values are further outputs of the actor
	acting policy.Stochastic // the distribution over actions
	// size is the number of the actor's outputs that the head takes, values the number of those that the value head takes.
	size, values int
	ofActions    bool // there is no value but those of the actions, which are the actor's outputs
	orthogonal   bool
	// alone is the actor as it acts by itself, of size outputs; apart says on which axis each of its leaves is narrower than the actor's, -1 for
	// none. Both are for networks that are shared, and to find layers of outputs.
	alone policy.Policy
	apart []int // of the actor's leaves
	tail  []int // of the critic's leaves, likewise
}

// newNetwork makes actor and critic by the same maker: networks of their own or, with shared, one whose last outputs are the values.
func newNetwork(make func(outputs int) (policy.Policy, error), head policy.Stochastic, size, values int, shared, orthogonal bool) (*network, error) {
	n := &network{acting: head, size: size, values: values, orthogonal: orthogonal}
	var err error
	if n.alone, err = make(size); err != nil {
		return nil, err
	}
	wide, err := make(size + values)
	if err != nil {
		return nil, err
	}
	if n.apart, err = axes(n.alone, wide); err != nil {
		return nil, err
	}
	n.actor = n.alone
	if shared {
		n.actor = wide
		return n, nil
	}
	if n.critic, err = make(values); err != nil {
		return nil, err
	}
	n.tail, err = axes(n.critic, wide)
	return n, err
}

// axes are those on which the leaves of a policy's parameters are longer in one that has more outputs; -1 where they are the same.
func axes(narrow, wide policy.Policy) (apart []int, err error) {
	err = graph.Try(func() {
		a, tree := graph.Flatten(narrow.Init(random.New(0)))
		b := graph.Leaves(wide.Init(random.New(0)))
		if len(a) != len(b) {
			err = fmt.Errorf("with more outputs it has %d arrays in place of %d", len(b), len(a))
			return
		}
		for i := range a {
			x, y, axis := a[i].Dims(), b[i].Dims(), -1
			if len(x) == len(y) {
				for k := range x {
					if x[k] != y[k] {
						axis = k
					}
				}
			}
			if len(x) != len(y) || axis >= 0 && (!slices.Equal(x[:axis], y[:axis]) || !slices.Equal(x[axis+1:], y[axis+1:])) {
				err = fmt.Errorf("with more outputs %s is %s in place of %s", tree.Path(i), b[i].Shape(), a[i].Shape())
				return
			}
			apart = append(apart, axis)
		}
	})
	if err != nil {
		return nil, settings.Wrong("policy", "this policy", "one whose outputs are a layer, so that actor and critic can be made of it: %s", err)
	}
	return apart, nil
}

// init draws parameters. The matrices are orthogonal, of scale √2 inside, 1 in policies that remember, 0.01 before the outputs of the actor and 1 before those of the critic (Huang et al.,
// "The 37 implementation details of proximal policy optimization", 2022), with biases as the policy makes them; or all is as the policy makes it.
func (n *network) init(key random.Key) Params {
	keys := random.SplitN(key, 4)
	p := Params{Actor: n.actor.Init(keys[0]), Critic: graph.None{}, Head: n.acting.Start()}
	if n.critic != nil {
		p.Critic = n.critic.Init(keys[1])
	}
	if !n.orthogonal {
		return p
	}
	inside := math.Sqrt2
	if n.recurrent(p) {
		inside = 1
	}
	p.Actor = orthogonal(keys[2], p.Actor, n.apart, n.size, inside)
	if n.critic != nil {
		p.Critic = orthogonal(keys[3], p.Critic, n.tail, 0, inside)
	}
	return p
}

// orthogonal draws the matrices of parameters anew; outputs are the axes of their outputs, -1 for layers inside, of which the first are those of actions.
func orthogonal(key random.Key, params any, outputs []int, actions int, inside float64) any {
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		if a.Rank() < 2 || a.DType() != graph.Float32 {
			continue
		}
		axis, s := outputs[i], inside
		if axis >= 0 {
			s = 1
		}
		w := nn.Orthogonal(s)(random.FoldIn(key, i), a.Shape())
		if axis >= 0 && actions > 0 {
			parts := []*graph.Array{graph.Mul(graph.SliceAxis(w, axis, 0, actions), .01)}
			if n := w.Dim(axis); n > actions {
				parts = append(parts, graph.SliceAxis(w, axis, actions, n))
			}
			w = graph.Concatenate(axis, parts...)
		}
		leaves[i] = w
	}
	return tree.Unflatten(leaves)
}

// member is the actor by itself, as its policy makes it: what is saved, played and drawn.
func (n *network) member(p Params) any {
	if n.critic != nil {
		return p.Actor
	}
	leaves, _ := graph.Flatten(p.Actor)
	own, tree := graph.Flatten(n.alone.Init(random.New(0)))
	for i, axis := range n.apart {
		own[i] = leaves[i]
		if axis >= 0 {
			own[i] = graph.SliceAxis(leaves[i], axis, 0, n.size)
		}
	}
	return tree.Unflatten(own)
}

// bound is the network with a program's inputs in the place of the policy's Numbers.
func (n *network) bound(in map[string]*graph.Array) *network {
	b := *n
	bind := func(p policy.Policy) policy.Policy {
		if c, ok := p.(computing); ok {
			return computing{settings.Bind(c.Policy, in, policyPrefix), c.half}
		}
		return settings.Bind(p, in, policyPrefix)
	}
	b.actor, b.alone = bind(n.actor), bind(n.alone)
	if n.critic != nil {
		b.critic = bind(n.critic)
	}
	return &b
}

// policyPrefix goes before the names of the policy's settings among a program's inputs.
const policyPrefix = "policy."

// remembers tells whether a policy carries something from step to step.
func remembers(p policy.Policy, params any) bool { return len(graph.Leaves(p.Start(params))) > 0 }

// recurrent tells whether actor or critic carry something from step to step.
func (n *network) recurrent(p Params) bool { return remembers(n.actor, p.Actor) }

// prepared are parameters as steps take them that need no gradient.
func prepared(p policy.Policy, params any) any {
	if p, ok := p.(policy.Alike); ok && p.PreparesAlike() {
		return p.Prepare(params)
	}
	return params
}

// valueLayer finds the matrix [in, outputs] and the biases [outputs] of the layer of values among the leaves of the network that has it, and where in it
// values begin.
func (n *network) valueLayer(p Params) (w, b, first int, err error) {
	leaves, outputs, first := graph.Leaves(p.Critic), n.tail, 0
	if n.critic == nil {
		leaves, outputs, first = graph.Leaves(p.Actor), n.apart, n.size
	}
	w, b = -1, -1
	for i, axis := range outputs {
		switch {
		case axis < 0:
		case axis == 1 && leaves[i].Rank() == 2 && w < 0:
			w = i
		case axis == 0 && leaves[i].Rank() == 1 && b < 0:
			b = i
		default:
			w = len(leaves)
		}
	}
	if w < 0 || b < 0 || w == len(leaves) {
		return 0, 0, 0, settings.Wrong("value", "this head", "a policy whose outputs are one layer with a matrix and biases, which it can scale: take --value plain, or another policy")
	}
	return w, b, first, nil
}

// withValueLayer are parameters with another layer of values, as change makes it of its matrix [in, values] and its biases [values].
func (n *network) withValueLayer(p Params, change func(w, b *graph.Array) (*graph.Array, *graph.Array)) Params {
	atW, atB, first, err := n.valueLayer(p)
	if err != nil {
		graph.Throw("ppo", "%s", err)
	}
	of := &p.Critic
	if n.critic == nil {
		of = &p.Actor
	}
	leaves, tree := graph.Flatten(*of)
	w, b := leaves[atW], leaves[atB]
	newW, newB := change(graph.SliceAxis(w, 1, first, w.Dim(1)), graph.SliceAxis(b, 0, first, b.Dim(0)))
	if first > 0 {
		newW, newB = graph.Concatenate(1, graph.SliceAxis(w, 1, 0, first), newW), graph.Concatenate(0, graph.SliceAxis(b, 0, 0, first), newB)
	}
	leaves = slices.Clone(leaves)
	leaves[atW], leaves[atB] = newW, newB
	*of = tree.Unflatten(leaves)
	return p
}
