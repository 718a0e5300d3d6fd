package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(DiscountingChain{}) }

// DiscountingChain is a choice between five chains by the first action; later actions have no effect. Chain i pays
// once, after RewardSteps[i] steps: OptimalReturn if it is the best chain, else 1. Never terminated; truncated after
// 100 steps.
//
// Observation f32[2]: the chain, -1 before the first step, and time / MaxSteps. Equal to gymnax 1.0.1.
type DiscountingChain struct{}

// DiscountingChainParams are int32 scalars unless a comment gives another type.
type DiscountingChainParams struct {
	RewardSteps   *graph.Array // i32[5]
	OptimalReturn *graph.Array // float32 scalar
	Best          *graph.Array `min:"0" max:"4"` // the chain that pays it
	MaxSteps      *graph.Array `min:"1"`
}

// DiscountingChainState is int32 scalars: the chain and the steps played.
type DiscountingChainState struct{ Context, Time *graph.Array }

const chains = 5

// Spec of DiscountingChain-bsuite-v1.
func (DiscountingChain) Spec() envs.Spec {
	return envs.Spec{ID: "DiscountingChain-bsuite-v1", Observation: envs.Box{Low: []float64{-1, 0}, High: []float64{
		chains - 1, 1}, Dims: []int{2}, DType: graph.Float32},
		Action: envs.Discrete{N: chains}, MaxSteps: 100}
}

// DefaultParams of DiscountingChain-bsuite-v1.
func (DiscountingChain) DefaultParams() DiscountingChainParams {
	return DiscountingChainParams{RewardSteps: graph.Int32s([]int32{1, 3, 10, 30, 100}), OptimalReturn: graph.Scalar(
		1.1), Best: envs.Steps(0), MaxSteps: envs.Steps(100)}
}

// Reset is always the same.
func (e DiscountingChain) Reset(_ random.Key, p DiscountingChainParams) (DiscountingChainState, *graph.Array) {
	s := DiscountingChainState{Context: envs.Steps(-1), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step follows the chain. The key is not used.
func (e DiscountingChain) Step(_ random.Key, s DiscountingChainState, action *graph.Array,
	p DiscountingChainParams) (next DiscountingChainState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next = DiscountingChainState{Context: graph.Select(s.Time.Eq(0), action.Convert(graph.Int32),
		s.Context)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	pays := graph.Iota(chains).Eq(next.Context).And(p.RewardSteps.Eq(next.Time)).Any()
	reward = graph.Select(pays, graph.Select(next.Context.Eq(p.Best), p.OptimalReturn, 1.), 0.)
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// Observe is the chain and the time.
func (DiscountingChain) Observe(s DiscountingChainState, p DiscountingChainParams) *graph.Array {
	return graph.Stack([]*graph.Array{float(s.Context), float(s.Time).Div(float(p.MaxSteps))}, 0)
}

// Draw paints the five chains of the default parameters and the progress on the chosen one. The length of a chain is
// the square root of its number of steps.
func (e DiscountingChain) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-1, -.5), draw.At(11, 5.5))
	v := draw.Scalars(c, e.Spec().ID, state, func(s DiscountingChainState) []*graph.Array {
		return []*graph.Array{s.Context, s.Time}
	})
	for i, length := range []float64{1, 1.7, 3.2, 5.5, 10} {
		y := 5 - float64(i)
		c.Line(draw.Steel, draw.At(0, y), draw.At(length, y), .06)
		c.Disc(qualityColor(i == 0), draw.At(length, y), .25)
		if int(v[0]) == i {
			c.Disc(draw.Ink, draw.At(min(root(v[1]), 10), y), .3)
		}
	}
	if v[0] < 0 {
		c.Disc(draw.Ink, draw.At(-.5, 3), .3)
	}
	return c.Image()
}
