package ppo

import "xlarun/graph"

func gae(rewards, values, finals, terminated, truncated, last, gamma, lambda *graph.Array) (advantages, targets *graph.Array) {
	type step struct{ Reward, Value, Final, Terminated, Truncated *graph.Array }
	type carry struct{ Advantage, Next *graph.Array }
	_, advantages = graph.Scan(func(c carry, s step) (carry, *graph.Array) {
		next := graph.Select(s.Terminated, 0., graph.Select(s.Truncated, s.Final, c.Next))
		delta := graph.Sub(graph.Add(s.Reward, graph.Mul(gamma, next)), s.Value)
		more := graph.Mul(graph.Mul(gamma, lambda), c.Advantage)
		a := graph.Add(delta, graph.Select(graph.Or(s.Terminated, s.Truncated), 0., more))
		return carry{a, s.Value}, a
	}, carry{graph.ZerosLike(last), last}, step{rewards, values, finals, terminated, truncated}, graph.ReverseScan())
	return advantages, graph.Add(advantages, values)
}
