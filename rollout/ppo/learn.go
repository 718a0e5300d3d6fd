package ppo

import (
	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
	"xlarun/rollout/ppo/value"
)

// experience is what is learned of one step of one environment.
type experience struct {
	Observation *graph.Array
	Legal       *graph.Array `tree:"optional"`
	Draw        *graph.Array
	Key         random.Key
	First       *graph.Array // bool[]
	LogProb     *graph.Array // f32[]: of the draw, as it was drawn
	Value       *graph.Array // f32[]: as it was estimated
	Advantage   *graph.Array // f32[]
	Target      *graph.Array // f32[]: of the value
}

// sequence is the experience of one environment in all steps of an update, and what the networks remembered before them.
type sequence struct {
	Actor, Critic any
	Steps         experience // leaves [steps, …]
}

// passed is what the networks put out for observations along axis 0: f32[n, …].
type passed struct{ Action, Value *graph.Array }

// across lets the networks look at observations that have nothing to do with each other.
func (n *network) across(p Params, e experience) passed {
	return graph.VMap(func(e experience) passed {
		_, out := n.actor.Act(p.Actor, n.actor.Start(p.Actor), e.Observation, e.Key)
		if n.critic == nil {
			return passed{n.actions(out.Action, e.Legal), n.valuesOf(out.Action)}
		}
		_, value := n.critic.Act(p.Critic, n.critic.Start(p.Critic), e.Observation, e.Key)
		return passed{n.actions(out.Action, e.Legal), value.Action}
	})(e)
}

// along lets them go through a sequence, with an empty memory where an episode begins.
func (n *network) along(p Params, s sequence) passed {
	steps := sight{s.Steps.Observation, s.Steps.First, s.Steps.Key}
	out := remember(n.actor, p.Actor, s.Actor, steps).Out
	var values *graph.Array
	if n.critic == nil {
		values = graph.VMap(n.valuesOf)(out)
	} else {
		values = remember(n.critic, p.Critic, s.Critic, steps).Out
	}
	actions := graph.VMap2(func(out *graph.Array, e experience) *graph.Array { return n.actions(out, e.Legal) })(out, s.Steps)
	return passed{actions, values}
}

// sight is what a policy takes in a step.
type sight struct {
	Observation *graph.Array
	First       *graph.Array // bool[]: nothing is remembered
	Key         random.Key
}

// remembered is what a policy carries behind a step, and what it puts out.
type remembered struct {
	After any
	Out   *graph.Array
}

// remember is a policy's way through a sequence.
func remember(p policy.Policy, params, carry any, steps sight) remembered {
	start := p.Start(params)
	_, all := graph.Scan(func(carry any, s sight) (any, remembered) {
		carry = graph.MapTree2(func(reset, on *graph.Array) *graph.Array { return graph.Select(s.First, reset, on) }, start, carry)
		next, out := p.Act(params, carry, s.Observation, s.Key)
		return next, remembered{next, out.Action}
	}, carry, steps)
	return all
}

// valuesOf are the values among the outputs of a shared network.
func (n *network) valuesOf(out *graph.Array) *graph.Array {
	return graph.SliceAxis(out, 0, n.size, n.size+n.values)
}

// figures are what is known of the minibatches of an update, each f32[]: sums in the loop, then means, but for those that count. Skipped are minibatches whose
// gradient is no number: they move nothing and count for nothing else.
type figures struct {
	PolicyLoss, ValueLoss, Entropy, KL, ClipFraction, GradientNorm, Minibatches, Skipped *graph.Array
}

// learner moves parameters by experience.
type learner struct {
	*network
	*numbers
	head  value.Head
	state any // of the value head
}

// numbers are the hyper-parameters, as inputs of the program or constants, f32[].
type numbers struct {
	Rate, Gamma, Lambda, Clip, ValueClip, Entropy, Value, MaxNorm, TargetKL *graph.Array
	clipValues, stops, normalize                                            bool
}

