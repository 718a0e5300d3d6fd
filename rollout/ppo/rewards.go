package ppo

import (
	"math"

	"xlarun/graph"
	"xlarun/rollout/policy"
)

// discounted is what rewards are normalised by: the deviation of their discounted sums (Engstrom et al., "Implementation matters in deep policy gradients", 2020).
type discounted struct {
	Sums    *graph.Array // f32[environments]: of the episodes under way
	Moments policy.Moments
}

// farthestReward is how far from 0 a normalised reward may be.
const farthestReward = 10

// normalize divides rewards by the deviation of their discounted sums, those of this update included.
func (d *discounted) normalize(m moment, gamma *graph.Array) (rewards *graph.Array, next *discounted) {
	type step struct{ Reward, Done *graph.Array }
	last, sums := graph.Scan(func(sum *graph.Array, s step) (*graph.Array, *graph.Array) {
		sum = graph.Add(graph.Mul(gamma, sum), graph.Select(graph.IsFinite(s.Reward), s.Reward, 0.))
		return graph.Select(s.Done, 0., sum), sum
	}, d.Sums, step{m.Reward, graph.Or(m.Terminated, m.Truncated)})
	moments := d.Moments.And(momentsOf(graph.Flatten1D(sums)))
	by := moments.Scale()
	rewards = graph.Clamp(-farthestReward, graph.Div(m.Reward, by.Deviation), farthestReward)
	rewards = graph.Select(graph.IsFinite(m.Reward), rewards, math.NaN()) // an infinite one teaches nothing, as it does where none is divided
	return rewards, &discounted{last, moments}
}
