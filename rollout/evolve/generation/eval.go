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

// evalGroups returns the number of groups of an evaluation. They lie behind the population's, in lanes that would be
// padding, or in further tiles.
func (p *Program) evalGroups() int { return groupsOf(p.EvalMembers, p.Strategy.GroupSize) }

func groupsOf(members, size int) int { return (members + size - 1) / size }

// result returns the genome that a run would save now.
func (p *Program) result(s State) any {
	if p.Result != nil {
		return p.Result
	}
	return p.Strategy.Mean(s.Strategy)
}

// behind reports which lanes of a tile lie behind the population, bool[lanes].
func (p *Program) behind(tile *graph.Array) *graph.Array {
	first := p.Groups.First().Add(tile).Mul(p.Groups.Lanes)
	return graph.Iota(p.Groups.Lanes).Add(first).Ge(p.Groups.Items)
}

// withoutNoise returns a member that shares its matrices, or the genome result if behind is true: bool[].
func withoutNoise(behind *graph.Array, result any, member policy.Shared) policy.Shared {
	params, tree := graph.Flatten(member.Params)
	member.Factors = slices.Clone(member.Factors)
	for i, own := range graph.Leaves(result) {
		switch f := &member.Factors[i]; {
		case f.A != nil:
			f.Scale = graph.Select(behind, 0, f.Scale)
		case own.DType().IsFloat():
			params[i] = graph.Select(behind, own, params[i])
		}
	}
	member.Params = tree.Unflatten(params)
	return member
}

// tilesBehind returns how many tiles of an evaluation a generation plays behind the population's, i32[]: all or none.
func (p *Program) tilesBehind(s State, in Inputs) *graph.Array {
	if p.EvalMembers == 0 {
		return nil
	}
	due := run.EvalDueIn(s.Generation.Add(1), in.Settings[evalEvery])
	return graph.Select(due, graph.Scalar(p.EvalTiles(), graph.Int32), 0)
}

// EvalTiles returns the number of tiles of an evaluation behind the population's.
func (p *Program) EvalTiles() int { return evalTiles(p.Groups, p.evalGroups()) }

// evalTiles returns the number of tiles that so many groups need behind the population's.
func evalTiles(t population.Tiles, groups int) int {
	return (t.Items+groups+t.Lanes-1)/t.Lanes - t.Used()
}

// evalKeys replaces the keys of the members behind the population, u32[RowCount, sides, lanes, 2]: with eval =
// FoldIn(FoldIn(State.Key, evalKey), generation), member i of the evaluation has the key FoldIn(eval, i). group, i32[
// RowCount, lanes], are the numbers of the groups.
func (p *Program) evalKeys(s State, members random.Key, group *graph.Array) random.Key {
	if p.EvalMembers == 0 {
		return members
	}
	eval := random.FoldIn(random.FoldIn(s.Key, evalKey), s.Generation)
	group = group.Sub(p.Groups.Items).ExpandDims(1)
	side := graph.Iota(p.Strategy.GroupSize).Reshape(1, p.Strategy.GroupSize, 1)
	keys := foldInEach(eval, group.Add(side.Mul(p.evalGroups()))).Data
	behind := group.Ge(0).ExpandDims(3).BroadcastTo(keys.Dims()...)
	return random.Key{Data: graph.Select(behind, keys, members.Data)}
}

// evaluated returns f32[3·EvalMembers]: episode.Summary.Finite of each member of an evaluation, given the rows of all
// tiles, leaves [tiles, …]. Without an evaluation in this generation it says nothing.
func (p *Program) evaluated(rows episode.Summary) *graph.Array {
	if p.EvalMembers == 0 {
		return nil
	}
	groups := p.evalGroups()
	each := graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.SliceAxis(lanesInOrder(a), 1, p.Groups.Items, p.Groups.Items+groups).MergeAxes(0, 2)
	}, rows)
	return graph.Flatten1D(graph.SliceAxis(each.FiniteReturns(), 0, 0, p.EvalMembers))
}

// Split cuts the numbers of Program.Run into those of the generation and those of its evaluation.
func (c *Search) Split(v []float64) (generation, eval []float64) {
	n := len(v) - 3*c.EvalMembers(c.Episodes)
	return v[:n], v[n:]
}
