package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(MemoryChain{}) }

// MemoryChain shows a bit at the start and asks for it MemoryLength steps later. The last action of an episode gives 1
// if it equals the bit, else -1, and terminates; all other rewards are 0. The limit of 1,000 steps is not reached with
// the default length. The mean return is 0 without memory and 1 with memory.
//
// Observation f32[3]: 1 - time / MemoryLength, 0 (in bsuite, the index of the bit to recall), and the bit as -1 or 1,
// or 0 when it is not shown. Equal to gymnax 1.0.1, where Reset and the first step show the bit and an episode has one
// step more than in bsuite.
type MemoryChain struct{}

// MemoryChainParams are int32 scalars.
type MemoryChainParams struct {
	MemoryLength *graph.Array `min:"1"`
	MaxSteps     *graph.Array `min:"1"`
}

// MemoryChainState is int32 scalars: the bit and the steps played.
type MemoryChainState struct{ Context, Time *graph.Array }

// Spec of MemoryChain-bsuite-v1.
func (MemoryChain) Spec() envs.Spec {
	return envs.Spec{ID: "MemoryChain-bsuite-v1", Observation: envs.Box{Low: []float64{-envs.Unbounded, 0, -1},
		High: []float64{1, 0, 1}, Dims: []int{3}, DType: graph.Float32},
		Action: envs.Discrete{N: 2}, MaxSteps: 1000, MaxReward: new(1.)}
}

// DefaultParams of MemoryChain-bsuite-v1.
func (MemoryChain) DefaultParams() MemoryChainParams {
	return MemoryChainParams{MemoryLength: envs.Steps(5), MaxSteps: envs.Steps(1000)}
}

// Reset draws the bit.
func (e MemoryChain) Reset(key random.Key, p MemoryChainParams) (MemoryChainState, *graph.Array) {
	bit, _ := random.Split2(key)
	s := MemoryChainState{Context: number(random.Bernoulli(bit, .5, 1).Index(0)), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step compares the action with the bit in the last step. The key is not used.
func (e MemoryChain) Step(_ random.Key, s MemoryChainState, action *graph.Array,
	p MemoryChainParams) (next MemoryChainState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next = MemoryChainState{Context: s.Context}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	reward = graph.Select(s.Time.Ge(p.MemoryLength), sign(action.Eq(s.Context)), 0.)
	return next, e.Observe(next, p), reward, s.Time.Eq(p.MemoryLength), truncated
}

// Observe is the remaining time and the bit.
func (MemoryChain) Observe(s MemoryChainState, p MemoryChainParams) *graph.Array {
	time := s.Time.Sub(1).Max(0)
	left := graph.Sub(1, float(time).Div(float(p.MemoryLength)))
	return graph.Stack([]*graph.Array{left, graph.Scalar(0), graph.Select(time.Eq(0),
		sign(s.Context.Eq(1)), 0.)}, 0)
}

// Draw paints a chain of the default length, and the bit over the first step: a blue disc for 1, a red one for 0.
func (e MemoryChain) Draw(state any, size image.Point) (image.Image, error) {
	c := newChain(size, 6)
	v := draw.Scalars(c, e.Spec().ID, state, func(s MemoryChainState) []*graph.Array {
		return []*graph.Array{s.Context, s.Time}
	})
	chain(c, 6, int(min(v[1], 6)))
	c.Disc(qualityColor(v[0] == 1), draw.At(0, 1.5), .6)
	return c.Image()
}
