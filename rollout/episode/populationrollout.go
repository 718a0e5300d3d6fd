package episode

import (
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
)

// PopulationRollout is a Rollout of a population that is cut over devices.
type PopulationRollout struct {
	*Rollout
	Tiles population.Tiles // of the members
}

// PopulationInputs are the inputs of a program with PopulationRollout.Play.
type PopulationInputs struct {
	Tiles  *graph.Array            // i32[]; see population.Each
	Policy map[string]*graph.Array // the policy's Numbers, and the environment's given parameters
}

// Inputs returns the inputs of a program with Play.
func (s *PopulationRollout) Inputs() PopulationInputs {
	return PopulationInputs{s.Tiles.Count(), s.Rollout.Inputs()}
}

// Play plays the episodes of all members, inside a program that every device runs. member returns the unbatched
// parameters of a member, given its number, i32[], and Key(key, number). The result has the members in order along axis
// 0. It is the same on every device and for any number of devices.
func (s *PopulationRollout) Play(in PopulationInputs, key random.Key,
	member func(number *graph.Array, key random.Key) (params any)) Summary {
	return PlayEach(s, in, key, func(number *graph.Array, key random.Key, play func(params any) Summary) Summary {
		return play(member(number, key))
	})
}

// PlayEach is PopulationRollout.Play with a result of any tree: one gets a member's number, its key, and the function
// that plays the member's episodes.
func PlayEach[R any](s *PopulationRollout, in PopulationInputs, key random.Key,
	one func(number *graph.Array, key random.Key, play func(params any) Summary) R) R {
	bound := s.Bound(in.Policy)
	return population.Map(s.Tiles, in.Tiles, func(number *graph.Array) R {
		memberKey, episodesKey := memberKeys(key, number)
		return one(number, memberKey, func(params any) Summary {
			return bound.Member(graph.Once(params), episodesKey)
		})
	}, s.Plan.VMap()...)
}

// Key returns the key with which Play makes a member.
func (s *PopulationRollout) Key(key random.Key, number *graph.Array) random.Key {
	memberKey, _ := memberKeys(key, number)
	return memberKey
}

// memberKeys returns the keys that make a member and that play its episodes. They are computed once: on tiles of some
// sizes, XLA would otherwise compile for minutes.
func memberKeys(key random.Key, number *graph.Array) (own, episodes random.Key) {
	return graph.Once(graph.PairOf(random.Split2(random.FoldIn(key, number)))).Unpack()
}

// EnvSteps returns the environment steps of one Play.
func (s *PopulationRollout) EnvSteps() float64 {
	return float64(s.Tiles.Items) * float64(max(1, s.Episodes)) * float64(s.Steps)
}
