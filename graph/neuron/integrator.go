package neuron

import "xlarun/graph"

// Integrator is a method of integration.
type Integrator string

const (
	// ExponentialEuler is x' = x + h·f·(exp(h·slope) - 1)/(h·slope). It is exact if a variable's equation is linear in
	// it and the other variables are constant. Where the slope is above 0 it is Euler, so that an upswing stays finite.
	ExponentialEuler Integrator = "exponential-euler"
	// RK4 is the classical method of Runge and Kutta, of fourth order.
	RK4 Integrator = "rk4"
	// Euler is x' = x + h·f.
	Euler Integrator = "euler"
)

// Integrators lists the integrators.
func Integrators() []Integrator { return []Integrator{Euler, ExponentialEuler, RK4} }

// step integrates h ms with a constant input. The empty integrator is ExponentialEuler.
func (i Integrator) step(m Model, s State, in Input, h *graph.Array) State {
	switch i {
	case Euler:
		change, _ := m.Derivative(s, in)
		return moved(s, change, h)
	case RK4:
		half := graph.Mul(.5, h)
		k1, _ := m.Derivative(s, in)
		k2, _ := m.Derivative(moved(s, k1, half), in)
		k3, _ := m.Derivative(moved(s, k2, half), in)
		k4, _ := m.Derivative(moved(s, k3, h), in)
		sum := make(State, len(s))
		for i := range s {
			sum[i] = k1[i].Add(k4[i]).Add(graph.Mul(2, k2[i].Add(k3[i])))
		}
		return moved(s, sum, h.Div(6))
	case ExponentialEuler, "":
		change, slope := m.Derivative(s, in)
		for i := range s {
			change[i] = change[i].Mul(exprel(h.Mul(slope[i].Min(0))))
		}
		return moved(s, change, h)
	}
	graph.Throw("neuron.Integrator", "got %q, want one of %q", i, Integrators())
	return nil
}

// moved is s + h·change.
func moved(s, change State, h *graph.Array) State {
	next := make(State, len(s))
	for i := range s {
		next[i] = s[i].Add(h.Mul(change[i]))
	}
	return next
}

// exprel is (exp(z) - 1)/z, 1 at 0.
func exprel(z *graph.Array) *graph.Array {
	near := z.Abs().Lt(1e-4)
	far := graph.Select(near, 1, z) // so that derivatives have no 0/0
	return graph.Select(near, graph.Add(1, graph.Mul(.5, z)), graph.Expm1(far).Div(far))
}
