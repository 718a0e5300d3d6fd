package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
)

// games are the games of an iteration, the same on every device. A number without a game has length 0.
type games struct {
	Rows   *graph.Array // u32[games, moves, words]: see program.words
	Length *graph.Array // i32[games]: moves
	Return *graph.Array // f32[games]: of player 0
	Final  *graph.Array // u32[games, words of a state]: the last positions
}

// tileResult is the result of one tile of lanes.
type tileResult struct {
	Games games        // of the tile's numbers
	Turns *graph.Array // i32[]
	Reuse *graph.Array // f32[]: sum over all moves of the share of the tree that was reused
}

// reusedTree is the part of a search tree that the search of the next move starts with.
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
	Row    *graph.Array // u32[words]: of the position before the move, with the sign instead of the value target
	Reward *graph.Array // f32[]: for player 0
	Over   *graph.Array // bool[]
	Tree   *reusedTree  // nil without Reuse
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

// actorState is the carry of an actor's loop over turns.
type actorState struct {
	Lanes  lane // leaves [lanes, …]
	Buffer buffer
	Begun  *graph.Array // i32[]: games
	Done   *graph.Array // i32[]: games
	Turns  *graph.Array // i32[]
	Reuse  *graph.Array // f32[]: as tileResult.Reuse
}

// playTiles plays the games of an iteration on all devices. turns, i32[tiles], and reuse, f32[tiles], are as in
// tileResult.
func (p *program) playTiles(l layout, perDevice *graph.Array, by player, key random.Key) (
	played games, turns, reuse *graph.Array) {
	slots := l.gamesPerTile
	all := population.Blocks(l.gameTiles, perDevice, func(tile *graph.Array) tileResult {
		first := tile.Mul(slots)
		return actor{
			program: p, layout: l, model: p.model(), params: p.searchParams(by), key: key,
			first: first, games: graph.Sub(p.config.NumEpisodes, first).Clamp(0, slots),
		}.play()
	})
	played = graph.MapTree(func(a *graph.Array) *graph.Array { // without the padding
		return graph.SliceAxis(a.MergeAxes(0, 2), 0, 0, p.replayGames(l))
	}, all.Games)
	return played, all.Turns, all.Reuse
}

