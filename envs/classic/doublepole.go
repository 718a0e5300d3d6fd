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
	envs.MustRegister(DoublePole{})
	envs.MustRegister(DoublePole{Velocities: true})
}

// DoublePole balances two poles of different length on one cart by a force: the action f32[1] in [-1, 1], clipped,
// times 10 N. The equations are those of Wieland, "Evolving neural network controllers for unstable systems" (1991), as
// Gomez and Miikkulainen, "Solving non-Markovian control tasks with neuroevolution" (1999), print them, without
// friction of the cart. A step has two Runge-Kutta steps of order 4, of 10 ms each.
//
// Observation f32[3], each divided by twice its limit or nearly so: position / 4.8 and the poles' angles / 0.52. With
// Velocities, f32[6], position / 4.8, velocity / 2, angle / 0.52 and angular velocity / 2 of the long pole, and of the
// short one. Terminated if |position| > 2.4 m or an angle is beyond 36 degrees; truncated after 1,000 steps. Nothing is
// random unless Spread is above 0: the long pole starts at 4 degrees.
//
// The return is 1,000 times the fitness of Gruau, Whitley and Pyeatt (1996), which Stanley and Miikkulainen (2002) use
// for poles without velocities: 0.1 · t/1000 + 0.9 · 0.75 / Σ (|x| + |ẋ| + |θ₁| + |θ̇₁|). t is the number of steps, and
// the sum is over the last 100 of them; the second part is 0 before step 100. It asks for poles that stand still. The
// first part is paid in each step, the second at the end.
type DoublePole struct {
	Velocities bool
}

// DoublePoleParams are float32 scalars in SI units; MaxSteps is an int32 scalar.
type DoublePoleParams struct {
	Gravity        *graph.Array
	MassCart       *graph.Array `above:"0"`
	MassLong       *graph.Array `above:"0"`
	MassShort      *graph.Array `above:"0"`
	LengthLong     *graph.Array `above:"0"` // half of the pole's length
	LengthShort    *graph.Array `above:"0"`
	Friction       *graph.Array `min:"0"` // of the hinges
	ForceMag       *graph.Array // of an action of 1
	Tau            *graph.Array `above:"0"` // seconds of a Runge-Kutta step
	ThetaThreshold *graph.Array `above:"0"` // radians
	XThreshold     *graph.Array `above:"0"`
	Calm           *graph.Array `min:"0" max:"1"` // part of the fitness that asks for poles that stand still
	// Spread is how much of the ranges of the paper's test of generalization a start is drawn from: ±2.16 m and
	// ±1.35 m/s of the cart, ±3.6 degrees and ±8.6 degrees/s of the long pole. 0: no draw.
	Spread   *graph.Array `min:"0" max:"1"`
	MaxSteps *graph.Array `min:"1"`
}

// DoublePoleState is float32 scalars; Time, the steps played, is an int32 scalar.
type DoublePoleState struct {
	X, XDot, Long, LongDot, Short, ShortDot *graph.Array
	Recent                                  *graph.Array // f32[100]: |x| + |ẋ| + |θ₁| + |θ̇₁| after each recent step
	Time                                    *graph.Array
}

const (
	doublePoleTheta  = 36 * math.Pi / 180
	doublePoleRecent = 100 // steps of the second part of the fitness
)

// Spec of DoublePole-v1, or of DoublePoleVelocities-v1.
func (e DoublePole) Spec() envs.Spec {
	const free = envs.Unbounded
	spec := envs.Spec{ID: "DoublePole-v1", Observation: envs.Symmetric(free, free, free), Action: envs.Symmetric(1),
		MaxSteps: 1000}
	if e.Velocities {
		spec.ID, spec.Observation = "DoublePoleVelocities-v1", envs.Symmetric(free, free, free, free, free, free)
	}
	return spec
}

// DefaultParams are the constants of Gomez and Miikkulainen (1999).
func (DoublePole) DefaultParams() DoublePoleParams {
	return DoublePoleParams{Gravity: graph.Scalar(9.8), MassCart: graph.Scalar(1), MassLong: graph.Scalar(.1),
		MassShort: graph.Scalar(.01), LengthLong: graph.Scalar(.5), LengthShort: graph.Scalar(.05),
		Friction: graph.Scalar(2e-6), ForceMag: graph.Scalar(10), Tau: graph.Scalar(.01),
		ThetaThreshold: graph.Scalar(doublePoleTheta), XThreshold: graph.Scalar(cartPoleX), Calm: graph.Scalar(.9),
		Spread: graph.Scalar(0), MaxSteps: envs.Steps(1000)}
}

// Reset stands the cart in the middle and the long pole at 4 degrees, or draws as Spread says.
func (e DoublePole) Reset(key random.Key, p DoublePoleParams) (DoublePoleState, *graph.Array) {
	const degree = math.Pi / 180
	wide := graph.Float32s([]float32{2.16, 1.35, 3.6 * degree, 8.6 * degree})
	drawn := random.Uniform(key, graph.ShapeOf(graph.Float32, 4), -1, 1).Mul(wide).Mul(p.Spread)
	v := graph.Unstack(graph.Select(p.Spread.Gt(0), drawn, graph.Float32s([]float32{0, 0, 4 * degree, 0})), 0)
	zero := graph.ZerosLike(v[0])
	s := DoublePoleState{X: v[0], XDot: v[1], Long: v[2], LongDot: v[3], Short: zero, ShortDot: zero,
		Recent: graph.Zeros(graph.ShapeOf(graph.Float32, doublePoleRecent)), Time: envs.Steps(0)}
	return s, e.Observe(s, p)
}

