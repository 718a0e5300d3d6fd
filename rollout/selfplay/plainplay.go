package selfplay

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/rollout/search"
	"xlarun/xlabridge"
)

// plainPlay plays one game after the other with search.Plain, which calls compiled functions of one position. It is
// slow and easy to debug. For equal keys its visits equal those of the compiled search.
//
// Positions are u32[1 + stateWords]: whether the game is over, then the state.
type plainPlay struct {
	opening *run.Stage[graph.None, openingInputs, *graph.Array] // returns u32[stateWords]
	root    *run.Stage[graph.None, rootInputs, plainRoot]
	step    *run.Stage[graph.None, stepInputs, plainStep]
}

type openingInputs struct {
	Key  random.Key   // of the iteration
	Game *graph.Array // i32[]
}

type rootInputs struct {
	Weights    *graph.Array // f32[parameters]
	Key        random.Key   // of the iteration
	Game, Move *graph.Array // i32[]
	Position   *graph.Array // u32[1 + stateWords]
}

type stepInputs struct {
	Weights  *graph.Array // f32[parameters]
	Action   *graph.Array // i32[]
	Position *graph.Array // u32[1 + stateWords]
}

// plainRoot is the root of a search.
type plainRoot struct {
	PriorLogits, Value, Legal *graph.Array // as in search.Root
	Draws                     search.Draws
	Sign                      *graph.Array // f32[]: see program.sign
}

// plainStep is the result of an action.
type plainStep struct {
	Step     search.Step
	Position *graph.Array // u32[1 + stateWords]
	Score    *graph.Array // f32[]: reward of player 0
	Over     *graph.Array // bool[]
}

// packPosition returns a position as words, u32[1 + stateWords].
func (g *game) packPosition(p search.Position[any]) *graph.Array {
	return graph.Concatenate(0, p.Over.Convert(graph.Uint32).Reshape(1), g.pack(p.State))
}

// unpackPosition returns the position of words.
func (g *game) unpackPosition(words *graph.Array) search.Position[any] {
	return search.Position[any]{State: g.unpack(graph.SliceAxis(words, 0, 1, g.stateWords()+1)),
		Over: words.Index(0).Ne(0)}
}

func newPlainPlay(t *Training) (*plainPlay, error) {
	p := t.program
	weights, err := p.someWeights()
	if err != nil {
		return nil, err
	}
	position, number := graph.Zeros(graph.ShapeOf(graph.Uint32, p.game.stateWords()+1)), graph.Of(int32(0))
	c := t.stages()
	c.Options.Replicas = 1
	x := &plainPlay{}
	x.opening, err = run.NewReading(c, "opening of one game", openingInputs{random.New(0), number},
		func(in openingInputs) *graph.Array { return p.game.pack(p.opening(in.Key, in.Game)) })
	if err != nil {
		return nil, err
	}
	x.root, err = run.NewReading(c, "root of one position",
		rootInputs{weights, random.New(0), number, number, position},
		func(in rootInputs) plainRoot {
			state := p.game.unpackPosition(in.Position)
			r := p.model().Root(p.searchParams(networkPlayer(in.Weights)), state.State)
			draws := search.DrawsOf(p.config.trainingSearch(), moveKey(in.Key, in.Game, in.Move), p.game.actions)
			return plainRoot{r.PriorLogits, r.Value, r.Legal, draws, p.sign(state.State)}
		})
	if err != nil {
		return nil, err
	}
	x.step, err = run.NewReading(c, "step of one position", stepInputs{weights, number, position},
		func(in stepInputs) plainStep {
			before := p.game.unpackPosition(in.Position)
			params := p.searchParams(networkPlayer(in.Weights))
			s, next := p.model().Step(params, random.New(0), in.Action, before)
			return plainStep{s, p.game.packPosition(next), p.sign(before.State).Mul(s.Reward), next.Over}
		})
	return x, err
}

func (x *plainPlay) close() {
	if x == nil {
		return
	}
	_ = x.opening.Close()
	_ = x.root.Close()
	_ = x.step.Close()
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

// move searches a position and plays its move.
func (x *plainPlay) move(t *Training, weights *graph.Array, key random.Key, game, move int,
	position []uint32) (m plainMove, err error) {
	root, err := x.root.Call(rootInputs{weights, key, graph.Of(int32(game)), graph.Of(int32(move)),
		graph.Uint32s(position)})
	if err != nil {
		return m, err
	}
	defer xlabridge.Free(root)

	var read hostReader
	step := func(packed []uint32, action int) (out plainStep) {
		out, err := x.step.Call(stepInputs{weights, graph.Of(int32(action)), graph.Uint32s(packed)})
		if err != nil {
			read.err = err
		}
		return out
	}
	legal := read.bools(root.Legal)
	s := search.Plain[[]uint32]{Policy: t.config.trainingSearch(),
		Step: func(at []uint32, action int) (reward, discount float32, logits []float32, value float32, next []uint32) {
			out := step(at, action)
			if read.err != nil {
				return 0, 0, make([]float32, len(legal)), 0, at
			}
			defer xlabridge.Free(out)
			return float32(read.number(out.Step.Reward)), float32(read.number(out.Step.Discount)),
				read.float32s(out.Step.PriorLogits), float32(read.number(out.Step.Value)), read.words(out.Position)
		}}
	found := s.Run(search.PlainRoot[[]uint32]{State: position, PriorLogits: read.float32s(root.PriorLogits),
		Value: float32(read.number(root.Value)), Legal: legal, Noise: read.float32s(root.Draws.Noise),
		Ties: read.float32s(root.Draws.Ties)})
	m = plainMove{before: position, weights: found.ActionWeights, visits: found.Visits, action: found.Action,
		sign: read.number(root.Sign)}
	if t.config.Search == "puct" {
		temperature := float32(0)
		if move < t.config.SampledMoves {
			temperature = float32(t.config.Temperature.Value)
		}
		m.action = found.DrawAction(legal, read.float32s(root.Draws.Action), temperature)
	}
	if read.err != nil {
		return m, read.err
	}
	out := step(position, m.action)
	if read.err != nil {
		return m, read.err
	}
	defer xlabridge.Free(out)
	m.score, m.after = read.number(out.Score), read.words(out.Position)
	if read.err != nil {
		return m, read.err
	}
	m.over = m.after[0] != 0 || move+1 >= t.program.game.moves
	return m, nil
}

// game plays one game.
func (x *plainPlay) game(t *Training, weights *graph.Array, key random.Key, number int) (moves []plainMove, err error) {
	first, err := x.opening.Call(openingInputs{key, graph.Of(int32(number))})
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
	weights, err := onHost(t.state.Learner.Weights)
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
	before, err := onHost(t.state.Replay)
	if err != nil {
		return nil, err
	}
	out, err := graph.Eval(graph.PairOf(before.with(g, number),
		p.summarize(g, graph.Of(float32(len(rows)/words)), graph.Scalar(0))))
	if err != nil {
		return nil, err
	}
	xlabridge.Free(t.state.Replay)
	if t.state.Replay, err = xlabridge.Put(t.backend, t.devices, out.First); err != nil {
		return nil, err
	}
	return t.keep(out.Second)
}
