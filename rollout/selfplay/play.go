package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
)

// games are the games of an iteration in the order of their numbers, the same on every device.
type games struct {
	Rows   *graph.Array // u32[games, moves, words]: see program.words
	Length *graph.Array // i32[games]: moves; 0: there is no game of this number
	Return *graph.Array // f32[games]: of player 0
	Final  *graph.Array // u32[games, words of a state]: the last positions
}

// tileResult is what one tile of lanes played.
type tileResult struct {
	Games games        // of the tile's numbers
	Turns *graph.Array // i32[]
	Reuse *graph.Array // f32[]: sum over all moves of the share of the tree that was reused
}

// reusedTree is the part of a move's search tree that the next move's search goes on from.
type reusedTree = search.Reused[search.Position[any]]

// lane plays one game at a time.
type lane struct {
	State any
	Game  *graph.Array // i32[]: number in the tile; -1: the lane is idle
	Move  *graph.Array // i32[]: moves so far
	Tree  *reusedTree  // nil without Reuse
}

// transition is one move of a lane.
type transition struct {
	State  any          // after the move
	Row    *graph.Array // u32[words]: of the position before the move, with the sign in place of the value target
	Reward *graph.Array // f32[]: for player 0
	Over   *graph.Array // bool[]
	Tree   *reusedTree
}

// buffer collects the games of a tile.
type buffer struct {
	Rows   *graph.Array // u32[games * moves, words]
	Reward *graph.Array // f32[games * moves]: for player 0
	Length *graph.Array // i32[games]
	Final  *graph.Array // u32[games, words of a state]
}

// actor plays the games of one tile.
type actor struct {
	*program
	layout layout
	model  search.Model[any, any, searchParams]
	params searchParams
	key    random.Key   // of the iteration
	first  *graph.Array // i32[]: number of the tile's first game
	games  *graph.Array // i32[]: games of the tile, at most layout.gamesPerTile
}

// actorState is what an actor's loop carries.
type actorState struct {
	Lanes  lane // with an axis of [lanes] in front
	Buffer buffer
	Begun  *graph.Array // i32[]: games
	Done   *graph.Array // i32[]: games
	Turns  *graph.Array // i32[]
	Reuse  *graph.Array // f32[]: as tileResult.Reuse
}

// play plays all games of the tile. In a turn every lane searches a move, steps and is recorded; a lane whose game is
// over begins the next game.
func (a actor) play() tileResult {
	unfinished := func(s actorState) *graph.Array { return s.Done.Lt(a.games) }
	end := graph.NamedWhile("turns", unfinished, func(s actorState) actorState {
		t := graph.VMap(a.move)(s.Lanes)
		playing := s.Lanes.Game.Ge(0)
		over := playing.And(t.Over)
		next := a.refill(s, t, over)
		next.Buffer = a.record(s, t, playing, over)
		if t.Tree != nil {
			next.Reuse = s.Reuse.Add(graph.Select(playing, t.Tree.Share, 0).Sum())
		}
		return next
	}, a.begin())
	return tileResult{a.finish(end.Buffer), end.Turns, end.Reuse}
}

// begin starts the first games.
func (a actor) begin() actorState {
	slots := a.layout.gamesPerTile
	lanes := graph.Iota(a.layout.lanes)
	s := actorState{
		Buffer: buffer{
			Rows:   graph.Zeros(graph.ShapeOf(graph.Uint32, slots*a.game.moves, a.words())),
			Reward: graph.Zeros(graph.ShapeOf(graph.Float32, slots*a.game.moves)),
			Length: graph.Zeros(graph.ShapeOf(graph.Int32, slots)),
			Final:  graph.Zeros(graph.ShapeOf(graph.Uint32, slots, a.game.stateWords())),
		},
		Lanes: lane{
			State: graph.VMap(func(game *graph.Array) any { return a.opening(a.key, a.first.Add(game)) })(lanes),
			Game:  graph.Select(lanes.Lt(a.games), lanes, -1),
			Move:  graph.Zeros(graph.ShapeOf(graph.Int32, a.layout.lanes)),
		},
		Begun: a.games.Min(a.layout.lanes), Done: graph.Of(int32(0)), Turns: graph.Of(int32(0)), Reuse: graph.Scalar(0),
	}
	if a.config.Reuse {
		trees := repeat(a.layout.lanes, a.emptyTree())
		s.Lanes.Tree = &trees
	}
	return s
}

