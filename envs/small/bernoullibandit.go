package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(BernoulliBandit{}) }

// BernoulliBandit has two arms. One pays 1 with probability RewardProb, the other with probability 1 - RewardProb;
// Reset draws which one (Wang et al., "Learning to reinforcement learn", 2016). Never terminated; truncated after 100
// steps. The better arm gives 90 on average, a random choice 50.
//
// Observation f32[4]: the last reward, the last action one-hot (action 0 before the first step), and the time from -1
// to 1. Equal to gymnax 1.0.1.
type BernoulliBandit struct{}

// BernoulliBanditParams are scalars, RewardProb of float32 and MaxSteps of int32.
type BernoulliBanditParams struct {
	RewardProb *graph.Array `min:"0" max:"1"`
	MaxSteps   *graph.Array `min:"1"`
}

// BernoulliBanditState is int32 scalars, except First, the float32 probability of the first arm.
type BernoulliBanditState struct{ First, LastAction, LastReward, Time *graph.Array }

// Spec of BernoulliBandit-misc-v1.
func (BernoulliBandit) Spec() envs.Spec {
	box := envs.Box{Low: []float64{0, 0, 0, -1}, High: []float64{1, 1, 1, 1}, Dims: []int{4}, DType: graph.Float32}
	return envs.Spec{ID: "BernoulliBandit-misc-v1", Observation: box, Action: envs.Discrete{N: 2},
		MaxSteps: 100, MaxReward: new(1.)}
}

// DefaultParams of BernoulliBandit-misc-v1.
func (BernoulliBandit) DefaultParams() BernoulliBanditParams {
	return BernoulliBanditParams{RewardProb: graph.Scalar(.1), MaxSteps: envs.Steps(100)}
}

// Reset draws the better arm.
func (e BernoulliBandit) Reset(key random.Key, p BernoulliBanditParams) (BernoulliBanditState, *graph.Array) {
	second := random.Randint(key, graph.ShapeOf(graph.Int32, 1), 0, 2).Index(0).Eq(1)
	s := BernoulliBanditState{First: graph.Select(second, graph.Sub(1, p.RewardProb), p.RewardProb),
		LastAction: envs.Steps(0), LastReward: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step draws the reward.
func (e BernoulliBandit) Step(key random.Key, s BernoulliBanditState, action *graph.Array,
	p BernoulliBanditParams) (next BernoulliBanditState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	won := random.Bernoulli(key, graph.Select(action.Eq(0), s.First, graph.Sub(1, s.First)))
	next = BernoulliBanditState{First: s.First, LastAction: action.Convert(graph.Int32), LastReward: number(won)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), float(won), envs.False(), truncated
}

// Observe is the last reward, the last action and the time.
func (BernoulliBandit) Observe(s BernoulliBanditState, p BernoulliBanditParams) *graph.Array {
	time := graph.Mul(2, float(s.Time)).Div(float(p.MaxSteps)).Sub(1)
	return graph.Stack([]*graph.Array{float(s.LastReward), float(s.LastAction.Eq(0)),
		float(s.LastAction.Eq(1)), time}, 0)
}

// Draw paints both arms as bars with the height of their probabilities, and a ring of wood around the last one played,
// filled if it paid.
func (e BernoulliBandit) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-.2, -.5), draw.At(2.2, 1.3))
	v := draw.Scalars(c, e.Spec().ID, state, func(s BernoulliBanditState) []*graph.Array {
		return []*graph.Array{s.First, s.LastAction, s.LastReward}
	})
	for i, probability := range []float64{v[0], 1 - v[0]} {
		x := .5 + float64(i)
		c.Rectangle(qualityColor(probability > .5), draw.At(x-.25, 0), draw.At(x+.25, min(max(probability, 0), 1)))
		if int(v[1]) == i {
			c.Disc(draw.Wood, draw.At(x, -.2), .12)
			if v[2] == 0 {
				c.Disc(draw.Paper, draw.At(x, -.2), .08)
			}
		}
	}
	c.Line(draw.Ink, draw.At(0, 0), draw.At(2, 0), .02)
	return c.Image()
}
