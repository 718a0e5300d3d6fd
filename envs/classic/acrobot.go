package classic

import (
	"image"
	"math"

	"xlarun/envs"
	"xlarun/envs/draw"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Acrobot{}) }

// Acrobot swings a double pendulum up by a torque of -1, 0 or 1 Nm (actions 0, 1, 2) on the joint between its links:
// Sutton, "Generalization in reinforcement learning" (1996), with the dynamics of Sutton and Barto's book.
//
// Observation f32[6]: cosine and sine of the first angle (0 hanging), of the second one (relative to the first), and
// the two angular velocities (rad/s). Reward -1 a step, 0 for the step that lifts the tip one link above the hinge,
// which terminates; truncated after 500 steps of 0.2 s; solved at a mean return of -100.
//
// As in gymnax 1.0.1, angles are wrapped to [-π, π), and a step is a single fourth-order Runge-Kutta step of 0.2 s.
// This is coarse at velocities near their limits, where a step amplifies rounding errors a hundredfold.
type Acrobot struct {
	// TorqueNoise is the half-width (Nm) of the uniform noise on the torque. It is not a parameter, so that steps
	// without noise, the published setting, draw no random numbers.
	TorqueNoise float64
}

// AcrobotParams are float32 scalars in SI units; MaxSteps is an int32 scalar.
type AcrobotParams struct {
	Gravity                  *graph.Array
	Torque                   *graph.Array // size of the torque of actions 0 and 2
	Dt                       *graph.Array `above:"0"` // seconds between steps
	LinkLength1              *graph.Array `above:"0"` // the second link's does not enter the dynamics
	LinkMass1, LinkMass2     *graph.Array `above:"0"`
	LinkComPos1, LinkComPos2 *graph.Array `min:"0"`   // from a link's upper end to its center of mass
	LinkMOI                  *graph.Array `above:"0"` // moment of inertia of either link
	MaxVel1, MaxVel2         *graph.Array `above:"0"` // rad/s
	MaxSteps                 *graph.Array `min:"1"`
}

// AcrobotState is float32 scalars, angles in [-π, π); Time, the steps played, is an int32 scalar.
type AcrobotState struct {
	JointAngle1, JointAngle2 *graph.Array
	Velocity1, Velocity2     *graph.Array
	Time                     *graph.Array
}

// Spec of Acrobot-v1.
func (Acrobot) Spec() envs.Spec {
	return envs.Spec{ID: "Acrobot-v1", Observation: envs.Symmetric(1, 1, 1, 1, 4*math.Pi, 9*math.Pi),
		Action: envs.Discrete{N: 3}, MaxSteps: 500, MaxReward: new(0.), RewardThreshold: -100}
}

// DefaultParams of Acrobot-v1.
func (Acrobot) DefaultParams() AcrobotParams {
	return AcrobotParams{Gravity: graph.Scalar(9.8), Torque: graph.Scalar(1), Dt: graph.Scalar(.2),
		LinkLength1: graph.Scalar(1), LinkMass1: graph.Scalar(1), LinkMass2: graph.Scalar(1),
		LinkComPos1: graph.Scalar(.5), LinkComPos2: graph.Scalar(.5), LinkMOI: graph.Scalar(1),
		MaxVel1: graph.Scalar(4 * math.Pi), MaxVel2: graph.Scalar(9 * math.Pi), MaxSteps: envs.Steps(500)}
}

// Reset draws angles and velocities from ±0.1.
func (Acrobot) Reset(key random.Key, _ AcrobotParams) (AcrobotState, *graph.Array) {
	v := graph.Unstack(random.Uniform(key, graph.ShapeOf(graph.Float32, 4), -.1, .1), 0)
	s := AcrobotState{JointAngle1: v[0], JointAngle2: v[1], Velocity1: v[2], Velocity2: v[3], Time: envs.Steps(0)}
	obs, _ := s.observe()
	return s, obs
}

// Step integrates the equations of motion by one Runge-Kutta step. The key is used for TorqueNoise only.
func (e Acrobot) Step(key random.Key, s AcrobotState, action *graph.Array,
	p AcrobotParams) (next AcrobotState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(e.Spec(), action)
	torque := p.Torque.Mul(action.Sub(1).Convert(graph.Float32))
	if e.TorqueNoise > 0 {
		torque = torque.Add(random.Uniform(key, graph.ShapeOf(graph.Float32), -e.TorqueNoise, e.TorqueNoise))
	}
	y := rungeKutta4(p.dynamics(torque), [4]*graph.Array{s.JointAngle1, s.JointAngle2, s.Velocity1, s.Velocity2}, p.Dt)
	next = AcrobotState{JointAngle1: envs.WrapAngle(y[0]), JointAngle2: envs.WrapAngle(y[1]),
		Velocity1: graph.Clamp(p.MaxVel1.Neg(), y[2], p.MaxVel1), Velocity2: graph.Clamp(p.MaxVel2.Neg(),
			y[3], p.MaxVel2)}
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	obs, height := next.observe()
	terminated = height.Gt(1)
	return next, obs, graph.Select(terminated, 0., -1.), terminated, truncated
}

