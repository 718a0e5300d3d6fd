package generation

import (
	"math"
	"slices"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/episode"
	"xlarun/rollout/policy"
	"xlarun/rollout/population"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
)

// evalKey is folded into a search's key for the episodes of its evaluations. It is larger than 2·generation+1.
const evalKey = 1<<31 - 1

// evalEvery is the name of EvalSettings.EvalEvery among Inputs.Settings, i32[].
const evalEvery = "eval-every"

// evalMembers returns the number of members that play an evaluation: each has as many episodes as any other member.
func (c *Search) evalMembers() int { return (c.EvalEnvs + max(1, c.Episodes) - 1) / max(1, c.Episodes) }

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
	due := s.Generation.Add(1).Rem(in.Settings[evalEvery]).Eq(0)
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
	finite := each.Finite
	if finite == nil {
		ok := each.Return.IsFinite()
		finite = graph.Stack([]*graph.Array{ok.Convert(graph.Float32), graph.Select(ok, each.Return, 0),
			graph.ZerosLike(each.Return)}, 1)
	}
	return graph.Flatten1D(graph.SliceAxis(finite, 0, 0, p.EvalMembers))
}

// manyEpisodes is the number of episodes of a generation beside which those of an evaluation are few.
const manyEpisodes = 10240

// SuggestEval shortens the default distance between evaluations where they cost little beside a large population, and
// so that a short run has one in its last generation. On two devices an evaluation of the default size takes up to a
// quarter of a generation of 256 members, a fortieth of one of 10,240.
func (c *Search) SuggestEval(values settings.Values) {
	every := min(c.EvalEvery, (manyEpisodes+c.Population*c.Episodes-1)/max(1, c.Population*c.Episodes))
	if every = max(1, min(every, c.Generations)); c.EvalEnvs > 0 && every != c.EvalEvery {
		values["eval-every"] = every
	}
}

// Split cuts the numbers of Program.Run into those of the generation and those of its evaluation.
func (c *Search) Split(v []float64) (generation, eval []float64) {
	n := len(v) - 3*c.evalMembers()
	return v[:n], v[n:]
}

// EvalMeasures lists the names of EvalMetrics.
func (c *Search) EvalMeasures() []string {
	if c.EvalEnvs == 0 {
		return nil
	}
	return []string{run.EvalReturn, run.EvalError, run.EvalEpisodes, run.EvalFailed}
}

// EvalMetrics returns the metrics of the evaluation in a generation, none if it had none. v are the numbers of
// Program.evaluated, of one search or of several that evaluated the same genome.
func (c *Search) EvalMetrics(v []float64, step int64) []run.Value {
	if len(v) == 0 || step%int64(c.EvalEvery) != 0 {
		return nil
	}
	n, mean, squares := 0., 0., 0.
	for i := 0; i < len(v); i += 3 {
		n, mean = n+v[i], mean+v[i]*v[i+1]
	}
	mean /= n
	for i := 0; i < len(v); i += 3 {
		squares += v[i+2] + v[i]*(v[i+1]-mean)*(v[i+1]-mean)
	}
	deviation := math.NaN()
	if n == 0 {
		mean = math.Inf(-1)
	} else if n > 1 {
		deviation = math.Sqrt(squares / (n - 1) / n)
	}
	all := float64(len(v) / 3 * c.Episodes)
	return []run.Value{{Name: run.EvalReturn, Number: mean}, {Name: run.EvalError, Number: deviation},
		{Name: run.EvalEpisodes, Number: all}, {Name: run.EvalFailed, Number: all - n}}
}
