package ppo

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// Params are the parameters that are trained.
type Params struct {
	Actor  any // of the acting network; with a shared network, the values are its last outputs
	Critic any // of a separate critic, else graph.None{}
	Head   any // of the distribution over actions (policy.Stochastic)
}

// network is an actor and a critic.
type network struct {
	actor        policy.Policy
	critic       critic
	distribution policy.Stochastic // over actions
	headSize     int               // outputs of the actor that the distribution takes; values may follow
	memory       bool              // actor and critic have a carry
	orthogonal   bool              // the first matrices are orthogonal
	shared       bool              // the values are among the actor's outputs

	// standalone is the actor without values. It is saved and played.
	standalone policy.Policy
	// actorAxes and criticAxes are the axes of the network's outputs in each leaf of the parameters; -1 for none.
	actorAxes, criticAxes []int
}

// makers make networks with a number of outputs.
type makers struct {
	actor  func(outputs int) (policy.Policy, error)
	critic func(outputs int) (policy.Policy, error) // nil: actor makes critics, too
	fixed  bool                                     // an actor has one number of outputs only (policy.MakerTraits)
}

// newNetwork makes actor and critic with the same function: two networks or, with shared, one network whose last
// outputs are the values. name is the policy in errors, as the user wrote it.
func newNetwork(name string, make makers, distribution policy.Stochastic, headSize, valueSize int, shared,
	orthogonal bool) (*network, error) {
	n := &network{distribution: distribution, headSize: headSize, shared: shared, orthogonal: orthogonal}
	var err error
	if n.standalone, err = make.actor(headSize); err != nil {
		return nil, err
	}
	wide, widest := n.standalone, headSize+valueSize
	switch {
	case shared && make.critic != nil:
		return nil, settings.Wrong("shared", true, "false beside --critic: the critic is a network of its own")
	case shared && make.fixed && valueSize > 0:
		return nil, settings.Wrong("shared", true, "false: %s has a fixed number of outputs, so that values are "+
			"outputs of another network: give --critic mlp:64,64", name)
	case !make.fixed:
		if wide, err = make.actor(widest); err != nil {
			return nil, err
		}
	}
	if n.actorAxes, err = outputAxes(name, n.standalone, wide); err != nil {
		return nil, err
	}
	var init any
	if err := graph.Try(func() { init = wide.Init(random.New(0)); n.memory = hasMemory(wide, init) }); err != nil {
		return nil, err
	}
	leaves, tree := graph.Flatten(init)
	for i, a := range leaves {
		if !a.DType().IsFloat() {
			return nil, settings.Wrong("policy", name, "one whose parameters are all floats, which gradients "+
				"can change: its %s is %s", strings.TrimPrefix(tree.Path(i), "."), a.Shape())
		}
	}
	if shared {
		n.actor, n.critic = wide, sharedCritic{wide, headSize, valueSize}
		return n, nil
	}
	ofCritic := make.actor
	if make.critic != nil {
		ofCritic = make.critic
		if wide, err = ofCritic(widest); err != nil {
			return nil, err
		}
	}
	network, err := ofCritic(valueSize)
	if err != nil {
		return nil, err
	}
	n.actor, n.critic = n.standalone, separateCritic{network}
	if make.critic != nil {
		if err := n.checkMemory(network); err != nil {
			return nil, err
		}
	}
	if n.memory {
		n.critic = recurrentCritic{separateCritic{network}}
	}
	n.criticAxes, err = outputAxes(name, network, wide)
	return n, err
}

// checkMemory refuses a critic with memory beside an actor without.
func (n *network) checkMemory(critic policy.Policy) (err error) {
	thrown := graph.Try(func() {
		if !n.memory && hasMemory(critic, critic.Init(random.New(0))) {
			err = settings.Wrong("critic", "a network with memory", "one without, because the policy has none")
		}
	})
	return cmp.Or(thrown, err)
}

// outputAxes returns for each leaf of a policy's parameters the axis that is longer in a policy with more outputs; -1
// if the leaves have the same shape.
func outputAxes(name string, narrow, wide policy.Policy) (axes []int, err error) {
	err = graph.Try(func() {
		a, tree := graph.Flatten(narrow.Init(random.New(0)))
		b := graph.Leaves(wide.Init(random.New(0)))
		if len(a) != len(b) {
			err = fmt.Errorf("with more outputs it has %d arrays instead of %d", len(b), len(a))
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
			if len(x) != len(y) || axis >= 0 && (!slices.Equal(x[:axis], y[:axis]) ||
				!slices.Equal(x[axis+1:], y[axis+1:])) {
				err = fmt.Errorf("with more outputs %s is %s instead of %s", tree.Path(i), b[i].Shape(), a[i].Shape())
				return
			}
			axes = append(axes, axis)
		}
	})
	if err != nil {
		return nil, settings.Wrong("policy", name, "one whose outputs are a layer, so that actor and critic "+
			"can be made of it: %s", err)
	}
	return axes, nil
}

// init draws parameters as the policies do. With n.orthogonal, matrices are drawn again as orthogonal ones (Huang et
// al., "The 37 implementation details of proximal policy optimization", 2022). Their scale is √2 in hidden layers, 1 in
// those of recurrent policies, 0.01 in the last layer of the actor and 1 in the last layer of the critic.
func (n *network) init(key random.Key) Params {
	keys := random.SplitN(key, 4)
	p := Params{n.actor.Init(keys[0]), n.critic.init(keys[1]), n.distribution.Start()}
	if !n.orthogonal {
		return p
	}
	hidden := math.Sqrt2
	if n.memory {
		hidden = 1
	}
	p.Actor = orthogonal(keys[2], p.Actor, n.actorAxes, n.headSize, hidden)
	p.Critic = orthogonal(keys[3], p.Critic, n.criticAxes, 0, hidden)
	return p
}

