package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/search"
	"xlarun/xlabridge"
)

// plainPlay plays one game after the other with search.Plain, which calls two compiled functions of one position. It is
// slow, and easy to debug. For equal keys its visits are those of the compiled search.
//
// Positions are u32[1 + stateWords]: whether the game is over, then the state.
type plainPlay struct {
	start *stage[*graph.Array] // the state with which a game begins, u32[stateWords]
	root  *stage[plainRoot]
	step  *stage[plainStep]
}

// plainRoot is what a search begins with.
type plainRoot struct {
	Logits, Value, Legal *graph.Array
	Draws                search.Draws
	Sign                 *graph.Array // f32[]: 1 where player 0 moves
}

// plainStep is what an action leads to.
type plainStep struct {
	Step  search.Step
	Words *graph.Array // u32[1 + stateWords]: position
	Score *graph.Array // f32[]: reward of player 0
	Over  *graph.Array // bool[]
}

// packPosition returns the position of a state.
func (g *game) packPosition(p search.Position[any]) *graph.Array {
	return graph.Concatenate(0, graph.Reshape(p.Over.Convert(graph.Uint32), 1), g.pack(p.State))
}

// unpackPosition returns the state of a position.
func (g *game) unpackPosition(words *graph.Array) search.Position[any] {
	return search.Position[any]{State: g.unpack(graph.SliceAxis(words, 0, 1, g.stateWords()+1)),
		Over: graph.Index(words, 0).Ne(0)}
}

