package classic

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(CartPole{}) }

// CartPole balances a pole that is hinged on a cart by pushing the cart left (action 0) or right (1): Barto, Sutton
// and Anderson, "Neuronlike adaptive elements that can solve difficult learning control problems" (1983), with the
// equations of Florian, "Correct equations for the dynamics of the cart-pole system" (2007), without friction.
//
// Observation f32[4]: position (m), velocity (m/s), pole angle (rad, 0 upright), angular velocity (rad/s). Terminated
// if |position| > 2.4 or |angle| > 12 degrees; truncated after 500 steps of 20 ms; solved at a mean return of 475.
//
// As in gymnax 1.0.1, the reward is 1 for a step that starts from a state within the limits, so that the last step also
// pays. A step from a state beyond the limits gives 0; Gymnasium warns there.
type CartPole struct{}

// CartPoleParams are float32 scalars in SI units; MaxSteps is an int32 scalar.
type CartPoleParams struct {
	Gravity        *graph.Array
	MassCart       *graph.Array `above:"0"`
	MassPole       *graph.Array `above:"0"`
	Length         *graph.Array `above:"0"` // half of the pole's length
	ForceMag       *graph.Array // of a push
	Tau            *graph.Array `above:"0"` // seconds between steps
	ThetaThreshold *graph.Array `above:"0"` // radians
	XThreshold     *graph.Array `above:"0"`
	MaxSteps       *graph.Array `min:"1"`
}

// CartPoleState is float32 scalars; Time, the steps played, is an int32 scalar.
type CartPoleState struct {
	X, XDot, Theta, ThetaDot *graph.Array
	Time                     *graph.Array
}

const (
	cartPoleTheta = 12 * math.Pi / 180
	cartPoleX     = 2.4
	cartPoleSpeed = 3 // m/s: the largest mean speed in the descriptor
)

// Spec of CartPole-v1.
func (CartPole) Spec() envs.Spec {
	return envs.Spec{ID: "CartPole-v1", Observation: envs.Symmetric(2*cartPoleX, envs.Unbounded, 2*cartPoleTheta,
		envs.Unbounded), Action: envs.Discrete{N: 2},
		MaxSteps: 500, RewardThreshold: 475, MaxReward: new(1.),
		Descriptor:  envs.Positive(cartPoleX, cartPoleSpeed),
		Descriptors: []string{"mean distance from the middle (m)", "mean speed (m/s)"}}
}

// DefaultParams of CartPole-v1.
func (CartPole) DefaultParams() CartPoleParams {
	return CartPoleParams{Gravity: graph.Scalar(9.8), MassCart: graph.Scalar(1), MassPole: graph.Scalar(.1),
		Length: graph.Scalar(.5), ForceMag: graph.Scalar(10),
		Tau: graph.Scalar(.02), ThetaThreshold: graph.Scalar(cartPoleTheta), XThreshold: graph.Scalar(cartPoleX),
		MaxSteps: envs.Steps(500)}
}

// Reset draws all four numbers from ±0.05.
func (CartPole) Reset(key random.Key, _ CartPoleParams) (CartPoleState, *graph.Array) {
	obs := random.Uniform(key, graph.ShapeOf(graph.Float32, 4), -.05, .05)
	v := graph.Unstack(obs, 0)
	return CartPoleState{X: v[0], XDot: v[1], Theta: v[2], ThetaDot: v[3], Time: envs.Steps(0)}, obs
}

// Step integrates the equations of motion by one explicit Euler step. The key is not used.
func (e CartPole) Step(_ random.Key, s CartPoleState, action *graph.Array,
	p CartPoleParams) (next CartPoleState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	// Terms that contain only parameters come first: XLA folds them if parameters are constants.
	perMass := graph.Div(1, p.MassCart.Add(p.MassPole))
	push := p.ForceMag.Mul(perMass)
	lever := p.MassPole.Mul(p.Length).Mul(perMass)
	inertia := p.Length.Mul(4. / 3)

	sin, cos := envs.SinCos(s.Theta)
	leverCos := lever.Mul(cos)
	drive := graph.Select(action.Gt(0), push, push.Neg()).Add(lever.Mul(s.ThetaDot.Square().Mul(sin)))
	thetaAcc := p.Gravity.Mul(sin).Sub(cos.Mul(drive)).Div(inertia.Sub(leverCos.Mul(cos)))
	xAcc := drive.Sub(leverCos.Mul(thetaAcc))

	euler := func(x, rate *graph.Array) *graph.Array { return x.Add(p.Tau.Mul(rate)) }
	next = CartPoleState{X: euler(s.X, s.XDot), XDot: euler(s.XDot, xAcc), Theta: euler(s.Theta, s.ThetaDot),
		ThetaDot: euler(s.ThetaDot, thetaAcc)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, e.Observe(next, p), graph.Select(s.fallen(p), 0., 1.), next.fallen(p), truncated
}

// Observe stacks the four numbers of the state.
func (CartPole) Observe(s CartPoleState, _ CartPoleParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.X, s.XDot, s.Theta, s.ThetaDot}, 0)
}

// DescribeStep is the cart's distance from the middle and its speed before the step.
func (CartPole) DescribeStep(s, _ CartPoleState, _ *graph.Array, _ CartPoleParams) *graph.Array {
	return graph.Stack([]*graph.Array{s.X.Abs(), s.XDot.Abs()}, 0)
}

// fallen reports whether the state is beyond the limits.
func (s CartPoleState) fallen(p CartPoleParams) *graph.Array {
	return s.X.Abs().Gt(p.XThreshold).Or(s.Theta.Abs().Gt(p.ThetaThreshold))
}

// Draw paints the cart on its track, whose ends are the limits of the default parameters, and the pole in its true
// length.
func (e CartPole) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-2.8, -.7), draw.At(2.8, 1.6))
	v := draw.Scalars(c, e.Spec().ID, state, func(s CartPoleState) []*graph.Array {
		return []*graph.Array{s.X, s.Theta}
	})
	paintCart(c, v[0], v[1], 1)
	return c.Image()
}

// paintCart paints a cart at x on its track, and a pole at a clockwise angle from upright.
func paintCart(c *draw.Canvas, x, theta, length float64) {
	c.Line(draw.Steel, draw.At(-cartPoleX, -.25), draw.At(cartPoleX, -.25), .03)
	for _, end := range []float64{-cartPoleX, cartPoleX} {
		c.Line(draw.Signal, draw.At(end, -.35), draw.At(end, -.15), .03)
	}
	hinge := draw.At(x, 0)
	c.Rectangle(draw.Ink, draw.At(x-.3, -.17), draw.At(x+.3, .05))
	for _, wheel := range []float64{-.18, .18} {
		c.Disc(draw.Ink, draw.At(x+wheel, -.17), .08)
		c.Disc(draw.Paper, draw.At(x+wheel, -.17), .03)
	}
	c.Line(draw.Wood, hinge, hinge.Polar(theta, length), .1)
	c.Disc(draw.Accent, hinge, .04)
}