// loss is that of a minibatch (Schulman et al., "Proximal policy optimization algorithms", 2017): e has the experience along axis 0.
func (l *learner) loss(p Params, out passed, e experience) (*graph.Array, figures) {
	type one struct{ LogProb, Entropy *graph.Array }
	of := graph.VMap2(func(out, draw *graph.Array) one {
		return one{l.acting.LogProb(p.Head, out, draw), l.acting.Entropy(p.Head, out)}
	})(out.Action, e.Draw)
	clip := l.ValueClip
	if !l.clipValues {
		clip = nil
	}
	far := graph.VMap3(func(out, old, target *graph.Array) *graph.Array { return l.head.Loss(l.state, out, old, target, clip) })(out.Value, e.Value, e.Target)
	change := graph.Sub(of.LogProb, e.LogProb)
	ratio := graph.Exp(change)
	advantage := e.Advantage
	if l.normalize {
		advantage = graph.Div(graph.Sub(advantage, graph.Mean(advantage)), graph.Add(graph.Std(advantage), 1e-8))
	}
	clipped := graph.Clamp(graph.Sub(1, l.Clip), ratio, graph.Add(1, l.Clip))
	f := figures{
		PolicyLoss:   graph.Neg(graph.Mean(graph.Min(graph.Mul(ratio, advantage), graph.Mul(clipped, advantage)))),
		ValueLoss:    graph.Mean(far),
		Entropy:      graph.Mean(of.Entropy),
		KL:           graph.Mean(graph.Sub(graph.Sub(ratio, 1), change)),
		ClipFraction: graph.Mean(graph.Convert(graph.Gt(graph.Abs(graph.Sub(ratio, 1)), l.Clip), graph.Float32)),
		GradientNorm: graph.Scalar(0),
		Minibatches:  graph.Scalar(1),
		Skipped:      graph.Scalar(0),
	}
	return graph.Sub(graph.Add(f.PolicyLoss, graph.Mul(l.Value, f.ValueLoss)), graph.Mul(l.Entropy, f.Entropy)), f
}

// optimizer is Adam behind a clip of the gradient's norm.
func (l *learner) optimizer() optim.Transform {
	return optim.Flattened(optim.Chain(optim.ClipByGlobalNorm(l.MaxNorm), optim.Adam(l.Rate, optim.Eps(1e-5))))
}

// trained is what epochs hand from one to the next.
type trained struct {
	Params    Params
	Optimizer any
	Figures   figures
	Epoch     *graph.Array // i32[]
	Stop      *graph.Array // bool[]: the policy has moved far enough
}

// epochs goes through the experience several times, by minibatches in an order of each epoch's own: minibatch gives, of the numbers of its rows i32[rows], the
// loss of parameters.
func (l *learner) epochs(key random.Key, p Params, optimizer any, epochs, minibatches, rows int, minibatch func(rows *graph.Array) func(p Params) (*graph.Array, figures)) (Params, any, figures) {
	orders := graph.VMap(func(key random.Key) *graph.Array { return random.Permutation(key, rows) })(once(random.Split(key, epochs)))
	orders = once(graph.Reshape(orders, epochs, minibatches, rows/minibatches))
	adam := l.optimizer()
	zero := graph.Scalar(0)
	nothing := figures{zero, zero, zero, zero, zero, zero, zero, zero}
	step := func(t trained, rows *graph.Array) (trained, figures) {
		loss := minibatch(once(rows))
		_, f, gradient := graph.ValueAndGradAux(func(p Params, _ graph.None) (*graph.Array, figures) { return loss(p) })(t.Params, graph.None{})
		f.GradientNorm = optim.GlobalNorm(optim.Joined(gradient)) // as the optimiser has it
		learns := graph.IsFinite(f.GradientNorm)
		t.Params, t.Optimizer = optim.StepIf(learns, adam, t.Params, gradient, t.Optimizer)
		f = graph.MapTree(func(x *graph.Array) *graph.Array { return graph.Select(learns, x, 0.) }, f)
		f.Skipped = graph.Select(learns, 0., graph.Scalar(1))
		t.Figures = graph.MapTree2(func(sum, x *graph.Array) *graph.Array { return graph.Add(sum, x) }, t.Figures, f)
		return t, f
	}
	epoch := func(t trained, order *graph.Array) trained {
		t, each := graph.Scan(step, t, order, graph.LoopName(minibatchesLoop))
		t.Epoch = graph.Add(t.Epoch, 1)
		if l.stops {
			t.Stop = graph.Gt(graph.Mean(each.KL), l.TargetKL)
		}
		return t
	}
	first := trained{p, optimizer, nothing, graph.Zeros(graph.ShapeOf(graph.Int32)), graph.Zeros(graph.ShapeOf(graph.Bool))}
	var last trained
	if l.stops {
		last = graph.NamedWhile(epochsLoop, func(t trained) *graph.Array {
			return graph.And(graph.Lt(t.Epoch, epochs), graph.Not(t.Stop))
		}, func(t trained) trained { return epoch(t, graph.DynamicIndex(orders, t.Epoch, 0)) }, first)
	} else {
		last, _ = graph.Scan(func(t trained, order *graph.Array) (trained, graph.None) { return epoch(t, order), graph.None{} }, first, orders, graph.LoopName(epochsLoop))
	}
	n := graph.Max(last.Figures.Minibatches, 1)
	means := graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Div(a, n) }, last.Figures)
	means.Minibatches, means.Skipped = last.Figures.Minibatches, last.Figures.Skipped
	return last.Params, last.Optimizer, means
}

// Names of loops.
const (
	epochsLoop      = "epochs"
	minibatchesLoop = "minibatches"
)
