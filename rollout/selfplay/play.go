package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
)

// games are those of one iteration, in the order of their numbers, and the same on every device.
type games struct {
	Rows   *graph.Array // u32[games, moves, words]
	Length *graph.Array // i32[games]: moves; 0: there is no game of that number
	Return *graph.Array // f32[games]: of player 0
	Final  *graph.Array // u32[games, words of a state]: the positions in which they ended
}

// tileResult is what one tile of lanes played.
type tileResult struct {
	Games games // of the tile's numbers
	Turns *graph.Array
	Reuse *graph.Array // f32[]: sum over all moves of the share of the tree that was kept
}

// lane is a game under way.
type lane struct {
	State      any
	Game, Move *graph.Array // i32[]: its number in the tile, -1 for none; moves so far
	From       *search.Reused[search.Position[any]]
}

// moved is what a lane does in a turn.
type moved struct {
	State  any
	Row    *graph.Array // u32[words]: of the position, with reward and sign in the place of its worth
	Reward *graph.Array // f32[]: for player 0
	Over   *graph.Array // bool[]
	From   *search.Reused[search.Position[any]]
}

// draws are the keys of a move: of game g of an iteration with key k, move m uses FoldIn(FoldIn(k, g), m).
func draws(key random.Key, game, move *graph.Array) random.Key {
	return random.FoldIn(random.FoldIn(key, game), move)
}

// openingKey tells the draws of a game's opening from those of its moves.
const openingKey = 1 << 20

// opening is the position in which a game begins: the game's own first, or behind moves that are drawn at random, none of which ends it.
func (p *program) opening(key random.Key, game *graph.Array) any {
	g, most := p.game, p.config.RandomMoves
	if most == 0 {
		return g.first()
	}
	k := random.SplitN(draws(key, game, graph.Of(int32(openingKey))), 2)
	count := graph.Mul(graph.Rem(game, 2), random.Randint(k[0], graph.ShapeOf(graph.Int32), 0, most+1))
	return graph.ForiLoop(0, most, func(i *graph.Array, state any) any {
		legal := g.parts.Masker.Legal(state, g.params)
		action := random.Categorical(random.FoldIn(k[1], i), graph.Select(legal, graph.Scalar(0), math.Inf(-1)), 0)
		next, _, _, terminated, truncated := g.env.Step(key, state, action, g.params)
		stays := graph.Or(graph.Ge(i, count), graph.Or(terminated, truncated))
		return graph.MapTree2(func(old, new *graph.Array) *graph.Array { return graph.Select(stays, old, new) }, state, next)
	}, g.first())
}

// rooted is the root of a search from a state.
func (p *program) rooted(m search.Model[any, any, seen], by seen, state any, temperature *graph.Array) search.Root[search.Position[any]] {
	root := m.Root(by, state)
	if p.config.Search == "puct" {
		root.Temperature = temperature
	}
	return root
}

// temperature of a move: that of the settings first, then 0.
func (p *program) temperature(move *graph.Array) *graph.Array {
	return graph.Select(graph.Lt(move, p.config.DrawnMoves), p.config.Temperature.Array(), graph.Scalar(0))
}

// turn is one move of a lane.
func (p *program) turn(m search.Model[any, any, seen], by seen, key random.Key, first *graph.Array, l lane) moved {
	g := p.game
	root := p.rooted(m, by, l.State, p.temperature(l.Move))
	var from []search.Reused[search.Position[any]]
	if l.From != nil {
		from = append(from, *l.From)
	}
	r := search.Run(p.config.searching(), by, draws(key, graph.Add(first, l.Game), l.Move), root, m.Step, from...)
	next, _, reward, terminated, truncated := g.env.Step(key, l.State, r.Action, g.params)
	sign := p.sign(l.State)
	out := moved{State: next, Reward: graph.Mul(sign, reward)}
	out.Over = graph.Or(graph.Or(terminated, truncated), graph.Ge(l.Move, g.moves-1))
	out.Row = graph.Concatenate(0, g.state.pack(l.State), p.packPolicy(r.Weights), graph.Reshape(graph.Bitcast(sign, graph.Uint32), 1))
	if l.From != nil {
		reused := search.Reroot(r.Tree, r.Action).Drop(out.Over)
		out.From = &reused
	}
	return out
}