// play plays all games of the tile. In a turn every lane searches a move, steps and is recorded. A lane whose game is
// over begins the next game.
func (a actor) play() tileResult {
	unfinished := func(s actorState) *graph.Array { return s.Done.Lt(a.games) }
	end := graph.NamedWhile(turnsLoop, unfinished, func(s actorState) actorState {
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
	slots, moves := a.layout.gamesPerTile, a.game.moves
	lanes := graph.Iota(a.layout.lanes)
	s := actorState{
		Buffer: buffer{
			Rows:   graph.Zeros(graph.ShapeOf(graph.Uint32, slots*moves, a.words())),
			Reward: graph.Zeros(graph.ShapeOf(graph.Float32, slots*moves)),
			Length: graph.Zeros(graph.ShapeOf(graph.Int32, slots)),
			Final:  graph.Zeros(graph.ShapeOf(graph.Uint32, slots, a.game.stateWords())),
		},
		Lanes: lane{
			State: graph.VMap(func(game *graph.Array) any { return a.opening(a.key, a.first.Add(game)) })(lanes),
			Game:  graph.Select(lanes.Lt(a.games), lanes, -1),
			Move:  graph.ZerosLike(lanes),
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
	// The search splits the key in three.
	next, _, reward, terminated, truncated := g.env.Step(random.FoldIn(key, 3), l.State, found.Action, g.params)

	sign := a.sign(l.State)
	over := terminated.Or(truncated).Or(l.Move.Ge(g.moves - 1))
	row := graph.Concatenate(0, g.pack(l.State), a.packPolicy(found.ActionWeights),
		graph.Bitcast(sign, graph.Uint32).Reshape(1))
	t := transition{State: next, Row: row, Reward: sign.Mul(reward), Over: over}
	if l.Tree != nil {
		tree := search.Reroot(found.Tree, found.Action).Drop(over)
		t.Tree = &tree
	}
	return t
}

// record writes a turn into the buffer. Writes beyond its end are dropped: the rows of idle lanes, and the length and
// final position of games that are not over.
func (a actor) record(s actorState, t transition, playing, over *graph.Array) buffer {
	slots, moves := a.layout.gamesPerTile, a.game.moves
	game, move, b := s.Lanes.Game, s.Lanes.Move, s.Buffer
	row := graph.Select(playing, game.Mul(moves).Add(move), slots*moves)
	ended := graph.Select(over, game, slots)
	return buffer{
		Rows:   graph.ScatterSet(b.Rows, row, t.Row),
		Reward: graph.ScatterSet(b.Reward, row, t.Reward),
		Length: graph.ScatterSet(b.Length, ended, move.Add(1)),
		Final:  graph.ScatterSet(b.Final, ended, graph.VMap(a.game.pack)(t.State)),
	}
}

// refill gives lanes whose game is over the next games, in the order of the lanes. over is bool[lanes].
func (a actor) refill(s actorState, t transition, over *graph.Array) actorState {
	rank := graph.CumSum(over.Convert(graph.Int32), 0)
	next := s.Begun.Add(rank.Sub(1)) // i32[lanes]: number of the next game
	count := over.Convert(graph.Int32).Sum()
	type ended struct {
		Over, Next *graph.Array
		State      any
	}
	states := graph.VMap(func(e ended) any {
		return graph.SelectTree(e.Over, a.opening(a.key, a.first.Add(e.Next)), e.State)
	})(ended{over, next, t.State})
	return actorState{
		Lanes: lane{
			State: states,
			Game:  graph.Select(over, graph.Select(next.Lt(a.games), next, -1), s.Lanes.Game),
			Move:  graph.Select(over, 0, s.Lanes.Move.Add(1)),
			Tree:  t.Tree,
		},
		Begun: a.games.Min(s.Begun.Add(count)), Done: s.Done.Add(count), Turns: s.Turns.Add(1), Reuse: s.Reuse,
	}
}

// finish writes the value targets into the rows: the return from each move on, for the player who moves.
func (a actor) finish(b buffer) games {
	slots, moves, words := a.layout.gamesPerTile, a.game.moves, a.words()
	rows := b.Rows.Reshape(slots, moves, words)
	played := graph.Iota(moves).ExpandDims(0).Lt(b.Length.ExpandDims(1))
	reward := graph.Select(played, b.Reward.Reshape(slots, moves), 0)
	returns := graph.CumSum(reward, 1, graph.Reversed()) // f32[games, moves]: of player 0, from each move on
	sign := graph.Bitcast(graph.SliceAxis(rows, 2, words-1, words).Squeeze(2), graph.Float32)
	targets := graph.Bitcast(sign.Mul(returns), graph.Uint32)
	rows = graph.Concatenate(2, graph.SliceAxis(rows, 2, 0, words-1), targets.ExpandDims(2))
	return games{rows, b.Length, graph.SliceAxis(returns, 1, 0, 1).Squeeze(1), b.Final}
}

// opening returns the position in which a game of an iteration begins: the first position of the game or, for odd
// numbers, the position after up to RandomMoves random moves, none of which ends the game. key is the iteration's.
func (p *program) opening(key random.Key, number *graph.Array) any {
	g, most := p.game, p.config.RandomMoves
	if most == 0 {
		return g.start
	}
	keys := random.SplitN(moveKey(key, number, graph.Of(int32(openingMove))), 2)
	count := number.Rem(2).Mul(random.Randint(keys[0], graph.ShapeOf(graph.Int32), 0, most+1))
	return graph.ForiLoop(0, most, func(i *graph.Array, state any) any {
		legal := g.traits.Legal(state, g.params)
		action := random.Categorical(random.FoldIn(keys[1], i), graph.Select(legal, graph.Scalar(0), math.Inf(-1)), 0)
		next, _, _, terminated, truncated := g.env.Step(random.FoldIn(keys[0], i), state, action, g.params)
		stays := i.Ge(count).Or(terminated.Or(truncated))
		return graph.SelectTree(stays, state, next)
	}, g.start)
}

// openingMove is a move number that no game reaches. Its key draws the opening.
const openingMove = 1 << 20

// moveKey returns the key of a move of a game. key is the iteration's.
func moveKey(key random.Key, game, move *graph.Array) random.Key {
	return random.FoldIn(random.FoldIn(key, game), move)
}

// emptyTree returns a reused tree without nodes. It runs a search only for the shapes.
func (a actor) emptyTree() reusedTree {
	root := a.root(a.model, a.params, a.game.start, graph.Scalar(1))
	r := search.Run(a.config.trainingSearch(), a.params, random.New(0), root, a.model.Step)
	return graph.ZerosLikeTree(search.Reroot(r.Tree, r.Action))
}

// root returns the root of a search from a state.
func (p *program) root(m search.Model[any, any, searchParams], params searchParams, state any,
	temperature *graph.Array) search.Root[search.Position[any]] {
	root := m.Root(params, state)
	if p.config.Search == "puct" {
		root.Temperature = temperature
	}
	return root
}

// temperature returns the temperature of a move, f32[].
func (p *program) temperature(move *graph.Array) *graph.Array {
	return graph.Select(move.Lt(p.config.SampledMoves), p.config.Temperature.Array(), graph.Scalar(0))
}

// sign returns 1 where player 0 moves, -1 where player 1 moves, f32[].
func (p *program) sign(state any) *graph.Array {
	if p.game.players == 1 {
		return graph.Scalar(1)
	}
	return graph.Select(p.game.player(state).Eq(0), graph.Scalar(1), graph.Scalar(-1))
}

// repeat returns a tree with n equal rows along a new axis 0.
func repeat[T any](n int, tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return a.ExpandDims(0).BroadcastTo(append([]int{n}, a.Dims()...)...)
	}, tree)
}
