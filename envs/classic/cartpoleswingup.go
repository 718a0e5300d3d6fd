package classic

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() {
	envs.MustRegister(CartPoleSwingUp{})
	envs.MustRegister(CartPoleSwingUp{Hard: true})
}

// CartPoleSwingUp swings up the hanging pole of a cart, and balances it, by a force on the cart: the action f32[1] in
// [-1, 1], clipped, times 10 N. The dynamics, with friction of the cart, are from Gal, McAllister and Rasmussen,
// "Improving PILCO with Bayesian neural network dynamics models" (2016). Constants, reward and the starts easy and hard
// are from CartPoleSwingUp in EvoJAX (Tang, Tian and Ha, 2022).
//
// Observation f32[5]: position (m), velocity, cosine and sine of the pole's angle (0 upright), angular velocity
// (rad/s). A step of 10 ms pays (cos(angle) + 1) / 2 · cos(π / 2 · position / 2.4) of the state after it, so that 1,000
// steps pay less than 1,000. Terminated if |position| > 2.4; truncated after 1,000 steps. There is no reward threshold.
//
// Easy starts near the middle with the pole hanging nearly still. Hard starts anywhere on the track, with velocities up
// to 10 m/s and 10 rad/s and angles up to a quarter turn from hanging.
type CartPoleSwingUp struct {
	Hard bool
}

// CartPoleSwingUpParams are float32 scalars in SI units; MaxSteps is an int32 scalar.
type CartPoleSwingUpParams struct {
	Gravity  *graph.Array
	MassCart *graph.Array `above:"0"`
	MassPole *graph.Array `above:"0"`
	Length   *graph.Array `above:"0"` // of the pole
	Friction *graph.Array `min:"0"`   // force per velocity
	ForceMag *graph.Array // of an action of 1
	Tau      *graph.Array `above:"0"` // seconds between steps
	XLimit   *graph.Array `above:"0"`
	MaxSteps *graph.Array `min:"1"`
}

// CartPoleSwingUpState is float32 scalars; Time, the steps played, is an int32 scalar.
type CartPoleSwingUpState struct {
	X, XDot, Theta, ThetaDot *graph.Array
	Time                     *graph.Array
}

// Spec of CartPoleSwingUp-Easy-v1 or CartPoleSwingUp-Hard-v1.
func (e CartPoleSwingUp) Spec() envs.Spec {
	id := "CartPoleSwingUp-Easy-v1"
	if e.Hard {
		id = "CartPoleSwingUp-Hard-v1"
	}
	free := envs.Unbounded
	return envs.Spec{ID: id, Observation: envs.Symmetric(free, free, 1, 1, free), Action: envs.Symmetric(1),
		MaxSteps: 1000, MaxReward: new(1.)}
}

// DefaultParams are the constants of EvoJAX.
func (CartPoleSwingUp) DefaultParams() CartPoleSwingUpParams {
	return CartPoleSwingUpParams{Gravity: graph.Scalar(9.82), MassCart: graph.Scalar(.5), MassPole: graph.Scalar(.5),
		Length: graph.Scalar(.6), Friction: graph.Scalar(.1),
		ForceMag: graph.Scalar(10), Tau: graph.Scalar(.01), XLimit: graph.Scalar(cartPoleX), MaxSteps: envs.Steps(1000)}
}

// Reset draws all four numbers: easy from the normal distribution with deviation 0.2, hard uniformly.
func (e CartPoleSwingUp) Reset(key random.Key, p CartPoleSwingUpParams) (CartPoleSwingUpState, *graph.Array) {
	four := graph.ShapeOf(graph.Float32, 4)
	hanging := graph.Float32s([]float32{0, 0, math.Pi, 0})
	var start *graph.Array
	if e.Hard {
		start = random.Uniform(key, four, -1, 1).Mul(graph.Float32s([]float32{cartPoleX, 10, math.Pi / 2, 10}))
	} else {
		start = random.Normal(key, four).Mul(.2)
	}
	v := graph.Unstack(start.Add(hanging), 0)
	s := CartPoleSwingUpState{X: v[0], XDot: v[1], Theta: v[2], ThetaDot: v[3], Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// Step integrates the equations of motion by one explicit Euler step. The key is not used.
func (e CartPoleSwingUp) Step(_ random.Key, s CartPoleSwingUpState, action *graph.Array,
	p CartPoleSwingUpParams) (next CartPoleSwingUpState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	mass := p.MassCart.Add(p.MassPole)
	lever := p.MassPole.Mul(p.Length)
	sin, cos := envs.SinCos(s.Theta)
	force := graph.Clamp(-1, action.Index(0), 1).Mul(p.ForceMag).Sub(p.Friction.Mul(s.XDot))
	swing := lever.Mul(s.ThetaDot.Square()).Mul(sin)
	// Both accelerations have the same denominator.
	rest := graph.Mul(4, mass).Sub(graph.Mul(3, p.MassPole).Mul(cos.Square()))
	weight := p.Gravity.Mul(sin)
	xAcc := graph.Mul(-2, swing).Add(graph.Mul(3, p.MassPole).Mul(weight.Mul(cos)).Add(graph.Mul(4, force))).Div(rest)
	thetaAcc := graph.Mul(-3, swing.Mul(cos)).Add(graph.Mul(6, mass.Mul(weight).Add(force.Mul(cos)))).Div(
		p.Length.Mul(rest))

	euler := func(x, rate *graph.Array) *graph.Array { return x.Add(p.Tau.Mul(rate)) }
	next = CartPoleSwingUpState{X: euler(s.X, s.XDot), XDot: euler(s.XDot, xAcc), Theta: euler(s.Theta, s.ThetaDot),
		ThetaDot: euler(s.ThetaDot, thetaAcc)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	_, up := envs.SinCos(next.Theta)
	_, central := envs.SinCos(graph.Mul(math.Pi/2, next.X.Div(p.XLimit)))
	reward = up.Add(1).Mul(.5).Mul(central)
	return next, e.Observe(next, p), reward, next.X.Abs().Gt(p.XLimit), truncated
}

// Observe is the state, the angle as cosine and sine.
func (CartPoleSwingUp) Observe(s CartPoleSwingUpState, _ CartPoleSwingUpParams) *graph.Array {
	sin, cos := envs.SinCos(s.Theta)
	return graph.Stack([]*graph.Array{s.X, s.XDot, cos, sin, s.ThetaDot}, 0)
}

// Draw paints the cart on its track, whose ends are the limits of the default parameters, and the pole in its true
// length.
func (e CartPoleSwingUp) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-2.8, -1), draw.At(2.8, 1))
	v := draw.Scalars(c, e.Spec().ID, state, func(s CartPoleSwingUpState) []*graph.Array {
		return []*graph.Array{s.X, s.Theta}
	})
	// Positive angles turn against the clock, as an upright pole does when the cart is pushed to the right.
	paintCart(c, v[0], -v[1], .6)
	return c.Image()
}
