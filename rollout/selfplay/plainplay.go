package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/search"
	"xlarun/xlabridge"
)

// plainPlay plays games one after the other with the search as ordinary Go, which asks two compiled functions of one position: slow, and easy
// to look into. For equal keys its visits are those of the compiled search.
type plainPlay struct {
	start *stage[*graph.Array] // the words of a game's first position
	root  *stage[plainRoot]
	step  *stage[plainStep]
}

// plainRoot is what a search begins with.
type plainRoot struct {
	Logits, Value, Legal *graph.Array
	Chance               search.Chance
	Sign                 *graph.Array // f32[]: 1 where player 0 moves
}

// plainStep is what an action leads to.
type plainStep struct {
	Step  search.Step
	Words *graph.Array // u32[words + 1]: the state, and whether the game is over in front of it
	Score *graph.Array // f32[]: what the move gave player 0
	Over  *graph.Array // bool[]
}

func newPlainPlay(t *Training) (*plainPlay, error) {
	p := t.program
	var weights *graph.Array
	if err := graph.Try(func() { weights = p.weights.Ravel(p.network.Init(random.New(0))) }); err != nil {
		return nil, err
	}
	words, number := graph.Zeros(graph.ShapeOf(graph.Uint32, p.game.state.words+1)), graph.Of(int32(0))
	options := t.options
	options.Replicas = 1
	x := &plainPlay{}
	var err error
	x.start, err = newStage(t.backend, "opening of one game", t.config.Purpose(), options, &t.busy, nil, []any{random.New(0), number}, func(a []any) *graph.Array {
		return p.game.state.pack(p.opening(a[0].(random.Key), a[1].(*graph.Array)))
	})
	if err != nil {
		return nil, err
	}
	x.start.profile(&t.profile)
	x.root, err = newStage(t.backend, "root of one position", t.config.Purpose(), options, &t.busy, nil, []any{weights, random.New(0), number, number, words}, func(a []any) plainRoot {
		state := p.game.state.unpack(graph.SliceAxis(a[4].(*graph.Array), 0, 1, p.game.state.words+1))
		r := p.model().Root(p.seen(trained(a[0].(*graph.Array))), state)
		key := draws(a[1].(random.Key), a[2].(*graph.Array), a[3].(*graph.Array))
		return plainRoot{r.Logits, r.Value, r.Legal, search.ChanceOf(p.config.searching(), key, p.game.actions), p.sign(state)}
	})
	if err != nil {
		return nil, err
	}
	x.root.profile(&t.profile)
	x.step, err = newStage(t.backend, "step of one position", t.config.Purpose(), options, &t.busy, nil, []any{weights, number, words}, func(a []any) plainStep {
		packed := a[2].(*graph.Array)
		at := search.Position[any]{State: p.game.state.unpack(graph.SliceAxis(packed, 0, 1, p.game.state.words+1)), Over: graph.Ne(graph.Index(packed, 0), 0)}
		s, next := p.model().Step(p.seen(trained(a[0].(*graph.Array))), random.New(0), a[1].(*graph.Array), at)
		out := graph.Concatenate(0, graph.Reshape(graph.Convert(next.Over, graph.Uint32), 1), p.game.state.pack(next.State))
		return plainStep{s, out, graph.Mul(p.sign(at.State), s.Reward), next.Over}
	})
	if err != nil {
		return nil, err
	}
	x.step.profile(&t.profile)
	return x, nil
}

func (x *plainPlay) close() {
	if x == nil {
		return
	}
	x.start.close()
	x.root.close()
	x.step.close()
}

// plainMove is a move of a game that was played.
type plainMove struct {
	words        []uint32 // the position, with 0 in front: it is not over
	weights      []float32
	visits       []int
	score, sign  float64
	action       int
	reachedWords []uint32
}