// orthogonal draws the matrices of parameters again. axes are the axes of the network's outputs, -1 for hidden layers.
// The first outputs are for the actions. hidden is the scale of hidden layers.
func orthogonal(key random.Key, params any, axes []int, actions int, hidden float64) any {
	leaves, tree := graph.Flatten(params)
	for i, a := range leaves {
		if a.Rank() < 2 || a.DType() != graph.Float32 {
			continue
		}
		axis, scale := axes[i], hidden
		if axis >= 0 {
			scale = 1
		}
		w := nn.Orthogonal(scale)(random.FoldIn(key, i), a.Shape())
		if axis >= 0 && actions > 0 {
			parts := []*graph.Array{graph.SliceAxis(w, axis, 0, actions).Mul(.01)}
			if n := w.Dim(axis); n > actions {
				parts = append(parts, graph.SliceAxis(w, axis, actions, n))
			}
			w = graph.Concatenate(axis, parts...)
		}
		leaves[i] = w
	}
	return tree.Unflatten(leaves)
}

// member returns the parameters of the standalone actor.
func (n *network) member(p Params) any {
	if !n.shared {
		return p.Actor
	}
	leaves := graph.Leaves(p.Actor)
	_, tree := graph.Flatten(n.standalone.Init(random.Clone(random.New(0)))) // only the tree counts
	for i, axis := range n.actorAxes {
		if axis >= 0 {
			leaves[i] = graph.SliceAxis(leaves[i], axis, 0, n.headSize)
		}
	}
	return tree.Unflatten(leaves)
}

// withInputs returns the network with a program's inputs instead of the policy's numbers.
func (n *network) withInputs(in map[string]*graph.Array) *network {
	b := *n
	bind := func(p policy.Policy) policy.Policy {
		if c, ok := p.(halfPolicy); ok {
			return halfPolicy{policy.Bind(c.Policy, in, policyPrefix), c.half}
		}
		return policy.Bind(p, in, policyPrefix)
	}
	b.actor, b.standalone, b.critic = bind(n.actor), bind(n.standalone), n.critic.withPolicies(bind)
	return &b
}

// policyPrefix goes before the names of the policy's settings among a program's inputs.
const policyPrefix = "policy."

// headInputs returns the outputs of the actor that the distribution over actions takes, -Inf for illegal actions.
func (n *network) headInputs(outputs, legal *graph.Array) *graph.Array {
	if outputs.Dim(0) > n.headSize {
		outputs = graph.SliceAxis(outputs, 0, 0, n.headSize)
	}
	if legal != nil {
		outputs = policy.Legal(outputs, legal)
	}
	return outputs
}

// outputs are the outputs of the networks for n transitions.
type outputs struct {
	Head  *graph.Array // [n, headSize]: for the distribution over actions
	Value *graph.Array // [n, k]: for the value head
}

// runBatch runs the networks without memory on transitions along axis 0.
func (n *network) runBatch(p Params, b batch) outputs {
	return graph.VMap(func(b batch) outputs {
		_, out := n.actor.Act(p.Actor, n.actor.Start(p.Actor), b.Observation, b.Key)
		return outputs{n.headInputs(out.Action, b.Legal), n.critic.transition(p, out.Action, b)}
	})(b)
}

// runSequence runs the networks through the steps of one environment.
func (n *network) runSequence(p Params, s sequence) outputs {
	actor, _ := runSequence(n.actor, p.Actor, s.Actor, s.Steps.inputs()).Unpack()
	values := n.critic.sequence(p, actor, s)
	head := graph.VMap2(func(actor *graph.Array, b batch) *graph.Array {
		return n.headInputs(actor, b.Legal)
	})(actor, s.Steps)
	return outputs{head, values}
}

// valueLayer returns the numbers of the leaves that are the matrix [in, outputs] and the biases [outputs] of the layer
// with the values, and the number of the output that is the first value.
func (n *network) valueLayer(p Params) (w, b, first int, err error) {
	leaves, axes, first := graph.Leaves(p.Critic), n.criticAxes, 0
	if n.shared {
		leaves, axes, first = graph.Leaves(p.Actor), n.actorAxes, n.headSize
	}
	w, b = -1, -1
	for i, axis := range axes {
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
		return 0, 0, 0, settings.Wrong("value", "this head", "a policy whose outputs are one layer with a matrix and "+
			"biases, which it can scale: take --value plain, or another policy")
	}
	return w, b, first, nil
}

// withValueLayer returns the parameters with a changed layer of values. change takes and returns its matrix [in,
// values] and its biases [values].
func (n *network) withValueLayer(p Params, change func(w, b *graph.Array) (*graph.Array, *graph.Array)) Params {
	atW, atB, first, err := n.valueLayer(p)
	if err != nil {
		graph.Throw("ppo", "%s", err)
	}
	network := &p.Critic
	if n.shared {
		network = &p.Actor
	}
	leaves, tree := graph.Flatten(*network)
	w, b := leaves[atW], leaves[atB]
	newW, newB := change(graph.SliceAxis(w, 1, first, w.Dim(1)), graph.SliceAxis(b, 0, first, b.Dim(0)))
	if first > 0 {
		newW, newB = graph.Concatenate(1, graph.SliceAxis(w, 1, 0, first), newW),
			graph.Concatenate(0, graph.SliceAxis(b, 0, 0, first), newB)
	}
	leaves = slices.Clone(leaves)
	leaves[atW], leaves[atB] = newW, newB
	*network = tree.Unflatten(leaves)
	return p
}
