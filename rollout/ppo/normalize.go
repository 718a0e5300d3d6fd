package ppo

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/policy"
)

// observationStats are statistics of observations. They are a tree.
type observationStats interface {
	// scale returns the scale of the normalization.
	scale() observationScale
	// with adds the observations [n, …] of an update.
	with(observations *graph.Array) observationStats
}

// observationScale normalizes observations. It is a tree.
type observationScale interface {
	apply(observation *graph.Array) *graph.Array
	// member returns an actor's parameters together with the scale, as they are saved.
	member(actor any) any
}

// observationStats returns the statistics of no observations.
func (c *Config) observationStats(space envs.Space) observationStats {
	if !c.NormalizeObservations {
		return noStats{}
	}
	return runningStats{policy.NoMoments(space.Shape().Dims...)}
}

// noStats leave observations as they are.
type noStats struct{}

func (noStats) scale() observationScale                { return noScale{} }
func (s noStats) with(_ *graph.Array) observationStats { return s }

type noScale struct{}

func (noScale) apply(observation *graph.Array) *graph.Array { return observation }
func (noScale) member(actor any) any                        { return actor }

// runningStats are the moments of all observations.
type runningStats struct {
	policy.Moments `tree:"inline"`
}

func (s runningStats) scale() observationScale { return standardScale{s.Moments.Scale()} }

func (s runningStats) with(observations *graph.Array) observationStats {
	return runningStats{s.Moments.Merge(momentsOf(observations.Convert(graph.Float32)))}
}

// standardScale subtracts the mean and divides by the standard deviation.
type standardScale struct {
	policy.Scale `tree:"inline"`
}

func (s standardScale) apply(observation *graph.Array) *graph.Array { return s.Apply(observation) }
func (s standardScale) member(actor any) any {
	return policy.Normalized{Own: actor, Observation: s.Scale}
}

// rewardScaler normalizes rewards. It is a tree.
type rewardScaler interface {
	// scale returns the normalized rewards of a rollout, f32[steps, environments], and the scaler of the next update.
	scale(t transition, gamma *graph.Array) (*graph.Array, rewardScaler)
}

// rewardScaler returns the scaler of the first update.
func (c *Config) rewardScaler() rewardScaler {
	if !c.NormalizeRewards {
		return rawRewards{}
	}
	return discountedSums{graph.Zeros(graph.ShapeOf(graph.Float32, c.Envs)), policy.NoMoments()}
}

// rawRewards leave rewards as they are.
type rawRewards struct{}

func (r rawRewards) scale(t transition, _ *graph.Array) (*graph.Array, rewardScaler) {
	return t.Reward, r
}

// discountedSums divide rewards by the standard deviation of their discounted sums (Engstrom et al., "Implementation
// matters in deep policy gradients", 2020).
type discountedSums struct {
	Sums    *graph.Array // f32[environments]: of the episodes so far
	Moments policy.Moments
}

// maxReward is the largest normalized reward.
const maxReward = 10

// scale divides rewards by the deviation of all discounted sums, this update included. An infinite reward becomes NaN:
// nothing is learned from it.
func (d discountedSums) scale(t transition, gamma *graph.Array) (*graph.Array, rewardScaler) {
	last, sums := graph.Scan(func(sum *graph.Array,
		step graph.Pair[*graph.Array, *graph.Array]) (*graph.Array, *graph.Array) {
		reward, done := step.Unpack()
		sum = gamma.Mul(sum).Add(graph.Select(reward.IsFinite(), reward, 0.))
		return graph.Select(done, 0., sum), sum
	}, d.Sums, graph.PairOf(t.Reward, t.done()))
	moments := d.Moments.Merge(momentsOf(graph.Flatten1D(sums)))
	rewards := graph.Clamp(-maxReward, t.Reward.Div(moments.Scale().Deviation), maxReward)
	return graph.Select(t.Reward.IsFinite(), rewards, math.NaN()), discountedSums{last, moments}
}

// momentsOf returns the moments of x, f32[n, …], along axis 0.
func momentsOf(x *graph.Array) policy.Moments {
	origin := x.Index(0)
	difference := x.Sub(origin.ExpandDims(0))
	n := graph.Scalar(float64(x.Dim(0)))
	return policy.MomentsOf(n, origin, difference.Sum(0), difference.Square().Sum(0))
}
