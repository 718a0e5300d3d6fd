package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(UmbrellaChain{}) }

// UmbrellaChain is the choice to take an umbrella (1) or not (0) by the first action; later actions have no effect. The
// last of ChainLength steps terminates. It pays 1 if the umbrella was taken exactly when needed, else -1. All other
// steps pay 1 or -1 at random. Truncated after 100 steps.
//
// Observation f32[3]: whether the umbrella is needed, whether it was taken (random before the first step), 1 - time /
// ChainLength. Equal to gymnax 1.0.1 without distractors.
type UmbrellaChain struct{}

// UmbrellaChainParams are int32 scalars.
type UmbrellaChainParams struct {
	ChainLength *graph.Array `min:"1"`
	MaxSteps    *graph.Array `min:"1"`
}

// UmbrellaChainState is int32 scalars: whether the umbrella is needed, whether it was taken, the steps played.
type UmbrellaChainState struct{ Need, Has, Time *graph.Array }

// Spec of UmbrellaChain-bsuite-v1.
func (UmbrellaChain) Spec() envs.Spec {
	return envs.Spec{ID: "UmbrellaChain-bsuite-v1", Observation: envs.Box{Low: []float64{0, 0, -envs.Unbounded},
		High: []float64{1, 1, 1}, Dims: []int{3}, DType: graph.Float32},
		Action: envs.Discrete{N: 2}, MaxSteps: 100, MaxReward: new(1.)}
}

// DefaultParams of UmbrellaChain-bsuite-v1.
func (UmbrellaChain) DefaultParams() UmbrellaChainParams {
	return UmbrellaChainParams{ChainLength: envs.Steps(10), MaxSteps: envs.Steps(100)}
}

// Reset draws whether the umbrella is needed.
func (e UmbrellaChain) Reset(key random.Key, p UmbrellaChainParams) (UmbrellaChainState, *graph.Array) {
	keys := random.SplitN(key, 3)
	s := UmbrellaChainState{Need: number(random.Bernoulli(keys[0], .5)), Has: number(random.Bernoulli(keys[1], .5)),
		Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step draws the reward of all steps except the last.
func (e UmbrellaChain) Step(key random.Key, s UmbrellaChainState, action *graph.Array,
	p UmbrellaChainParams) (next UmbrellaChainState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	chance, _ := random.Split2(key)
	next = UmbrellaChainState{Need: s.Need, Has: graph.Select(s.Time.Eq(0), action.Convert(graph.Int32),
		s.Has)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	last := next.Time.Eq(p.ChainLength)
	reward = graph.Select(last, sign(next.Has.Eq(s.Need)), sign(random.Bernoulli(chance, .5)))
	return next, e.Observe(next, p), reward, last, truncated
}

// Observe is the state.
func (UmbrellaChain) Observe(s UmbrellaChainState, p UmbrellaChainParams) *graph.Array {
	return graph.Stack([]*graph.Array{float(s.Need), float(s.Has),
		graph.Sub(1, float(s.Time).Div(float(p.ChainLength)))}, 0)
}

// Draw paints a chain of the default length, rain over the last step if the umbrella is needed, and the umbrella if it
// was taken.
func (e UmbrellaChain) Draw(state any, size image.Point) (image.Image, error) {
	c := newChain(size, 10)
	v := draw.Scalars(c, e.Spec().ID, state, func(s UmbrellaChainState) []*graph.Array {
		return []*graph.Array{s.Need, s.Has, s.Time}
	})
	chain(c, 10, int(min(v[2], 10)))
	if v[0] != 0 {
		for i := range 4 {
			x := 9.1 + .5*float64(i)
			c.Line(draw.Accent, draw.At(x, 2.2), draw.At(x-.3, 1.2), .08)
		}
	}
	if v[1] != 0 {
		at := min(v[2], 10)
		c.Line(draw.Wood, draw.At(at, 0), draw.At(at, 1), .1)
		c.Polygon(draw.Signal, draw.At(at-.8, .9), draw.At(at, 1.5), draw.At(at+.8, .9))
	}
	return c.Image()
}
