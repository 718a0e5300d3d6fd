package main

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve/strategy"
	"xlarun/rollout/settings"
)

func init() { strategy.MustRegister("parents", &Parents{Parents: 32, Sigma: settings.Num(.5)}) }

// Parents is a (μ/μ, λ) evolution strategy: the next mean is the weighted mean of the best members. Better members
// have larger weights. Its genomes are trees, as the policy draws them. Its state is the mean, a tree too.
type Parents struct {
	Parents int             `set:"parents" min:"1" max:"16777216" help:"best members, of which the next mean is made"`
	Sigma   settings.Number `set:"sigma" above:"0" help:"standard deviation of the noise"`
}

// Traits are none: every member has noise of its own.
func (*Parents) Traits() (t strategy.Traits[any, any, any]) { return t }

// Init starts at the genome.
func (*Parents) Init(genome any, _ int) any { return genome }

// Sample draws z, standard normal.
func (*Parents) Sample(key random.Key, mean any, _ *graph.Array) any {
	return strategy.Noise(key, mean)
}

// Member is mean + σ·z.
func (p *Parents) Member(mean, z any, _ *graph.Array) any {
	return strategy.Move(mean, p.Sigma.Array(), z)
}

// Tell moves the mean by Σ weight·σ·z.
func (p *Parents) Tell(mean any, e strategy.Evaluation, z strategy.Draws[any]) any {
	return strategy.Move(mean, p.Sigma.Array(), z.Sum(strategy.LogWeights(e.Fitness, p.Parents)))
}

// Mean is the mean.
func (*Parents) Mean(mean any) any { return mean }
