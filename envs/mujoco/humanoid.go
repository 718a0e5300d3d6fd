package mujoco

import (
	"slices"

	"xlarun/envs"
	"xlarun/envs/bodies"
	"xlarun/envs/draw"
	"xlarun/graph"
)

func init() { register(Humanoid) }

// humanoidFlags are the parts of both humanoids' observation.
var humanoidFlags = []Flag{exclude, {"include-cinert-in-observation", true}, {"include-cvel-in-observation", true},
	{"include-qfrc-actuator-in-observation", true}, {"include-cfrc-ext-in-observation", true}}

// humanoidFrames are what they observe of the last evaluation.
const humanoidFrames = bodies.Places | bodies.Momenta | bodies.Contacts | bodies.JointForce

func humanoidObservation(t Task, s State) []*graph.Array {
	f := s.Frames
	parts := append(joints(2, 0)(t, s), t.seen("include-cinert-in-observation", f.Inertia)...)
	parts = append(parts, t.seen("include-cvel-in-observation", f.Velocity)...)
	if t.on("include-qfrc-actuator-in-observation") {
		parts = append(parts, cut(f.Actuator, 6, f.Actuator.Dim(0)))
	}
	return append(parts, t.seen("include-cfrc-ext-in-observation", f.Force)...)
}

func humanoidWidth(t Task) int {
	n := jointsWidth(2)(t) + t.seenWidth("include-cinert-in-observation", 10) +
		t.seenWidth("include-cvel-in-observation", 6) + t.seenWidth("include-cfrc-ext-in-observation", 6)
	if t.on("include-qfrc-actuator-in-observation") {
		_, nv, _ := t.Model().Sizes()
		n += nv - 6
	}
	return n
}

// Humanoid-v5 walks to the right on two legs, driven by 17 torques within ±0.4.
//
// Observation f32[348]: positions without x and y, velocities, and of the last evaluation each body's inertia and
// velocity about the centre of mass, the joints' actuator forces, and the torques and forces of contacts. Reward: 1.25
// of the speed of the centre of mass along x, and 5 for a healthy state. Costs: 0.1 of the sum of squared controls, and
// 5e-7 of that of contact forces, at most 10. A state is unhealthy, and ends the episode, where the height is not
// between 1 and 2 m. MuJoCo's model asks for a solver that stops after 50 iterations; here, contacts are solved to the
// end.
var Humanoid = Task{ID: "Humanoid-v5", Model: model("humanoid.xml"), Engine: 4, FrameSkip: 5, MaxSteps: 1000,
	Flags: append(slices.Clone(humanoidFlags), omniFlag), Frames: humanoidFrames, Start: noise(false),
	Params: Params{ForwardRewardWeight: graph.Scalar(1.25), CtrlCostWeight: graph.Scalar(.1),
		ContactCostWeight: graph.Scalar(5e-7), ContactCostMin: graph.Scalar(-envs.Unbounded),
		ContactCostMax: graph.Scalar(10), HealthyReward: graph.Scalar(5), TerminateWhenUnhealthy: graph.Scalar(1),
		HealthyZMin: graph.Scalar(1), HealthyZMax: graph.Scalar(2), ResetNoiseScale: graph.Scalar(.01)},
	Observation: humanoidObservation, Width: humanoidWidth,
	Feet: []string{"right_foot", "left_foot"}, View: [2]draw.Point{draw.At(-1.2, -.2), draw.At(1.2, 1.8)},
	Reward: func(x Transition) (reward, terminated *graph.Array) {
		p := x.Params
		reward, terminated = x.alive(between(p.HealthyZMin, x.After.Data.Q.Index(2), p.HealthyZMax))
		speed := x.moved(x.Task.centre(x.After), x.Task.centre(x.Before)).Mul(p.ForwardRewardWeight)
		contact := x.After.Frames.Force.Square().Sum().Mul(p.ContactCostWeight)
		contact = graph.Clamp(p.ContactCostMin, contact, p.ContactCostMax)
		return speed.Add(reward).Sub(x.effort()).Sub(contact), terminated
	}}

// centre is the centre of mass.
func (t Task) centre(s State) *graph.Array {
	var masses []float64
	total := 0.0
	for _, b := range t.Model().Bodies {
		masses = append(masses, b.Mass)
		total += b.Mass
	}
	for i := range masses {
		masses[i] /= total
	}
	return graph.MatMul(graph.Of(masses).Convert(graph.Float32), s.Frames.Com)
}
