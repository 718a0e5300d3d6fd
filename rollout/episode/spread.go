package episode

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// Spread is a Rollout for a population that is cut over devices.
type Spread struct {
	*Rollout
	Tiles population.Tiles // of the members
}

// SpreadInputs are what a program has to take as an input so that Play can be a part of it.
type SpreadInputs struct {
	Tiles  *graph.Array            // i32[]; see population.Each
	Policy map[string]*graph.Array // the policy's Numbers
}

// Inputs are those of Play's program.
func (s *Spread) Inputs() SpreadInputs { return SpreadInputs{s.Tiles.Count(), s.Rollout.Inputs()} }

// Play plays the episodes of all members, within a program that every device runs. member gives parameters and key of one,
// unbatched, by its number, an int32 scalar. The result has the members along axis 0, in order; it is the same on every
// device and whatever the number of devices.
func (s *Spread) Play(in SpreadInputs, member func(number *graph.Array) (params any, key random.Key)) Summary {
	bound := s.Bound(in.Policy)
	return population.Map(s.Tiles, in.Tiles, func(number *graph.Array) Summary { return bound.Member(member(number)) }, s.Plan.VMap()...)
}

// EnvSteps are the environment steps of one Play.
func (s *Spread) EnvSteps() float64 {
	return float64(s.Tiles.Items) * float64(max(1, s.Episodes)) * float64(s.Steps)
}