func newPlainPlay(t *Training) (*plainPlay, error) {
	p := t.program
	var weights *graph.Array
	if err := graph.Try(func() { weights = p.weights.Ravel(p.network.Init(random.New(0))) }); err != nil {
		return nil, err
	}
	position, number := graph.Zeros(graph.ShapeOf(graph.Uint32, p.game.stateWords()+1)), graph.Of(int32(0))
	purpose, options := t.config.Purpose(), t.options
	options.Replicas = 1
	x := &plainPlay{}
	var err error
	x.start, err = newStage(t.backend, "opening of one game", purpose, options, &t.busy, nil,
		[]any{random.New(0), number}, func(a []any) *graph.Array {
			return p.game.pack(p.opening(a[0].(random.Key), a[1].(*graph.Array)))
		})
	if err != nil {
		return nil, err
	}
	x.start.profile(&t.profile)
	x.root, err = newStage(t.backend, "root of one position", purpose, options, &t.busy, nil,
		[]any{weights, random.New(0), number, number, position}, func(a []any) plainRoot {
			at := p.game.unpackPosition(a[4].(*graph.Array))
			r := p.model().Root(p.searchParams(networkPlayer(a[0].(*graph.Array))), at.State)
			key := moveKey(a[1].(random.Key), a[2].(*graph.Array), a[3].(*graph.Array))
			draws := search.DrawsOf(p.config.trainingSearch(), key, p.game.actions)
			return plainRoot{r.Logits, r.Value, r.Legal, draws, p.sign(at.State)}
		})
	if err != nil {
		return nil, err
	}
	x.root.profile(&t.profile)
	x.step, err = newStage(t.backend, "step of one position", purpose, options, &t.busy, nil,
		[]any{weights, number, position}, func(a []any) plainStep {
			at := p.game.unpackPosition(a[2].(*graph.Array))
			params := p.searchParams(networkPlayer(a[0].(*graph.Array)))
			s, next := p.model().Step(params, random.New(0), a[1].(*graph.Array), at)
			return plainStep{s, p.game.packPosition(next), p.sign(at.State).Mul(s.Reward), next.Over}
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

// plainMove is a move that was played.
type plainMove struct {
	before, after []uint32 // positions
	weights       []float32
	visits        []int
	score, sign   float64
	action        int
	over          bool
}

// hostReader copies arrays to the host and keeps the first error.
type hostReader struct{ err error }

func (r *hostReader) list(a *graph.Array) []float32 {
	v, err := floats(a)
	if r.err == nil {
		r.err = err
	}
	return v
}

func (r *hostReader) number(a *graph.Array) float32 {
	if v := r.list(a); len(v) == 1 {
		return v[0]
	}
	return float32(math.NaN())
}

func (r *hostReader) words(a *graph.Array) []uint32 {
	v, err := wordsOf(a)
	if r.err == nil {
		r.err = err
	}
	return v
}

// move searches a position and plays its move.
func (x *plainPlay) move(t *Training, weights *graph.Array, key random.Key, game, move int,
	position []uint32) (m plainMove, err error) {
	root, err := x.root.call(weights, key, graph.Of(int32(game)), graph.Of(int32(move)), graph.Uint32s(position))
	if err != nil {
		return m, err
	}
	defer xlabridge.Free(root)
	mask, err := graph.Floats(root.Legal)
	if err != nil {
		return m, err
	}
	legal := make([]bool, len(mask))
	for a, x := range mask {
		legal[a] = x != 0
	}

	var read hostReader
	s := search.Plain[[]uint32]{Policy: t.config.trainingSearch(),
		Step: func(at []uint32, action int) (reward, discount float32, logits []float32, value float32, next []uint32) {
			out, err := x.step.call(weights, graph.Of(int32(action)), graph.Uint32s(at))
			if err != nil {
				read.err = err
				return 0, 0, make([]float32, len(legal)), 0, at
			}
			defer xlabridge.Free(out)
			return read.number(out.Step.Reward), read.number(out.Step.Discount), read.list(out.Step.Logits),
				read.number(out.Step.Value), read.words(out.Words)
		}}
	found := s.Run(search.PlainRoot[[]uint32]{State: position, Logits: read.list(root.Logits),
		Value: read.number(root.Value), Legal: legal, Noise: read.list(root.Draws.Noise),
		Ties: read.list(root.Draws.Ties)})
	m = plainMove{before: position, weights: found.Weights, visits: found.Visits, action: found.Action,
		sign: float64(read.number(root.Sign))}
	if t.config.Search == "puct" {
		temperature := float32(0)
		if move < t.config.DrawnMoves {
			temperature = float32(t.config.Temperature.Value)
		}
		m.action = found.DrawAction(legal, read.list(root.Draws.Action), temperature)
	}
	if read.err != nil {
		return m, read.err
	}
	out, err := x.step.call(weights, graph.Of(int32(m.action)), graph.Uint32s(position))
	if err != nil {
		return m, err
	}
	defer xlabridge.Free(out)
	m.score, m.after = float64(read.number(out.Score)), read.words(out.Words)
	if read.err != nil {
		return m, read.err
	}
	m.over = m.after[0] != 0 || move+1 >= t.program.game.moves
	return m, nil
}

// game plays one game.
func (x *plainPlay) game(t *Training, weights *graph.Array, key random.Key, number int) (moves []plainMove, err error) {
	first, err := x.start.call(key, graph.Of(int32(number)))
	if err != nil {
		return nil, err
	}
	state, err := wordsOf(first)
	if err != nil {
		return nil, err
	}
	m := plainMove{after: append([]uint32{0}, state...)}
	for !m.over {
		if m, err = x.move(t, weights, key, number, len(moves), m.after); err != nil {
			return nil, err
		}
		moves = append(moves, m)
	}
	return moves, nil
}

// iteration plays the games of an iteration and adds them to the replay, as the compiled program does.
func (x *plainPlay) iteration(t *Training, key random.Key, number *graph.Array) ([]float64, error) {
	p := t.program
	n, moves, words, stateWords := p.replayGames(t.layout), p.game.moves, p.words(), p.game.stateWords()
	weights, err := onHost(t.learner.Weights)
	if err != nil {
		return nil, err
	}
	if key, err = graph.Eval(random.FoldIn(key, number)); err != nil {
		return nil, err
	}
	rows, length := make([]uint32, n*moves*words), make([]int32, n)
	returns, final := make([]float32, n), make([]uint32, n*stateWords)
	for g := range t.config.NumEpisodes {
		played, err := x.game(t, weights, key, g)
		if err != nil {
			return nil, err
		}
		length[g] = int32(len(played))
		returned := 0.
		for i := len(played) - 1; i >= 0; i-- {
			m := played[i]
			returned += m.score
			row := rows[(g*moves+i)*words:][:words]
			copy(row, m.before[1:])
			for a, w := range m.weights {
				row[stateWords+a/2] |= uint32(math.RoundToEven(float64(w*policySteps))) << (16 * (a % 2))
			}
			row[words-1] = math.Float32bits(float32(m.sign * returned))
		}
		returns[g] = float32(returned)
		copy(final[g*stateWords:], played[len(played)-1].after[1:])
	}
	g := games{graph.Uint32s(rows, n, moves, words), graph.Int32s(length), graph.Float32s(returns),
		graph.Uint32s(final, n, stateWords)}
	before, err := onHost(t.replay)
	if err != nil {
		return nil, err
	}
	out, err := graph.Eval(graph.PairOf(before.with(g, number),
		p.summarize(g, graph.Of(float32(len(rows)/words)), graph.Scalar(0))))
	if err != nil {
		return nil, err
	}
	xlabridge.Free(t.replay)
	if t.replay, err = xlabridge.Put(t.backend, t.devices, out.First); err != nil {
		return nil, err
	}
	return t.keep(out.Second)
}
