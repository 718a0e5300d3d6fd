package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/population"
	"xlarun/rollout/search"
)

// sides is the number of tiles of a match: a begins the games of the first, b the games of the second.
const sides = 2

// match plays games between a and b. Each begins half of them. It returns the results for a, f32[games]: 1 for a win, 0
// for a draw, -1 for a loss. The first moves are drawn at random, so that games differ; the others are the searches'
// best.
func (p *program) match(l layout, games int, a, b player, key random.Key, perDevice *graph.Array) *graph.Array {
	lanes := games / sides
	tiles := population.CutTiles(sides, 1, l.gameTiles.Devices)
	rows := population.Each(tiles, perDevice, tiles.Rows(graph.Float32, lanes), func(local *graph.Array) *graph.Array {
		return p.side(lanes, a, b, key, tiles.First().Add(local))
	})
	return graph.SliceAxis(graph.Flatten1D(tiles.Gather(rows)), 0, 0, games)
}

// matchState is the carry of a match's loop over moves.
type matchState struct {
	State any          // leaves [lanes, …]
	Over  *graph.Array // bool[lanes]
	Score *graph.Array // f32[lanes]: of player 0
	Move  *graph.Array // i32[]
}

// side plays the games in which a begins (side 0) or b begins (side 1). It returns the results for a, f32[lanes].
func (p *program) side(lanes int, a, b player, key random.Key, side *graph.Array) *graph.Array {
	g, model := p.game, p.model()
	start := matchState{repeat(lanes, g.start), graph.Zeros(graph.ShapeOf(graph.Bool, lanes)),
		graph.Zeros(graph.ShapeOf(graph.Float32, lanes)), graph.Of(int32(0))}
	end := graph.NamedWhile("moves", func(s matchState) *graph.Array {
		return s.Move.Lt(g.moves).And(s.Over.All().Not())
	}, func(s matchState) matchState {
		mover := graph.SelectTree(s.Move.Add(side).Rem(2).Eq(0), a, b) // players take turns
		params := p.searchParams(mover)
		type transition struct {
			State       any
			Score, Over *graph.Array
		}
		t := graph.VMap2(func(state any, lane *graph.Array) transition {
			k := moveKey(key, side.Mul(lanes).Add(lane), s.Move)
			found := p.matchMove(model, params, k, state, s.Move.Lt(p.config.SampledMoves))
			legal := model.Root(params, state).Legal
			uniform := graph.Select(legal, graph.Scalar(0), math.Inf(-1))
			drawn := random.Categorical(random.FoldIn(k, randomMoveKey), uniform, 0)
			action := graph.Select(mover.Random, drawn, found.Action)
			stepKey := random.FoldIn(k, matchStepKey)
			next, _, reward, terminated, truncated := g.env.Step(stepKey, state, action, g.params)
			return transition{next, p.sign(state).Mul(reward), terminated.Or(truncated)}
		})(s.State, graph.Iota(lanes))
		score := s.Score.Add(graph.Select(s.Over, 0, t.Score))
		return matchState{t.State, s.Over.Or(t.Over), score, s.Move.Add(1)}
	}, start)
	return graph.Select(side.Eq(0), end.Score, end.Score.Neg())
}

// Numbers that are folded into a move's key, for a random player's move, the noise of a drawn move and the step of the
// environment.
const (
	randomMoveKey = iota + 17
	drawnMoveKey
	matchStepKey
)

// matchMove searches a position without noise. drawn, bool[]: the move is drawn at random by the search's policy; nil:
// it is not.
func (p *program) matchMove(m search.Model[any, any, searchParams], params searchParams, key random.Key, state any,
	drawn *graph.Array) search.Result[search.Position[any]] {
	temperature := graph.Scalar(0)
	if drawn != nil {
		temperature = graph.Select(drawn, graph.Scalar(1), temperature)
	}
	root := p.root(m, params, state, temperature)
	if p.config.Search == "gumbel" {
		root.Noise = graph.ZerosLike(root.PriorLogits)
		if drawn != nil {
			noise := random.Gumbel(random.FoldIn(key, drawnMoveKey), root.PriorLogits.Shape())
			root.Noise = graph.Select(drawn, noise, root.Noise)
		}
	}
	return search.Run(p.config.matchSearch(), params, key, root, m.Step)
}

// advice is the results of searches of n positions.
type advice struct {
	Action      *graph.Array // i32[n]
	Visits      *graph.Array // i32[n, actions]
	Values      *graph.Array // f32[n, actions]: Q-values for the player to move
	Value       *graph.Array // f32[n]: of the position
	Prior       *graph.Array // f32[n, actions]: the network's policy
	Legal       *graph.Array // bool[n, actions]
	Parents     *graph.Array // i32[n, nodes]: of the tree's nodes
	ActionsFrom *graph.Array // i32[n, nodes]: the actions that led to them
	NodeVisits  *graph.Array // i32[n, nodes]
	NodeValues  *graph.Array // f32[n, nodes]
	Nodes       *graph.Array // i32[n]
}

// advise searches positions, u32[n, words], without noise.
func (p *program) advise(by player, positions *graph.Array) advice {
	m, params := p.model(), p.searchParams(by)
	return graph.VMap(func(words *graph.Array) advice {
		state := p.game.unpack(words)
		root := m.Root(params, state)
		r := p.matchMove(m, params, random.Clone(random.New(0)), state, nil) // the same search whenever it is asked
		t := r.Tree
		return advice{Action: r.Action, Visits: t.RootVisits(), Values: t.ChildValues().Index(0),
			Value: t.RootValue(), Prior: graph.Softmax(root.PriorLogits, 0), Legal: root.Legal,
			Parents: t.Parents(), ActionsFrom: t.ActionsFrom(), NodeVisits: t.Visits(), NodeValues: t.Values(),
			Nodes: t.Nodes()}
	})(positions)
}

// positions are the positions after n moves.
type positions struct {
	Words  *graph.Array // u32[n, words]
	Score  *graph.Array // f32[n]: reward of player 0
	Over   *graph.Array // bool[n]
	Player *graph.Array // i32[n]: to move
	Legal  *graph.Array // bool[n, actions]
}

// step plays actions, i32[n], in positions, u32[n, words].
func (p *program) step(from, actions *graph.Array) positions {
	g := p.game
	return graph.VMap2(func(words, action *graph.Array) positions {
		state := g.unpack(words)
		next, _, reward, terminated, truncated := g.env.Step(random.New(0), state, action, g.params)
		return positions{g.pack(next), p.sign(state).Mul(reward), terminated.Or(truncated), g.player(next),
			g.traits.Legal(next, g.params)}
	})(from, actions)
}
