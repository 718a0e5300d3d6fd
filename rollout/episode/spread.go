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
	Policy map[string]*graph.Array // the policy's Numbers, and the environment's given parameters
}

// Inputs are those of Play's program.
func (s *Spread) Inputs() SpreadInputs { return SpreadInputs{s.Tiles.Count(), s.Rollout.Inputs()} }

// Play plays the episodes of all members, within a program that every device runs. member gives the parameters of one,
// unbatched, by its number, an int32 scalar, and a key of its own, which is Key(key, number). The result has the members along
// axis 0, in order; it is the same on every device and whatever the number of devices.
func (s *Spread) Play(in SpreadInputs, key random.Key, member func(number *graph.Array, key random.Key) (params any)) Summary {
	bound := s.Bound(in.Policy)
	return population.Map(s.Tiles, in.Tiles, func(number *graph.Array) Summary {
		own, episodes := keysOf(key, number)
		return bound.Member(once(member(number, own)), episodes)
	}, s.Plan.VMap()...)
}

// Key is that with which Play makes the member of a number.
func (s *Spread) Key(key random.Key, number *graph.Array) random.Key {
	own, _ := keysOf(key, number)
	return own
}

// keysOf are the keys of a member: to make it, and to play its episodes. Derived again for each of their uses, as the compiler
// would without the barrier, they make it work for minutes on tiles of some sizes.
func keysOf(key random.Key, number *graph.Array) (own, episodes random.Key) {
	own, episodes = random.Split2(random.FoldIn(key, number))
	both := once([]random.Key{own, episodes})
	return both[0], both[1]
}

// EnvSteps are the environment steps of one Play.
func (s *Spread) EnvSteps() float64 {
	return float64(s.Tiles.Items) * float64(max(1, s.Episodes)) * float64(s.Steps)
}