// sign is 1 where player 0 moves, -1 where the other does.
func (p *program) sign(state any) *graph.Array {
	if p.game.players == 1 {
		return graph.Scalar(1)
	}
	return graph.Select(graph.Eq(p.game.player(state), 0), graph.Scalar(1), graph.Scalar(-1))
}

// tile plays quota games, numbers from first on, in lanes: a lane whose game is over begins the next one that nobody plays yet.
func (p *program) tile(l layout, by player, key random.Key, first, quota *graph.Array) tileResult {
	g := p.game
	m, s := p.model(), p.seen(by)
	width := l.quota * g.moves
	type loop struct {
		Lanes                lane
		Rows, Length, Reward *graph.Array
		Final                *graph.Array
		Begun, Done, Turns   *graph.Array
		Reuse                *graph.Array
	}
	start := loop{
		Rows:   graph.Zeros(graph.ShapeOf(graph.Uint32, width, p.words())),
		Length: graph.Zeros(graph.ShapeOf(graph.Int32, l.quota)),
		Reward: graph.Zeros(graph.ShapeOf(graph.Float32, width)),
		Final:  graph.Zeros(graph.ShapeOf(graph.Uint32, l.quota, g.state.words)),
		Begun:  graph.Min(quota, l.lanes), Done: graph.Of(int32(0)), Turns: graph.Of(int32(0)), Reuse: graph.Scalar(0),
	}
	number := graph.Iota(l.lanes)
	start.Lanes = lane{State: graph.VMap(func(game *graph.Array) any { return p.opening(key, graph.Add(first, game)) })(number), Game: graph.Select(graph.Lt(number, quota), number, -1), Move: graph.Zeros(graph.ShapeOf(graph.Int32, l.lanes))}
	if p.config.Reuse {
		none := p.noTree(m, s)
		from := across(l.lanes, none)
		start.Lanes.From = &from
	}
	end := graph.NamedWhile("turns", func(c loop) *graph.Array { return graph.Lt(c.Done, quota) }, func(c loop) loop {
		out := graph.VMap(func(l lane) moved { return p.turn(m, s, key, first, l) })(c.Lanes)
		game, move := c.Lanes.Game, c.Lanes.Move
		plays := graph.Ge(game, 0)
		over := graph.And(plays, out.Over)
		at := graph.Select(plays, graph.Add(graph.Mul(game, g.moves), move), width)
		ended := graph.Select(over, game, l.quota)
		rank := graph.CumSum(graph.Convert(over, graph.Int32), 0)
		next := graph.Add(c.Begun, graph.Sub(rank, 1))
		many := graph.Sum(graph.Convert(over, graph.Int32))
		n := loop{
			Rows:   graph.ScatterSet(c.Rows, at, out.Row),
			Reward: graph.ScatterSet(c.Reward, at, out.Reward),
			Length: graph.ScatterSet(c.Length, ended, graph.Add(move, 1)),
			Final:  graph.ScatterSet(c.Final, ended, graph.VMap(g.state.pack)(out.State)),
			Begun:  graph.Min(quota, graph.Add(c.Begun, many)), Done: graph.Add(c.Done, many), Turns: graph.Add(c.Turns, 1),
		}
		fresh := graph.VMap3(func(over, number *graph.Array, state any) any {
			return graph.MapTree2(func(start, now *graph.Array) *graph.Array { return graph.Select(over, start, now) }, p.opening(key, graph.Add(first, number)), state)
		})
		n.Lanes = lane{
			State: fresh(over, next, out.State),
			Game:  graph.Select(over, graph.Select(graph.Lt(next, quota), next, -1), game),
			Move:  graph.Select(over, 0, graph.Add(move, 1)),
			From:  out.From,
		}
		n.Reuse = c.Reuse
		if out.From != nil {
			n.Reuse = graph.Add(c.Reuse, graph.Sum(graph.Select(plays, out.From.Share, 0)))
		}
		return n
	}, start)
	length, reward := end.Length, graph.Reshape(end.Reward, l.quota, g.moves)
	rows := graph.Reshape(end.Rows, l.quota, g.moves, p.words())
	played := graph.Lt(graph.ExpandDims(graph.Iota(g.moves), 0), graph.ExpandDims(length, 1))
	reward = graph.Select(played, reward, 0)
	rest := graph.CumSum(reward, 1, graph.Reversed()) // what player 0 got from each move on
	sign := graph.Bitcast(graph.Squeeze(graph.SliceAxis(rows, 2, p.words()-1, p.words()), 2), graph.Float32)
	worth := graph.Bitcast(graph.Mul(sign, rest), graph.Uint32)
	rows = graph.Concatenate(2, graph.SliceAxis(rows, 2, 0, p.words()-1), graph.ExpandDims(worth, 2))
	whole := graph.Squeeze(graph.SliceAxis(rest, 1, 0, 1), 1)
	return tileResult{games{rows, length, whole, end.Final}, end.Turns, end.Reuse}
}

