package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
)

// sides is how many tiles a match has: a begins the games of one, b those of the other.
const sides = 2

// match plays games between two, each beginning half of them: what a made of each, f32[games], 1 won, 0 drawn, -1 lost. The first moves are
// drawn, so that games differ; the others are the best that the searches find.
func (p *program) match(l layout, games int, a, b player, key random.Key, perDevice *graph.Array) *graph.Array {
	lanes := games / sides
	tiles := population.CutTiles(sides, 1, l.games.Devices)
	rows := population.Each(tiles, perDevice, tiles.Rows(graph.Float32, lanes), func(local *graph.Array) *graph.Array {
		return p.side(lanes, a, b, key, graph.Add(tiles.First(), local))
	})
	return graph.SliceAxis(graph.Flatten1D(tiles.Gather(rows)), 0, 0, games)
}

// opponents of a match, as seen by a search.
type opponents struct{ a, b player }

// to is who moves.
func (o opponents) to(a *graph.Array) player {
	return graph.MapTree2(func(x, y *graph.Array) *graph.Array { return graph.Select(a, x, y) }, o.a, o.b)
}

// side plays the games in which a begins (side 0) or b does.
func (p *program) side(lanes int, a, b player, key random.Key, side *graph.Array) *graph.Array {
	g, m := p.game, p.model()
	type loop struct {
		State any
		Over  *graph.Array // bool[lanes]
		Score *graph.Array // f32[lanes]: of player 0
		Move  *graph.Array
	}
	start := loop{across(lanes, g.first()), graph.Zeros(graph.ShapeOf(graph.Bool, lanes)), graph.Zeros(graph.ShapeOf(graph.Float32, lanes)), graph.Of(int32(0))}
	end := graph.NamedWhile("moves", func(c loop) *graph.Array {
		return graph.And(graph.Lt(c.Move, g.moves), graph.Not(graph.All(c.Over)))
	}, func(c loop) loop {
		aMoves := graph.Eq(graph.Rem(graph.Add(c.Move, side), 2), 0) // players take turns
		who := opponents{a, b}.to(aMoves)
		by := p.seen(who)
		type out struct {
			State       any
			Score, Over *graph.Array
		}
		next := graph.VMap2(func(state any, number *graph.Array) out {
			k := draws(key, graph.Add(graph.Mul(side, lanes), number), c.Move)
			action := p.best(m, by, k, state, c.Move)
			legal := m.Root(by, state).Legal
			drawn := random.Categorical(random.FoldIn(k, randomMove), graph.Select(legal, graph.Scalar(0), math.Inf(-1)), 0)
			next, _, reward, terminated, truncated := g.env.Step(k, state, graph.Select(who.Random, drawn, action), g.params)
			return out{next, graph.Mul(p.sign(state), reward), graph.Or(terminated, truncated)}
		})(c.State, graph.Iota(lanes))
		score := graph.Add(c.Score, graph.Select(c.Over, 0, next.Score))
		return loop{next.State, graph.Or(c.Over, next.Over), score, graph.Add(c.Move, 1)}
	}, start)
	return graph.Select(graph.Eq(side, 0), end.Score, graph.Neg(end.Score))
}

// randomMove tells the draw of a random player from the search's.
const randomMove = 17

// best is the move that a search finds in a position; the first ones of a game are drawn.
func (p *program) best(m search.Model[any, any, seen], by seen, key random.Key, state any, move *graph.Array) *graph.Array {
	return p.searched(m, by, key, state, graph.Lt(move, p.config.DrawnMoves)).Action
}

// searched is the search of a position by who wants to win; drawn tells whether its move is drawn.
func (p *program) searched(m search.Model[any, any, seen], by seen, key random.Key, state any, drawn *graph.Array) search.Result[search.Position[any]] {
	root := p.rooted(m, by, state, graph.Select(drawn, graph.Scalar(1), graph.Scalar(0)))
	if p.config.Search == "gumbel" {
		noise := random.Gumbel(random.FoldIn(key, randomMove+1), root.Logits.Shape())
		root.Noise = graph.Select(drawn, noise, graph.ZerosLike(noise))
	}
	return search.Run(p.config.playing(), by, key, root, m.Step)
}

// advice is what a search says of positions, axis 0.
type advice struct {
	Action        *graph.Array // i32[n]
	Visits        *graph.Array // i32[n, actions]
	Values        *graph.Array // f32[n, actions]: of what was tried, to the player to move
	Value         *graph.Array // f32[n]: of the position
	Prior         *graph.Array // f32[n, actions]: the network's policy
	Legal         *graph.Array // bool[n, actions]
	Parents, From *graph.Array // i32[n, nodes]: of the tree's nodes, the node and the action that they come from
	NodeVisits    *graph.Array // i32[n, nodes]
	NodeValues    *graph.Array // f32[n, nodes]
	Nodes         *graph.Array // i32[n]
}

// advise searches positions, u32[n, words], without chance.
func (p *program) advise(by player, key random.Key, positions *graph.Array) advice {
	m, s := p.model(), p.seen(by)
	return graph.VMap(func(words *graph.Array) advice {
		state := p.game.state.unpack(words)
		root := m.Root(s, state)
		r := p.searched(m, s, key, state, graph.Of(false))
		t := r.Tree
		return advice{Action: r.Action, Visits: t.RootVisits(), Values: graph.Index(t.ChildValues(), 0), Value: t.RootValue(), Prior: graph.Softmax(root.Logits, 0), Legal: root.Legal,
			Parents: t.Parents(), From: t.ActionsFrom(), NodeVisits: t.Visits(), NodeValues: t.Values(), Nodes: t.Nodes()}
	})(positions)
}

// stepped is what moves lead to, axis 0.
type stepped struct {
	Words  *graph.Array // u32[n, words]
	Score  *graph.Array // f32[n]: what the move gave player 0
	Over   *graph.Array // bool[n]
	Player *graph.Array // i32[n]: to move next
	Legal  *graph.Array // bool[n, actions]
}

// step plays actions, i32[n], in positions.
func (p *program) step(positions, actions *graph.Array) stepped {
	g := p.game
	return graph.VMap2(func(words, action *graph.Array) stepped {
		state := g.state.unpack(words)
		next, _, reward, terminated, truncated := g.env.Step(random.New(0), state, action, g.params)
		return stepped{g.state.pack(next), graph.Mul(p.sign(state), reward), graph.Or(terminated, truncated), g.player(next), g.parts.Masker.Legal(next, g.params)}
	})(positions, actions)
}