// rates returns the time derivatives of position, velocity, and the angles and angular velocities.
func (p DoublePoleParams) rates(v []*graph.Array, force *graph.Array) []*graph.Array {
	type pole struct{ pull, cos, mass, half, reaction *graph.Array }
	of := func(mass, half, angle, speed *graph.Array) pole {
		sin, cos := envs.SinCos(angle)
		lever := mass.Mul(half)
		// The equations have gravity as a negative number.
		pull := p.Friction.Mul(speed).Div(lever).Sub(p.Gravity.Mul(sin))
		reaction := lever.Mul(speed.Square()).Mul(sin).Add(mass.Mul(.75).Mul(cos).Mul(pull))
		return pole{pull, cos, mass.Mul(graph.Sub(1, cos.Square().Mul(.75))), half, reaction}
	}
	long, short := of(p.MassLong, p.LengthLong, v[2], v[3]), of(p.MassShort, p.LengthShort, v[4], v[5])
	xAcc := force.Add(long.reaction).Add(short.reaction).Div(p.MassCart.Add(long.mass).Add(short.mass))
	turn := func(l pole) *graph.Array { return xAcc.Mul(l.cos).Add(l.pull).Mul(-.75).Div(l.half) }
	return []*graph.Array{v[1], xAcc, v[3], turn(long), v[5], turn(short)}
}

// Step integrates the equations of motion. The key is not used.
func (e DoublePole) Step(_ random.Key, s DoublePoleState, action *graph.Array,
	p DoublePoleParams) (next DoublePoleState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	force := graph.Clamp(-1, action.Index(0), 1).Mul(p.ForceMag)
	v := []*graph.Array{s.X, s.XDot, s.Long, s.LongDot, s.Short, s.ShortDot}
	move := func(v, rates []*graph.Array, dt *graph.Array) (moved []*graph.Array) {
		for i := range v {
			moved = append(moved, v[i].Add(rates[i].Mul(dt)))
		}
		return moved
	}
	type carry struct{ V []*graph.Array }
	v = graph.ForiLoop(0, 2, func(_ *graph.Array, c carry) carry {
		half := p.Tau.Mul(.5)
		k1 := p.rates(c.V, force)
		k2 := p.rates(move(c.V, k1, half), force)
		k3 := p.rates(move(c.V, k2, half), force)
		k4 := p.rates(move(c.V, k3, p.Tau), force)
		for i := range k1 {
			k1[i] = k1[i].Add(k2[i].Add(k3[i]).Mul(2)).Add(k4[i])
		}
		return carry{move(c.V, k1, p.Tau.Div(6))}
	}, carry{v}).V
	next = DoublePoleState{X: v[0], XDot: v[1], Long: v[2], LongDot: v[3], Short: v[4], ShortDot: v[5]}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	moves := next.X.Abs().Add(next.XDot.Abs()).Add(next.Long.Abs()).Add(next.LongDot.Abs())
	next.Recent = graph.DynamicUpdateIndex(s.Recent, moves, s.Time.Rem(doublePoleRecent), 0)
	terminated = next.X.Abs().Gt(p.XThreshold).Or(next.Long.Abs().Max(next.Short.Abs()).Gt(p.ThetaThreshold))
	ends := terminated.Or(truncated).And(next.Time.Ge(doublePoleRecent))
	still := graph.Div(750, next.Recent.Sum().Max(1e-6))
	reward = graph.Sub(1, p.Calm).Add(graph.Select(ends, still.Mul(p.Calm), 0.))
	return next, e.Observe(next, p), reward, terminated, truncated
}

// Observe is the position and the angles, and their rates with Velocities.
func (e DoublePole) Observe(s DoublePoleState, _ DoublePoleParams) *graph.Array {
	x, long, short := s.X.Div(4.8), s.Long.Div(.52), s.Short.Div(.52)
	if e.Velocities {
		return graph.Stack([]*graph.Array{x, s.XDot.Div(2), long, s.LongDot.Div(2), short, s.ShortDot.Div(2)}, 0)
	}
	return graph.Stack([]*graph.Array{x, long, short}, 0)
}

// Draw paints the cart on its track, whose ends are the limits of the default parameters, and the poles in their true
// lengths.
func (e DoublePole) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-2.8, -.7), draw.At(2.8, 1.6))
	v := draw.Scalars(c, e.Spec().ID, state, func(s DoublePoleState) []*graph.Array {
		return []*graph.Array{s.X, s.Long, s.Short}
	})
	paintCart(c, v[0], v[1], 1)
	c.Line(draw.Signal, draw.At(v[0], 0), draw.At(v[0], 0).Polar(v[2], .1), .06)
	return c.Image()
}