// across repeats a tree for every lane.
func across[T any](lanes int, tree T) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		return graph.BroadcastTo(graph.ExpandDims(a, 0), append([]int{lanes}, a.Dims()...)...)
	}, tree)
}

// noTree is a tree to go on from that has nothing in it. Of the search that it is made of only the shapes are looked at.
func (p *program) noTree(m search.Model[any, any, seen], s seen) search.Reused[search.Position[any]] {
	r := search.Run(p.config.searching(), s, random.New(0), p.rooted(m, s, p.game.first(), graph.Scalar(1)), m.Step)
	return graph.MapTree(func(a *graph.Array) *graph.Array { return graph.Zeros(a.Shape()) }, search.Reroot(r.Tree, r.Action))
}

// all plays the games of an iteration on all devices.
func (p *program) all(l layout, tiles *graph.Array, by player, key random.Key) (games, tileResult) {
	one := func(local *graph.Array) tileResult {
		tile := graph.Add(l.games.First(), local)
		first := graph.Mul(tile, l.quota)
		quota := graph.Clamp(0, graph.Sub(p.config.NumEpisodes, first), l.quota)
		return p.tile(l, by, key, first, quota)
	}
	g := p.game
	room := tileResult{games{
		Rows:   l.games.Rows(graph.Uint32, l.quota, g.moves, p.words()),
		Length: l.games.Rows(graph.Int32, l.quota), Return: l.games.Rows(graph.Float32, l.quota),
		Final: l.games.Rows(graph.Uint32, l.quota, g.state.words),
	}, l.games.Rows(graph.Int32), l.games.Rows(graph.Float32)}
	rows := population.Each(l.games, tiles, room, one)
	whole := func(a *graph.Array) *graph.Array { // tiles behind each other, without the padding
		all := l.games.Gather(a)
		return graph.SliceAxis(graph.Reshape(all, append([]int{all.Dim(0) * all.Dim(1)}, all.Dims()[2:]...)...), 0, 0, p.kept(l))
	}
	return graph.MapTree(whole, rows.Games), tileResult{Turns: l.games.Gather(rows.Turns), Reuse: l.games.Gather(rows.Reuse)}
}

// kept is the number of games of an iteration in the replay: those of all tiles, of which the last may have fewer.
func (p *program) kept(l layout) int { return l.games.Items * l.quota }

// Figures of self-play, f32, in this order.
var playFigures = []string{"positions", "mean_length", "first_wins", "draws", "mean_return", "best_return", "found", "lanes_busy", "reused_share", "policy_entropy"}

// replay is what is learned from: the games of the newest iterations, each in the place of its number modulo their number.
type replay struct {
	Rows   *graph.Array // u32[iterations, games, moves, words]
	Length *graph.Array // i32[iterations, games]
}