// move is one move of a lane: search, then step.
func (a actor) move(l lane) transition {
	g := a.game
	root := a.root(a.model, a.params, l.State, a.temperature(l.Move))
	var reused []reusedTree
	if l.Tree != nil {
		reused = append(reused, *l.Tree)
	}
	key := moveKey(a.key, a.first.Add(l.Game), l.Move)
	found := search.Run(a.config.trainingSearch(), a.params, key, root, a.model.Step, reused...)
	next, _, reward, terminated, truncated := g.env.Step(key, l.State, found.Action, g.params)

	sign := a.sign(l.State)
	over := terminated.Or(truncated).Or(l.Move.Ge(g.moves - 1))
	row := graph.Concatenate(0, g.pack(l.State), a.packPolicy(found.Weights),
		graph.Reshape(graph.Bitcast(sign, graph.Uint32), 1))
	t := transition{State: next, Row: row, Reward: sign.Mul(reward), Over: over}
	if l.Tree != nil {
		tree := search.Reroot(found.Tree, found.Action).Drop(over)
		t.Tree = &tree
	}
	return t
}

// record writes a turn into the buffer. Rows beyond its end are dropped: those of idle lanes, and the length and final
// position of games that go on.
func (a actor) record(s actorState, t transition, playing, over *graph.Array) buffer {
	slots, moves := a.layout.gamesPerTile, a.game.moves
	game, move, b := s.Lanes.Game, s.Lanes.Move, s.Buffer
	at := graph.Select(playing, game.Mul(moves).Add(move), slots*moves)
	ended := graph.Select(over, game, slots)
	return buffer{
		Rows:   graph.ScatterSet(b.Rows, at, t.Row),
		Reward: graph.ScatterSet(b.Reward, at, t.Reward),
		Length: graph.ScatterSet(b.Length, ended, move.Add(1)),
		Final:  graph.ScatterSet(b.Final, ended, graph.VMap(a.game.pack)(t.State)),
	}
}

// refill gives lanes whose game is over the next games, in the order of the lanes.
func (a actor) refill(s actorState, t transition, over *graph.Array) actorState {
	rank := graph.CumSum(over.Convert(graph.Int32), 0)
	next := s.Begun.Add(rank.Sub(1))
	ended := over.Convert(graph.Int32).Sum()
	states := graph.VMap3(func(over, game *graph.Array, state any) any {
		return graph.SelectTree(over, a.opening(a.key, a.first.Add(game)), state)
	})(over, next, t.State)
	return actorState{
		Lanes: lane{
			State: states,
			Game:  graph.Select(over, graph.Select(next.Lt(a.games), next, -1), s.Lanes.Game),
			Move:  graph.Select(over, 0, s.Lanes.Move.Add(1)),
			Tree:  t.Tree,
		},
		Begun: a.games.Min(s.Begun.Add(ended)), Done: s.Done.Add(ended), Turns: s.Turns.Add(1), Reuse: s.Reuse,
	}
}

// finish completes the rows by their value targets: the return from each move on, for the player who moves.
func (a actor) finish(b buffer) games {
	slots, moves, words := a.layout.gamesPerTile, a.game.moves, a.words()
	rows := graph.Reshape(b.Rows, slots, moves, words)
	played := graph.ExpandDims(graph.Iota(moves), 0).Lt(graph.ExpandDims(b.Length, 1))
	reward := graph.Select(played, graph.Reshape(b.Reward, slots, moves), 0)
	returns := graph.CumSum(reward, 1, graph.Reversed()) // f32[games, moves]: of player 0, from each move on
	sign := graph.Bitcast(graph.Squeeze(graph.SliceAxis(rows, 2, words-1, words), 2), graph.Float32)
	targets := graph.Bitcast(sign.Mul(returns), graph.Uint32)
	rows = graph.Concatenate(2, graph.SliceAxis(rows, 2, 0, words-1), graph.ExpandDims(targets, 2))
	return games{rows, b.Length, graph.Squeeze(graph.SliceAxis(returns, 1, 0, 1), 1), b.Final}
}

