package generation

import (
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
)

// evalKey is folded into a search's key for the episodes of its evaluations. It is larger than 2·generation+1.
const evalKey = 1<<31 - 1

// evalEvery is the name of EvalSettings.EvalEvery among Inputs.Settings, i32[].
const evalEvery = "eval-every"

func groupsOf(members, size int) int { return (members + size - 1) / size }

// result returns the genome that a run would save now.
func (p *Program) result(s State) any {
	if p.Result != nil {
		return p.Result
	}
	return p.Strategy.Mean(s.Strategy)
}

// withoutNoise returns a member that shares its matrices, or the genome result if evaluated is true: bool[].
func withoutNoise(evaluated *graph.Array, result any, member policy.Shared) policy.Shared {
	params, tree := graph.Flatten(member.Params)
	member.Factors = slices.Clone(member.Factors)
	for i, own := range graph.Leaves(result) {
		switch f := &member.Factors[i]; {
		case f.A != nil:
			f.Scale = graph.Select(evaluated, 0, f.Scale)
		case own.DType().IsFloat():
			params[i] = graph.Select(evaluated, own, params[i])
		}
	}
	member.Params = tree.Unflatten(params)
	return member
}

// playing returns the tiles that a generation plays: those of the population, and of its evaluation if it has one.
func (p *Program) playing(s State, in Inputs) population.Tiles {
	if p.EvalMembers == 0 {
		return p.Groups
	}
	return p.Groups.ExtraIf(run.EvalDueIn(s.Generation.Add(1), in.Settings[evalEvery]))
}

// evalKeys replaces the keys of the members of an evaluation, u32[RowCount, sides, lanes, 2]: with eval =
// FoldIn(FoldIn(State.Key, evalKey), generation), member i of the evaluation has the key FoldIn(eval, i). group, i32[
// RowCount, lanes], are the numbers of the groups.
func (p *Program) evalKeys(s State, members random.Key, group *graph.Array) random.Key {
	if p.EvalMembers == 0 {
		return members
	}
	eval := random.FoldIn(random.FoldIn(s.Key, evalKey), s.Generation)
	group = group.Sub(p.Groups.Items).ExpandDims(1)
	side := graph.Iota(p.Strategy.GroupSize).Reshape(1, p.Strategy.GroupSize, 1)
	keys := foldInEach(eval, group.Add(side.Mul(p.Groups.Extra))).Data
	evaluated := p.Groups.IsExtra(graph.Iota(p.Groups.RowCount())).Reshape(p.Groups.RowCount(), 1, 1, 1)
	return random.Key{Data: graph.Select(evaluated.BroadcastTo(keys.Dims()...), keys, members.Data)}
}

// evaluated returns f32[3·EvalMembers]: episode.Summary.Finite of each member of an evaluation, given the rows of all
// tiles, leaves [tiles, …]. Without an evaluation in this generation it says nothing.
func (p *Program) evaluated(rows episode.Summary) *graph.Array {
	if p.EvalMembers == 0 {
		return nil
	}
	each := graph.MapTree(func(a *graph.Array) *graph.Array {
		return p.Groups.ExtraInOrder(lanesInOrder(a), 1).MergeAxes(0, 2)
	}, rows)
	return graph.Flatten1D(graph.SliceAxis(each.FiniteReturns(), 0, 0, p.EvalMembers))
}

// Split cuts the numbers of Program.Run into those of the generation and those of its evaluation.
func (c *Search) Split(v []float64) (generation, eval []float64) {
	n := len(v) - 3*c.EvalMembers(c.Episodes)
	return v[:n], v[n:]
}