// Observe is the cosines and sines of both angles and the velocities.
func (Acrobot) Observe(s AcrobotState, _ AcrobotParams) *graph.Array {
	obs, _ := s.observe()
	return obs
}

// observe returns the observation and the tip's height above the hinge, in lengths of a link.
func (s AcrobotState) observe() (obs, height *graph.Array) {
	sin1, cos1 := envs.SinCos(s.JointAngle1)
	sin2, cos2 := envs.SinCos(s.JointAngle2)
	// -cos(a1) - cos(a1+a2), by the addition theorem, which saves a cosine.
	height = sin1.Mul(sin2).Sub(cos1.Add(cos1.Mul(cos2)))
	return graph.Stack([]*graph.Array{cos1, sin1, cos2, sin2, s.Velocity1, s.Velocity2}, 0), height
}

// dynamics is the time derivative of (angle 1, angle 2, velocity 1, velocity 2) under a torque.
func (p AcrobotParams) dynamics(torque *graph.Array) func(y [4]*graph.Array) [4]*graph.Array {
	add, sub, mul, div, square := graph.Add, graph.Sub, graph.Mul, graph.Div, graph.Square
	couple := mul(p.LinkMass2, mul(p.LinkLength1, p.LinkComPos2))
	own2 := add(mul(p.LinkMass2, square(p.LinkComPos2)), p.LinkMOI)
	own1 := add(add(mul(p.LinkMass1, square(p.LinkComPos1)), mul(p.LinkMass2, square(p.LinkLength1))),
		add(own2, p.LinkMOI))
	fall1 := mul(p.Gravity, add(mul(p.LinkMass1, p.LinkComPos1), mul(p.LinkMass2, p.LinkLength1)))
	fall2 := mul(p.Gravity, mul(p.LinkMass2, p.LinkComPos2))
	return func(y [4]*graph.Array) [4]*graph.Array {
		angle1, angle2, v1, v2 := y[0], y[1], y[2], y[3]
		sin2, cos2 := envs.SinCos(angle2)
		sin1, _ := envs.SinCos(angle1)
		sin12, _ := envs.SinCos(add(angle1, angle2))
		coupleSin, coupleCos := mul(couple, sin2), mul(couple, cos2)
		d1 := add(own1, mul(coupleCos, 2))
		d2 := add(own2, coupleCos)
		phi2 := mul(fall2, sin12)
		phi1 := sub(add(mul(fall1, sin1), phi2), mul(coupleSin, mul(v2, add(v2, mul(v1, 2)))))
		ratio := div(d2, d1)
		acc2 := div(sub(add(torque, mul(ratio, phi1)), add(mul(coupleSin, square(v1)), phi2)),
			sub(own2, mul(d2, ratio)))
		acc1 := div(add(mul(d2, acc2), phi1), d1).Neg()
		return [4]*graph.Array{v1, v2, acc1, acc2}
	}
}

// rungeKutta4 is one classic step of size dt from y.
func rungeKutta4(f func([4]*graph.Array) [4]*graph.Array, y [4]*graph.Array, dt *graph.Array) [4]*graph.Array {
	along := func(y [4]*graph.Array, k [4]*graph.Array, h *graph.Array) (out [4]*graph.Array) {
		for i := range y {
			out[i] = y[i].Add(h.Mul(k[i]))
		}
		return out
	}
	half := dt.Mul(.5)
	k1 := f(y)
	k2 := f(along(y, k1, half))
	k3 := f(along(y, k2, half))
	k4 := f(along(y, k3, dt))
	var mean [4]*graph.Array
	for i := range y {
		mean[i] = k1[i].Add(k4[i]).Add(k2[i].Add(k3[i]).Mul(2))
	}
	return along(y, mean, dt.Mul(1./6))
}

// Draw paints both links and the height that the tip must reach.
func (e Acrobot) Draw(state any, size image.Point) (image.Image, error) {
	c := draw.NewCanvas(size, draw.At(-2.3, -2.3), draw.At(2.3, 2.3))
	v := draw.Scalars(c, e.Spec().ID, state, func(s AcrobotState) []*graph.Array {
		return []*graph.Array{s.JointAngle1, s.JointAngle2}
	})
	c.Line(draw.Signal, draw.At(-2.2, 1), draw.At(2.2, 1), .02)
	hinge := draw.At(0, 0)
	elbow := hinge.Polar(math.Pi-v[0], 1)
	tip := elbow.Polar(math.Pi-v[0]-v[1], 1)
	c.Line(draw.Steel, hinge, elbow, .18)
	c.Line(draw.Accent, elbow, tip, .18)
	c.Disc(draw.Ink, hinge, .06)
	c.Disc(draw.Ink, elbow, .06)
	return c.Image()
}