// opening is the position in which a game of an iteration begins: the first one of the game, or, for odd numbers, the
// one after up to RandomMoves random moves, none of which ends the game. key is the iteration's.
func (p *program) opening(key random.Key, number *graph.Array) any {
	g, most := p.game, p.config.RandomMoves
	if most == 0 {
		return g.start
	}
	keys := random.SplitN(moveKey(key, number, graph.Of(int32(openingMove))), 2)
	count := number.Rem(2).Mul(random.Randint(keys[0], graph.ShapeOf(graph.Int32), 0, most+1))
	return graph.ForiLoop(0, most, func(i *graph.Array, state any) any {
		legal := g.parts.Masker.Legal(state, g.params)
		action := random.Categorical(random.FoldIn(keys[1], i), graph.Select(legal, graph.Scalar(0), math.Inf(-1)), 0)
		next, _, _, terminated, truncated := g.env.Step(key, state, action, g.params)
		stays := i.Ge(count).Or(terminated.Or(truncated))
		return graph.SelectTree(stays, state, next)
	}, g.start)
}

// openingMove is the number of a move that no game reaches: its key draws a game's opening.
const openingMove = 1 << 20

// moveKey is the key of a move of a game, in an iteration with a key.
func moveKey(key random.Key, game, move *graph.Array) random.Key {
	return random.FoldIn(random.FoldIn(key, game), move)
}

// emptyTree is a tree to go on from without nodes. Only the shapes of the search that it is made from matter.
func (a actor) emptyTree() reusedTree {
	root := a.root(a.model, a.params, a.game.start, graph.Scalar(1))
	r := search.Run(a.config.trainingSearch(), a.params, random.New(0), root, a.model.Step)
	return graph.ZerosLikeTree(search.Reroot(r.Tree, r.Action))
}

// root is the root of a search from a state.
func (p *program) root(m search.Model[any, any, searchParams], params searchParams, state any,
	temperature *graph.Array) search.Root[search.Position[any]] {
	root := m.Root(params, state)
	if p.config.Search == "puct" {
		root.Temperature = temperature
	}
	return root
}

// temperature of a move, f32[].
func (p *program) temperature(move *graph.Array) *graph.Array {
	return graph.Select(move.Lt(p.config.DrawnMoves), p.config.Temperature.Array(), graph.Scalar(0))
}

// sign is 1 where player 0 moves, -1 where the other one does, f32[].
func (p *program) sign(state any) *graph.Array {
	if p.game.players == 1 {
		return graph.Scalar(1)
	}
	return graph.Select(p.game.player(state).Eq(0), graph.Scalar(1), graph.Scalar(-1))
}

// repeat gives the leaves of a tree an axis of n in front.
func repeat[T any](n int, tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.BroadcastTo(graph.ExpandDims(a, 0), append([]int{n}, a.Dims()...)...)
	}, tree)
}