// search searches one position and plays its move.
func (x *plainPlay) search(t *Training, weights *graph.Array, key random.Key, game, move int, words []uint32) (m plainMove, over bool, err error) {
	fail := func(bad error) {
		if err == nil {
			err = bad
		}
	}
	list := func(a *graph.Array) []float32 {
		v, bad := floats(a)
		fail(bad)
		return v
	}
	one := func(a *graph.Array) float32 {
		if v := list(a); len(v) == 1 {
			return v[0]
		}
		return float32(math.NaN())
	}
	r, err := x.root.call(weights, key, graph.Of(int32(game)), graph.Of(int32(move)), graph.Uint32s(words))
	if err != nil {
		return m, false, err
	}
	legal := make([]bool, t.program.game.actions)
	open, err := graph.Floats(r.Legal)
	if err != nil {
		return m, false, err
	}
	for a, is := range open {
		legal[a] = is != 0
	}
	s := search.Plain[[]uint32]{Policy: t.config.searching(), Step: func(at []uint32, action int) (reward, discount float32, logits []float32, value float32, next []uint32) {
		out, bad := x.step.call(weights, graph.Of(int32(action)), graph.Uint32s(at))
		if fail(bad); bad != nil {
			return 0, 0, make([]float32, len(legal)), 0, at
		}
		next, bad = wordsOf(out.Words)
		fail(bad)
		reward, discount, logits, value = one(out.Step.Reward), one(out.Step.Discount), list(out.Step.Logits), one(out.Step.Value)
		xlabridge.Free(out)
		return reward, discount, logits, value, next
	}}
	found := s.Run(search.PlainRoot[[]uint32]{State: words, Logits: list(r.Logits), Value: one(r.Value), Legal: legal, Noise: list(r.Chance.Noise), Ties: list(r.Chance.Ties)})
	m = plainMove{words: words, weights: found.Weights, visits: found.Visits, action: found.Action, sign: float64(one(r.Sign))}
	if t.config.Search == "puct" {
		temperature := float32(0)
		if move < t.config.DrawnMoves {
			temperature = float32(t.config.Temperature.Value)
		}
		m.action = found.Drawn(legal, list(r.Chance.Last), temperature)
	}
	xlabridge.Free(r)
	if err != nil {
		return m, false, err
	}
	out, err := x.step.call(weights, graph.Of(int32(m.action)), graph.Uint32s(words))
	if err != nil {
		return m, false, err
	}
	m.score = float64(one(out.Score))
	m.reachedWords, err = wordsOf(out.Words)
	over = m.reachedWords[0] != 0 || move+1 >= t.program.game.moves
	xlabridge.Free(out)
	return m, over, err
}

// game plays one game.
func (x *plainPlay) game(t *Training, weights *graph.Array, key random.Key, number int) (moves []plainMove, err error) {
	first, err := x.start.call(key, graph.Of(int32(number)))
	if err != nil {
		return nil, err
	}
	words, err := wordsOf(first)
	if err != nil {
		return nil, err
	}
	words = append([]uint32{0}, words...)
	for over := false; !over; {
		var m plainMove
		if m, over, err = x.search(t, weights, key, number, len(moves), words); err != nil {
			return nil, err
		}
		moves, words = append(moves, m), m.reachedWords
	}
	return moves, nil
}

// iteration plays the games of an iteration, and puts them where the compiled program would.
func (x *plainPlay) iteration(t *Training, key random.Key, number *graph.Array) ([]float64, error) {
	p := t.program
	n, moves, words := p.kept(t.layout), p.game.moves, p.words()
	weights, err := onHost(t.learner.Weights)
	if err != nil {
		return nil, err
	}
	if key, err = graph.Eval(random.FoldIn(key, number)); err != nil {
		return nil, err
	}
	rows, length := make([]uint32, n*moves*words), make([]int32, n)
	returns, final := make([]float32, n), make([]uint32, n*p.game.state.words)
	for g := range t.config.NumEpisodes {
		played, err := x.game(t, weights, key, g)
		if err != nil {
			return nil, err
		}
		length[g] = int32(len(played))
		rest := 0.
		for i := len(played) - 1; i >= 0; i-- {
			m := played[i]
			rest += m.score
			row := rows[(g*moves+i)*words:][:words]
			copy(row, m.words[1:])
			for a, w := range m.weights {
				row[p.game.state.words+a/2] |= uint32(math.RoundToEven(float64(w*shareSteps))) << (16 * (a % 2))
			}
			row[words-1] = math.Float32bits(float32(m.sign * rest))
		}
		returns[g] = float32(rest)
		copy(final[g*p.game.state.words:], played[len(played)-1].reachedWords[1:])
	}
	g := games{graph.Uint32s(rows, n, moves, words), graph.Int32s(length), graph.Float32s(returns), graph.Uint32s(final, n, p.game.state.words)}
	before, err := onHost(t.replay)
	if err != nil {
		return nil, err
	}
	type both struct {
		Next   replay
		Result playResult
	}
	out, err := graph.Eval(func() (o both) {
		o.Next = before.with(g, number)
		o.Result = p.summed(g, graph.Of(float32(len(rows)/words)), graph.Scalar(0))
		return o
	}())
	if err != nil {
		return nil, err
	}
	xlabridge.Free(t.replay)
	if t.replay, err = xlabridge.Put(t.backend, t.devices, out.Next); err != nil {
		return nil, err
	}
	return t.keep(out.Result)
}
