package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(GaussianBandit{}) }

// GaussianBandit has two arms. The first one pays 0. The second one pays a normal draw of standard deviation Noise
// around a mean that Reset draws from a normal distribution of mean Mean and standard deviation Spread (Lange and
// Sprekeler, "Learning not to learn: nature versus nurture in silico", 2022). Never terminated; truncated after 100
// steps.
//
// Observation f32[4]: the last reward, the last action one-hot (action 0 before the first step), and the time, which
// rises from -1 by 1/50 a step. Equal to gymnax 1.0.1.
type GaussianBandit struct{}

// GaussianBanditParams are scalars, MaxSteps of int32 and the others of float32.
type GaussianBanditParams struct {
	Mean     *graph.Array
	Spread   *graph.Array `min:"0"`
	Noise    *graph.Array `min:"0"`
	MaxSteps *graph.Array `min:"1"`
}

// GaussianBanditState is scalars: float32 the mean of the second arm and the last reward, int32 the others.
type GaussianBanditState struct{ Mu, LastReward, LastAction, Time *graph.Array }

// Spec of GaussianBandit-misc-v1.
func (GaussianBandit) Spec() envs.Spec {
	return envs.Spec{ID: "GaussianBandit-misc-v1", Observation: unbounded(4), Action: envs.Discrete{N: 2},
		MaxSteps: 100}
}

// DefaultParams of GaussianBandit-misc-v1.
func (GaussianBandit) DefaultParams() GaussianBanditParams {
	return GaussianBanditParams{Mean: graph.Scalar(-1), Spread: graph.Scalar(1), Noise: graph.Scalar(.1),
		MaxSteps: envs.Steps(100)}
}

// Reset draws the mean of the second arm.
func (e GaussianBandit) Reset(key random.Key, p GaussianBanditParams) (GaussianBanditState, *graph.Array) {
	mu := p.Mean.Add(random.Normal(key, graph.ShapeOf(graph.Float32)).Mul(p.Spread))
	s := GaussianBanditState{Mu: mu, LastReward: graph.Scalar(0), LastAction: envs.Steps(0), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step draws the reward of the second arm.
func (e GaussianBandit) Step(key random.Key, s GaussianBanditState, action *graph.Array,
	p GaussianBanditParams) (next GaussianBanditState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	second := s.Mu.Add(random.Normal(key, graph.ShapeOf(graph.Float32)).Mul(p.Noise))
	reward = graph.Select(action.Eq(0), graph.Scalar(0), second)
	next = GaussianBanditState{Mu: s.Mu, LastReward: reward, LastAction: action.Convert(graph.Int32)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), reward, envs.False(), truncated
}

// Observe is the last reward, the last action and the time.
func (GaussianBandit) Observe(s GaussianBanditState, _ GaussianBanditParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.LastReward, float(s.LastAction.Eq(0)), float(s.LastAction.Eq(1)),
		hundredths(s.Time)}, 0)
}

// hundredths is a time from -1, which rises by 1/50 a step.
func hundredths(time *graph.Array) *graph.Array { return graph.Mul(2, float(time)).Div(100).Sub(1) }

// Draw paints both arms as bars with the height of their means, and a ring of wood below the last one played.
func (e GaussianBandit) Draw(state any, size image.Point) (image.Image, error) {
	c := newBars(size, 2)
	v := draw.Scalars(c, e.Spec().ID, state, func(s GaussianBanditState) []*graph.Array {
		return []*graph.Array{s.Mu, s.LastAction}
	})
	return bars(c, 3, int(v[1]), 0, v[0])
}

// newBars makes a canvas for n bars.
func newBars(size image.Point, n int) *draw.Canvas {
	return draw.NewCanvas(size, draw.At(-.2, -1.6), draw.At(float64(n)+.2, 1.2))
}

// bars paints a bar for each height, up to the most in both directions, and a disc below the one that was chosen.
func bars(c *draw.Canvas, most float64, chosen int, heights ...float64) (image.Image, error) {
	for i, height := range heights {
		x, h := .5+float64(i), min(max(height/most, -1), 1)
		c.Rectangle(qualityColor(height > 0), draw.At(x-.25, min(h, 0)), draw.At(x+.25, max(h, 0)))
		if i == chosen {
			c.Disc(draw.Wood, draw.At(x, -1.3), .12)
		}
	}
	c.Line(draw.Ink, draw.At(0, 0), draw.At(float64(len(heights)), 0), .02)
	return c.Image()
}
