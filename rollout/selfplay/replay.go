package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/special"
)

// replay holds the games of the newest iterations. Iteration i is at index i modulo their number.
type replay struct {
	Rows   *graph.Array // u32[iterations, games, moves, words]
	Length *graph.Array // i32[iterations, games]
}

// replayGames returns the number of games of an iteration in the replay: the slots of all tiles. The last tile may
// leave some empty.
func (p *program) replayGames(l layout) int { return l.gameTiles.Items * l.gamesPerTile }

func (p *program) emptyReplay(l layout) replay {
	n, games := p.config.Replay, p.replayGames(l)
	return replay{graph.Zeros(graph.ShapeOf(graph.Uint32, n, games, p.game.moves, p.words())),
		graph.Zeros(graph.ShapeOf(graph.Int32, n, games))}
}

// with replaces the oldest games.
func (r replay) with(g games, iteration *graph.Array) replay {
	i := iteration.Rem(r.Rows.Dim(0))
	return replay{graph.DynamicUpdateIndex(r.Rows, g.Rows, i, 0), graph.DynamicUpdateIndex(r.Length, g.Length, i, 0)}
}

// words returns the number of words of a row. A row is one position to learn from: the state's words, the policy target
// in steps of 1/65535, two actions a word, and the value target for the player to move as f32.
func (p *program) words() int { return p.game.stateWords() + p.policyWords + 1 }

const policySteps = 65535

// packPolicy packs probabilities, f32[actions], into u32[policyWords].
func (p *program) packPolicy(probs *graph.Array) *graph.Array {
	steps := probs.Mul(policySteps).Round().Convert(graph.Uint32)
	if n := 2*p.policyWords - p.game.actions; n > 0 {
		steps = graph.Pad(steps, uint32(0), []int{0}, []int{n})
	}
	pairs := steps.Reshape(p.policyWords, 2)
	low, high := graph.SliceAxis(pairs, 1, 0, 1).Squeeze(1), graph.SliceAxis(pairs, 1, 1, 2).Squeeze(1)
	return low.Or(graph.ShiftLeft(high, graph.FullLike(high, 16)))
}

// unpackPolicy returns the probabilities, f32[actions]. Their sum is 1.
func (p *program) unpackPolicy(words *graph.Array) *graph.Array {
	low := words.And(graph.FullLike(words, 0xffff))
	high := graph.ShiftRightLogical(words, graph.FullLike(words, 16))
	// Compilers vectorize a sum of integers.
	total := low.Add(high).Sum().Convert(graph.Float32)
	steps := graph.Flatten1D(graph.Stack([]*graph.Array{low, high}, 1))
	return graph.SliceAxis(steps, 0, 0, p.game.actions).Convert(graph.Float32).Div(total.Max(1))
}

// playIteration plays the games of an iteration and adds them to the replay.
func (p *program) playIteration(l layout, r replay, by player, key random.Key, iteration,
	perDevice *graph.Array) (replay, playResult) {
	played, turns, reuse := p.playTiles(l, perDevice, by, random.FoldIn(key, iteration))
	slots := turns.Convert(graph.Float32).Sum().Mul(l.lanes)
	return r.with(played, iteration), p.summarize(played, slots, reuse.Sum())
}

// playMetrics are the metrics of self-play.
var playMetrics = []string{"positions", "mean_length", "first_wins", "draws", "mean_return", "best_return", "found",
	"lanes_busy", "reused_share", "policy_entropy"}

// playResult is the part of an iteration's games that is copied to the host.
type playResult struct {
	Metrics *graph.Array // f32[len(playMetrics)]
	Final   *graph.Array // u32[words of a state]: last position of the first game
	Solved  *graph.Array // u32[maxSolved, words of a state]: solutions of a puzzle, then zeros
	Game    *graph.Array // u32[moves, words]: the first game, for its picture
	Length  *graph.Array // i32[]: its moves
}

// maxSolved is the largest number of solutions of an iteration that are copied to the host.
const maxSolved = 4

// solvedReturn is the return of a solved puzzle, less the rounding of float32 sums.
const solvedReturn = 1 - 1e-4

// summarize returns the result of games. slots, f32[], is the number of moves that the lanes had time for. reuse,
// f32[], is the sum of the shares of trees that were reused.
func (p *program) summarize(played games, slots, reuse *graph.Array) playResult {
	exists := played.Length.Gt(0)
	length := played.Length.Convert(graph.Float32)
	count := exists.Convert(graph.Float32).Sum().Max(1)
	share := func(x *graph.Array) *graph.Array {
		return x.And(exists).Convert(graph.Float32).Sum().Div(count)
	}
	moves := length.Sum()
	returns := graph.Select(exists, played.Return, math.Inf(-1))
	solved := returns.Ge(solvedReturn)
	if p.game.players == 2 {
		solved = played.Length.Lt(0) // never
	}
	index := graph.CumSum(solved.Convert(graph.Int32), 0).Sub(1)
	solutions := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Uint32, maxSolved, p.game.stateWords())),
		graph.Select(solved, index, maxSolved), played.Final)
	metrics := graph.Stack([]*graph.Array{
		moves,
		moves.Div(count),
		share(played.Return.Gt(0)),
		share(played.Return.Eq(0)),
		graph.Select(exists, played.Return, 0).Sum().Div(count),
		returns.ReduceMax(0),
		solved.Convert(graph.Float32).Sum(),
		moves.Div(slots.Max(1)),
		reuse.Div(moves.Max(1)),
		p.entropy(played),
	}, 0)
	return playResult{metrics, played.Final.Index(0), solutions, played.Rows.Index(0), played.Length.Index(0)}
}

// entropy returns the mean entropy of the policy targets at the first moves, in nats, f32[].
func (p *program) entropy(g games) *graph.Array {
	first := graph.SliceAxis(g.Rows, 1, 0, 1).Squeeze(1)
	from := p.game.stateWords()
	return graph.VMap(func(row *graph.Array) *graph.Array {
		probs := p.unpackPolicy(graph.SliceAxis(row, 0, from, from+p.policyWords))
		return special.XLogY(probs, probs).Sum().Neg()
	})(first).Mean()
}
