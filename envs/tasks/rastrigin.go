package tasks

import (
	"math"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(Rastrigin{size{"dimensions", 100}}) }

// Rastrigin is minus Rastrigin's function of the action x, f32[dimensions]: -Σ (10 + x² - 10·cos 2πx), which is 0 at 0
// and has a local maximum near each whole number. The descriptor is the first two elements of x, within ±5.12.
type Rastrigin struct{ size }

const rastriginBound = 5.12

// Spec of Rastrigin-v0.
func (r Rastrigin) Spec() envs.Spec {
	return envs.Spec{ID: "Rastrigin-v0", Observation: envs.Symmetric(1), Action: r.action(), MaxSteps: 1,
		Descriptor: envs.Symmetric(rastriginBound, rastriginBound), Descriptors: []string{"x₁", "x₂"}}
}

// Resize returns the function of another number of dimensions.
func (r Rastrigin) Resize(name string, value int) (envs.Environment, error) {
	s, err := r.resized(name, value)
	return envs.Erase[State, Params](Rastrigin{s}), err
}

// Reset has no choice.
func (Rastrigin) Reset(random.Key, Params) (State, *graph.Array) {
	return State{envs.Steps(0), graph.Float32s([]float32{0, 0})}, nothing()
}

// Step evaluates the function.
func (r Rastrigin) Step(_ random.Key, s State, x *graph.Array,
	p Params) (next State, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(r.Spec(), x)
	next.Descriptor = graph.Clamp(-rastriginBound, graph.SliceAxis(x, 0, 0, 2), rastriginBound)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, nothing(), rastrigin(x).Neg(), envs.True(), truncated
}

// Describe is the descriptor of the action.
func (Rastrigin) Describe(s State, _ Params) *graph.Array { return s.Descriptor }

// Observe is 0: there is nothing to see.
func (Rastrigin) Observe(State, Params) *graph.Array { return nothing() }

// rastrigin is Σ (10 + x² - 10·cos 2πx).
func rastrigin(x *graph.Array) *graph.Array {
	return x.Square().Sub(x.Mul(float32(2 * math.Pi)).Cos().Mul(10)).Add(10).Sum()
}
