package ppo

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/optim"
	"xlarun/rollout/ppo/value"
)

// proximal is proximal policy optimization: policy and value are learned together, within a clip of what the policy was.
type proximal struct{}

func (*proximal) plays(p Params, _, _ *graph.Array) Params { return p }

func (*proximal) scaled(rewards *graph.Array) *graph.Array { return rewards }

// learns makes an advantage NaN where the target is no number.
func (*proximal) learns(e experience, number *graph.Array) experience {
	e.Advantage = graph.Select(number, e.Advantage, math.NaN())
	return e
}

// loss is that of a minibatch, or of a part of one (Schulman et al., "Proximal policy optimization algorithms", 2017): e has the experience along axis 0, by is
// the spread of the whole minibatch. Steps whose advantage is NaN count as if they had no loss.
func (*proximal) loss(l *learner, p Params, out passed, e experience, by *spread) (*graph.Array, figures) {
	type one struct{ LogProb, Entropy *graph.Array }
	of := graph.VMap2(func(out, draw *graph.Array) one {
		return one{l.acting.LogProb(p.Head, out, draw), l.acting.Entropy(p.Head, out)}
	})(out.Action, e.Draw)
	clip := l.ValueClip
	if !l.clipValues {
		clip = nil
	}
	far := graph.VMap3(func(out, old, target *graph.Array) *graph.Array { return l.head.Loss(l.state, out, old, target, clip) })(out.Value, e.Value, e.Target)
	if l.branch != nil {
		mine := far
		far = graph.Cond(l.branch, func() *graph.Array { return mine }, func() *graph.Array {
			return graph.VMap2(func(out, target *graph.Array) *graph.Array {
				return (&value.Plain{}).Loss(nil, graph.SliceAxis(out, 0, 0, 1), nil, target, nil)
			})(out.Value, e.Target)
		})
	}
	change := graph.Sub(of.LogProb, e.LogProb)
	ratio := graph.Exp(change)
	teaches := graph.Not(graph.IsNaN(e.Advantage))
	mean := func(x *graph.Array) *graph.Array { return graph.Mean(graph.Select(teaches, x, 0.)) }
	advantage := graph.Select(teaches, e.Advantage, 0.)
	if by != nil {
		advantage = graph.Div(graph.Sub(advantage, by.Mean), by.Deviation)
	}
	clipped := graph.Clamp(graph.Sub(1, l.Clip), ratio, graph.Add(1, l.Clip))
	f := figures{
		PolicyLoss:   graph.Neg(mean(graph.Min(graph.Mul(ratio, advantage), graph.Mul(clipped, advantage)))),
		ValueLoss:    mean(far),
		Entropy:      mean(of.Entropy),
		KL:           mean(graph.Sub(graph.Expm1(change), change)), // of small changes exp less 1 would be rounding, below 0 at times
		ClipFraction: mean(graph.Convert(graph.Gt(graph.Abs(graph.Sub(ratio, 1)), l.Clip), graph.Float32)),
		GradientNorm: graph.Scalar(0),
		Minibatches:  graph.Scalar(1),
		Skipped:      graph.Scalar(0),
	}
	return graph.Sub(graph.Add(f.PolicyLoss, graph.Mul(l.Value, f.ValueLoss)), graph.Mul(l.Entropy, f.Entropy)), f
}

func (*proximal) optimizer(rate *graph.Array) optim.Transform {
	return optim.Adam(rate, optim.Eps(1e-5))
}

func (*proximal) metrics(ppo []string) []string { return ppo }

func (*proximal) measured(_, _ *graph.Array) map[string]*graph.Array { return nil }
