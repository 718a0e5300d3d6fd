package small

import (
	"image"
	"math/bits"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	envs.MustRegister(XOR{2, "XOR-v0"})
	envs.MustRegister(XOR{3, "XOR3d-v0"})
}

// XOR shows all patterns of a number of bits, one a step, and asks for each one's parity, 0 or 1. The action f32[1] is
// the answer. The last step pays the square of the number of patterns less the sum of the errors, as in the experiment
// of Stanley and Miikkulainen, "Evolving neural networks through augmenting topologies" (2002): 16 at most for two
// bits. The others pay 0. At the threshold every answer is less than 0.5 off, and so right when it is rounded.
//
// Observation f32[bits]: the pattern, of which the first bit is the highest.
type XOR struct {
	bits int
	id   string
}

// XORParams has the length of an episode, i32[], which is the number of patterns.
type XORParams struct{ MaxSteps *graph.Array }

// XORState is the answers so far, f32[patterns], 0 where there is none, and the steps played, i32[].
type XORState struct{ Answers, Time *graph.Array }

func (e XOR) patterns() int { return 1 << e.bits }

// Spec of XOR-v0 and XOR3d-v0.
func (e XOR) Spec() envs.Spec {
	all := float64(e.patterns())
	return envs.Spec{ID: e.id, Observation: box(0, 1, e.bits), Action: box(0, 1, 1), MaxSteps: e.patterns(),
		RewardThreshold: (all - .5) * (all - .5)}
}

// DefaultParams have one step for each pattern.
func (e XOR) DefaultParams() XORParams { return XORParams{MaxSteps: envs.Steps(e.patterns())} }

// Reset begins with the pattern of zeros.
func (e XOR) Reset(_ random.Key, p XORParams) (XORState, *graph.Array) {
	s := XORState{Answers: graph.Zeros(graph.ShapeOf(graph.Float32, e.patterns())), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// parities returns the right answers, f32[patterns].
func (e XOR) parities() *graph.Array {
	right := make([]float32, e.patterns())
	for i := range right {
		right[i] = float32(bits.OnesCount(uint(i)) % 2)
	}
	return graph.Float32s(right)
}

// Step takes the answer to one pattern. The key is not used.
func (e XOR) Step(_ random.Key, s XORState, action *graph.Array,
	p XORParams) (next XORState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	next.Answers = graph.Select(graph.Iota(e.patterns()).Eq(s.Time), action.Index(0), s.Answers)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	terminated = next.Time.Ge(e.patterns())
	right := graph.Sub(float32(e.patterns()), next.Answers.Sub(e.parities()).Abs().Sum())
	return next, e.Observe(next, p), graph.Select(terminated, right.Square(), 0.), terminated, truncated
}

// Observe is the next pattern.
func (e XOR) Observe(s XORState, _ XORParams) *graph.Array {
	place := graph.Sub(e.bits-1, graph.Iota(e.bits))
	return float(graph.ShiftRightArithmetic(s.Time, place).And(1))
}

// Draw paints a column for each pattern: its bits, and below them the right answer and the given one.
func (e XOR) Draw(state any, size image.Point) (image.Image, error) {
	b := newBoard(size, e.bits+3, e.patterns())
	answers := draw.Grid(b.Canvas, e.id, state, func(s XORState) *graph.Array { return s.Answers }, e.patterns())
	time := draw.Scalars(b.Canvas, e.id, state, func(s XORState) []*graph.Array { return []*graph.Array{s.Time} })
	for i, answer := range answers {
		x := float64(i)
		for k := range e.bits {
			if i>>(e.bits-1-k)&1 == 1 {
				b.fill(draw.Ink, float64(k), x, .8)
			}
		}
		if bits.OnesCount(uint(i))%2 == 1 {
			b.fill(draw.Accent, float64(e.bits)+1, x, .8)
		}
		if i < int(time[0]) && answer > 0 {
			b.fill(draw.Signal, float64(e.bits)+2, x, .8*min(1, answer))
		}
	}
	return b.Image()
}
