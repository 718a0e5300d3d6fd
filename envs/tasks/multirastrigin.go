package tasks

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

func init() { envs.MustRegister(MultiRastrigin{size{"dimensions", 100}}) }

// MultiRastrigin has two objectives, with which QDax 0.5.0 shows multi-objective MAP-Elites: minus Rastrigin's function
// of the action x, f32[dimensions], and of x - 2.2. The reward is their mean. The descriptor is the first two elements
// of x, from -2 to 4.
type MultiRastrigin struct{ size }

// The bounds of MultiRastrigin's descriptor, and the minimum of its second objective.
const (
	multiLow   = -2
	multiHigh  = 4
	multiShift = 2.2
)

// MultiState is the state of MultiRastrigin.
type MultiState struct {
	Time       *graph.Array // i32[]: steps played
	Descriptor *graph.Array // f32[2]: of the last action
	Objectives *graph.Array // f32[2]: of the last action; 0 before the first step
}

// Spec of MultiRastrigin-v0.
func (r MultiRastrigin) Spec() envs.Spec {
	space := envs.Box{Low: []float64{multiLow}, High: []float64{multiHigh}, Dims: []int{2}, DType: graph.Float32}
	return envs.Spec{ID: "MultiRastrigin-v0", Observation: envs.Symmetric(1), Action: r.action(), MaxSteps: 1,
		Descriptor: space, Descriptors: []string{"x₁", "x₂"}, Objectives: []string{"at_0", "at_2.2"}}
}

// Resize returns the functions of another number of dimensions.
func (r MultiRastrigin) Resize(name string, value int) (envs.Environment, error) {
	s, err := r.resized(name, value)
	return envs.Erase[MultiState, Params](MultiRastrigin{s}), err
}

// Reset has no choice.
func (MultiRastrigin) Reset(random.Key, Params) (MultiState, *graph.Array) {
	zero := graph.Float32s([]float32{0, 0})
	return MultiState{envs.Steps(0), zero, zero}, nothing()
}

// Observe is 0: there is nothing to see.
func (MultiRastrigin) Observe(MultiState, Params) *graph.Array { return nothing() }

// Step evaluates the functions.
func (r MultiRastrigin) Step(_ random.Key, s MultiState, x *graph.Array,
	p Params) (next MultiState, obs, reward, terminated, truncated *graph.Array) {
	envs.CheckAction(r.Spec(), x)
	next.Objectives = graph.Stack([]*graph.Array{rastrigin(x).Neg(), rastrigin(x.Sub(multiShift)).Neg()}, 0)
	next.Descriptor = graph.Clamp(multiLow, graph.SliceAxis(x, 0, 0, 2), multiHigh)
	next.Time, truncated = envs.Tick(s.Time, p.MaxSteps)
	return next, nothing(), next.Objectives.Mean(), envs.True(), truncated
}

// Describe is the descriptor of the action.
func (MultiRastrigin) Describe(s MultiState, _ Params) *graph.Array { return s.Descriptor }

// Objectives are the functions of the action.
func (MultiRastrigin) Objectives(s MultiState, _ Params) *graph.Array { return s.Objectives }