func (p *program) noReplay(l layout) replay {
	c := p.config
	return replay{graph.Zeros(graph.ShapeOf(graph.Uint32, c.Replay, p.kept(l), p.game.moves, p.words())), graph.Zeros(graph.ShapeOf(graph.Int32, c.Replay, p.kept(l)))}
}

// with puts games in the place of the oldest.
func (r replay) with(g games, iteration *graph.Array) replay {
	at := graph.Rem(iteration, r.Rows.Dim(0))
	return replay{graph.DynamicUpdateIndex(r.Rows, g.Rows, at, 0), graph.DynamicUpdateIndex(r.Length, g.Length, at, 0)}
}

// playResult is for the host.
type playResult struct {
	Figures *graph.Array // f32[len(playFigures)]
	Final   *graph.Array // u32[words of a state]: where the first game ended
	Whole   *graph.Array // u32[foundAtMost, words of a state]: of a puzzle, whole colourings, zeros behind them
	Game    *graph.Array // u32[moves, words]: the first game, for its picture
	Length  *graph.Array // i32[]: its moves
}

// foundAtMost bounds the solutions of an iteration that are handed to the host.
const foundAtMost = 4

// iteration plays the games of an iteration and keeps them.
func (p *program) iteration(l layout, r replay, by player, key random.Key, number, tiles *graph.Array) (replay, playResult) {
	played, stats := p.all(l, tiles, by, random.FoldIn(key, number))
	turns := graph.Mul(graph.Sum(graph.Convert(stats.Turns, graph.Float32)), l.lanes)
	return r.with(played, number), p.summed(played, turns, graph.Sum(stats.Reuse))
}

// summed is what the host is told of games: turns is how many moves there was room for in the lanes, reuse the sum of the shares of trees that
// were kept.
func (p *program) summed(played games, turns, reuse *graph.Array) playResult {
	length := graph.Convert(played.Length, graph.Float32)
	count := graph.Max(graph.Sum(graph.Convert(graph.Gt(played.Length, 0), graph.Float32)), 1)
	share := func(x *graph.Array) *graph.Array {
		return graph.Div(graph.Sum(graph.Convert(graph.And(x, graph.Gt(played.Length, 0)), graph.Float32)), count)
	}
	moves := graph.Sum(length)
	real := graph.Gt(played.Length, 0)
	returns := graph.Select(real, played.Return, math.Inf(-1))
	whole := graph.Ge(returns, wholeReturn)
	if p.game.players == 2 {
		whole = graph.Lt(played.Length, 0)
	}
	place := graph.Sub(graph.CumSum(graph.Convert(whole, graph.Int32), 0), 1)
	found := graph.ScatterSet(graph.Zeros(graph.ShapeOf(graph.Uint32, foundAtMost, p.game.state.words)), graph.Select(whole, place, foundAtMost), played.Final)
	figures := graph.Stack([]*graph.Array{moves, graph.Div(moves, count), share(graph.Gt(played.Return, 0)), share(graph.Eq(played.Return, 0)),
		graph.Div(graph.Sum(graph.Select(real, played.Return, 0)), count), graph.ReduceMax(returns, 0), graph.Sum(graph.Convert(whole, graph.Float32)),
		graph.Div(moves, graph.Max(turns, 1)), graph.Div(reuse, graph.Max(moves, 1)), p.entropy(played)}, 0)
	return playResult{figures, graph.Index(played.Final, 0), found, graph.Index(played.Rows, 0), graph.Index(played.Length, 0)}
}

// wholeReturn is the return of a puzzle that is solved, less what sums of float32 lose.
const wholeReturn = 1 - 1e-4

// entropy is the mean entropy, in nats, of the policies at the first moves: what is left of chance.
func (p *program) entropy(g games) *graph.Array {
	first := graph.Squeeze(graph.SliceAxis(g.Rows, 1, 0, 1), 1)
	at := p.game.state.words
	each := graph.VMap(func(row *graph.Array) *graph.Array {
		shares := p.unpackPolicy(graph.SliceAxis(row, 0, at, at+p.policy))
		return graph.Neg(graph.Sum(graph.XLogY(shares, shares)))
	})(first)
	return graph.Mean(each)
}