// playTiles plays the games of an iteration on all devices. Of the statistics Turns and Reuse have one element per
// tile.
func (p *program) playTiles(l layout, tiles *graph.Array, by player, key random.Key) (played games, turns,
	reuse *graph.Array) {
	t, slots := l.gameTiles, l.gamesPerTile
	one := func(local *graph.Array) tileResult {
		first := t.First().Add(local).Mul(slots)
		return actor{
			program: p, layout: l, model: p.model(), params: p.searchParams(by), key: key,
			first: first, games: graph.Clamp(0, graph.Sub(p.config.NumEpisodes, first), slots),
		}.play()
	}
	rows := population.Each(t, tiles, tileResult{games{
		Rows:   t.Rows(graph.Uint32, slots, p.game.moves, p.words()),
		Length: t.Rows(graph.Int32, slots),
		Return: t.Rows(graph.Float32, slots),
		Final:  t.Rows(graph.Uint32, slots, p.game.stateWords()),
	}, t.Rows(graph.Int32), t.Rows(graph.Float32)}, one)
	played = graph.MapTree(func(a *graph.Array) *graph.Array { // without the padding
		return graph.SliceAxis(graph.MergeAxes(t.Gather(a), 0, 2), 0, 0, p.replayGames(l))
	}, rows.Games)
	return played, t.Gather(rows.Turns), t.Gather(rows.Reuse)
}

// replayGames is the number of games of an iteration in the replay: all tiles' slots. The last tile may leave some
// free.
func (p *program) replayGames(l layout) int { return l.gameTiles.Items * l.gamesPerTile }

// replay holds the games of the newest iterations. Iteration i is at index i modulo their number.
type replay struct {
	Rows   *graph.Array // u32[iterations, games, moves, words]
	Length *graph.Array // i32[iterations, games]
}

func (p *program) emptyReplay(l layout) replay {
	n, games := p.config.Replay, p.replayGames(l)
	return replay{graph.Zeros(graph.ShapeOf(graph.Uint32, n, games, p.game.moves, p.words())),
		graph.Zeros(graph.ShapeOf(graph.Int32, n, games))}
}

// with replaces the oldest games.
func (r replay) with(g games, iteration *graph.Array) replay {
	at := iteration.Rem(r.Rows.Dim(0))
	return replay{graph.DynamicUpdateIndex(r.Rows, g.Rows, at, 0), graph.DynamicUpdateIndex(r.Length, g.Length, at, 0)}
}

// playIteration plays the games of an iteration and adds them to the replay.
func (p *program) playIteration(l layout, r replay, by player, key random.Key, iteration,
	tiles *graph.Array) (replay, playResult) {
	played, turns, reuse := p.playTiles(l, tiles, by, random.FoldIn(key, iteration))
	slots := turns.Convert(graph.Float32).Sum().Mul(l.lanes)
	return r.with(played, iteration), p.summarize(played, slots, reuse.Sum())
}

// playMetrics are the metrics of self-play.
var playMetrics = []string{"positions", "mean_length", "first_wins", "draws", "mean_return", "best_return", "found",
	"lanes_busy", "reused_share", "policy_entropy"}

// playResult is what the host gets of an iteration's games.
type playResult struct {
	Metrics *graph.Array // f32[len(playMetrics)]
	Final   *graph.Array // u32[words of a state]: last position of the first game
	Solved  *graph.Array // u32[maxSolved, words of a state]: solutions of a puzzle, then zeros
	Game    *graph.Array // u32[moves, words]: the first game, for its picture
	Length  *graph.Array // i32[]: its moves
}

// maxSolved is the largest number of solutions of an iteration that the host gets.
const maxSolved = 4

// solvedReturn is the return of a solved puzzle, minus what sums of float32 lose.
const solvedReturn = 1 - 1e-4

// summarize returns what the host gets of games. slots, f32[], is the number of moves that the lanes had time for;
// reuse, f32[], is the sum of the shares of trees that were reused.
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
		solved = played.Length.Lt(0)
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
	return playResult{metrics, graph.Index(played.Final, 0), solutions, graph.Index(played.Rows, 0),
		graph.Index(played.Length, 0)}
}

// entropy is the mean entropy of the policy targets at the first moves, in nats, f32[].
func (p *program) entropy(g games) *graph.Array {
	first := graph.Squeeze(graph.SliceAxis(g.Rows, 1, 0, 1), 1)
	at := p.game.stateWords()
	return graph.VMap(func(row *graph.Array) *graph.Array {
		shares := p.unpackPolicy(graph.SliceAxis(row, 0, at, at+p.policyWords))
		return graph.XLogY(shares, shares).Sum().Neg()
	})(first).Mean()
}
