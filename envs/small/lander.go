package small

import (
	"image"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Lander{}) }

// Lander is a craft without rotation that lands on a pad with two engines at once, after Gymnasium's LunarLander. It is
// xlarun's own, and shows actions of several choices: MultiDiscrete([2 3]). The first choice is the main engine, off or
// on; the second pushes to the left, not at all, or to the right.
//
// Observation f32[4]: x and y from the middle of the pad, and both speeds times 20. The craft starts at height 1, up to
// half a unit to the side. A step pays how much nearer and slower the craft became, distance plus 10 times speed, less
// Fuel for each engine that is on. Terminated on the ground, with 1 more if the craft is on the pad and at most as fast
// as Safe in each direction, and 1 less if not; also, with 1 less, outside of ±1.5 or above 1.5. Truncated after 200
// steps.
//
// Mean returns: -1.7 for a random policy, 1.95 for examples/lander-ppo.toml; the reward threshold is 1.9.
type Lander struct{}

// LanderParams are float32 scalars in units of length and step; MaxSteps is an int32 scalar.
type LanderParams struct {
	Gravity  *graph.Array
	Thrust   *graph.Array `min:"0"` // acceleration by the main engine
	Push     *graph.Array `min:"0"` // acceleration by the side engines
	Fuel     *graph.Array `min:"0"` // cost of a step of an engine
	Pad      *graph.Array `min:"0"` // half of the pad's width
	Safe     *graph.Array `min:"0"` // largest speed of a landing
	MaxSteps *graph.Array `min:"1"`
}

// LanderState is float32 scalars, except Engines and Time.
type LanderState struct {
	X, Y, SpeedX, SpeedY *graph.Array
	Engines              *graph.Array // i32[2]: the last action
	Time                 *graph.Array // i32[]
}

// landerEdge is the largest height and distance from the pad.
const landerEdge = 1.5

// Spec of Lander-v1.
func (Lander) Spec() envs.Spec {
	return envs.Spec{ID: "Lander-v1", Observation: box(-2, 2, 4), Action: envs.MultiDiscrete{N: []int{2, 3}},
		MaxSteps: 200, RewardThreshold: 1.9}
}

// DefaultParams of Lander-v1.
func (Lander) DefaultParams() LanderParams {
	return LanderParams{Gravity: graph.Scalar(.0005), Thrust: graph.Scalar(.00125), Push: graph.Scalar(.0005),
		Fuel: graph.Scalar(.0005), Pad: graph.Scalar(.1), Safe: graph.Scalar(.01), MaxSteps: envs.Steps(200)}
}

// Reset draws the start and the speed to the side.
func (e Lander) Reset(key random.Key, p LanderParams) (LanderState, *graph.Array) {
	u := random.Uniform(key, graph.ShapeOf(graph.Float32, 2), -1, 1)
	s := LanderState{X: u.Index(0).Mul(.5), Y: graph.Scalar(1), SpeedX: u.Index(1).Mul(.005), SpeedY: graph.Scalar(0),
		Engines: graph.Int32s([]int32{0, 1}), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step moves the craft. The key is not used.
func (e Lander) Step(_ random.Key, s LanderState, action *graph.Array,
	p LanderParams) (next LanderState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	burn, side := action.Index(0).Eq(1), action.Index(1).Sub(1)
	next.SpeedX = s.SpeedX.Add(float(side).Mul(p.Push))
	next.SpeedY = s.SpeedY.Add(float(burn).Mul(p.Thrust)).Sub(p.Gravity)
	next.X, next.Y = s.X.Add(next.SpeedX), s.Y.Add(next.SpeedY)
	next.Engines = action.Convert(graph.Int32)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)

	down := next.Y.Le(0)
	slow := next.SpeedX.Abs().Max(next.SpeedY.Abs()).Le(p.Safe)
	landed := down.And(slow).And(next.X.Abs().Le(p.Pad))
	terminated = down.Or(next.X.Abs().Gt(landerEdge)).Or(next.Y.Gt(landerEdge))
	engines := float(burn).Add(float(side.Ne(0)))
	reward = s.distance().Sub(next.distance()).Sub(engines.Mul(p.Fuel))
	reward = reward.Add(graph.Select(terminated, graph.Select(landed, 1., -1.), 0.))
	return next, e.Observe(next, p), reward, terminated, truncated
}

// distance is what is left to do: distance from the pad plus 10 times speed.
func (s LanderState) distance() *graph.Array {
	norm := func(x, y *graph.Array) *graph.Array { return x.Square().Add(y.Square()).Sqrt() }
	return norm(s.X, s.Y).Add(norm(s.SpeedX, s.SpeedY).Mul(10))
}

// Observe is the position and the speed.
func (Lander) Observe(s LanderState, _ LanderParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.X, s.Y, s.SpeedX.Mul(20), s.SpeedY.Mul(20)}, 0)
}

// Draw paints the craft with its flames, and the pad of the default width.
func (e Lander) Draw(state any, size image.Point) (image.Image, error) {
	id := e.Spec().ID
	c := draw.NewCanvas(size, draw.At(-landerEdge, -.2), draw.At(landerEdge, landerEdge))
	v := draw.Scalars(c, id, state, func(s LanderState) []*graph.Array { return []*graph.Array{s.X, s.Y} })
	engines := draw.Grid(c, id, state, func(s LanderState) *graph.Array { return s.Engines }, 2)
	c.Rectangle(draw.Steel, draw.At(-2*landerEdge, -1), draw.At(2*landerEdge, 0))
	c.Rectangle(draw.Signal, draw.At(-.1, -.03), draw.At(.1, 0))
	at := func(x, y float64) draw.Point { return draw.At(v[0]+x, v[1]+y) }
	if engines[0] == 1 {
		c.Polygon(draw.Wood, at(-.03, .02), at(.03, .02), at(0, -.08))
	}
	if side := engines[1] - 1; side != 0 { // the flame is against the push
		c.Polygon(draw.Wood, at(-.05*side, .04), at(-.05*side, .08), at(-.13*side, .06))
	}
	c.Polygon(draw.Ink, at(-.07, 0), at(-.04, .03), at(.04, .03), at(.07, 0), at(.05, .1), at(-.05, .1))
	return c.Image()
}
