package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("vector", &VectorSettings{Between: []float64{0, 1}})
}

// VectorSettings are the settings of the policy "vector".
type VectorSettings struct {
	Between []float64 `set:"between" args:"" wants:"the least and the greatest first parameter, LOW,HIGH" help:"least and greatest first parameter: they are drawn uniformly"`
}

// Make makes a Vector.
func (s *VectorSettings) Make(_ envs.Space, outputs int) (Policy, error) {
	if len(s.Between) != 2 || !(s.Between[0] <= s.Between[1]) {
		f, _ := settings.Lookup(s, "between")
		return nil, settings.Wrong("policy.between", f.Text(), "%s", f.Wants)
	}
	return Erase(Vector{outputs: outputs, low: float32(s.Between[0]), high: float32(s.Between[1])}), nil
}

// Vector is a policy whose outputs are its parameters, whatever it observes. It is for tasks of one step, where the
// action is the solution.
type Vector struct {
	Stateless[VectorParams]
	outputs   int
	low, high float32
}

// VectorParams are the parameters of a Vector.
type VectorParams struct{ Outputs *graph.Array } // f32[outputs]

// Traits are none.
func (v Vector) Traits() (t Traits[VectorParams, graph.None]) { return t }

// Init draws the parameters uniformly.
func (v Vector) Init(key random.Key) VectorParams {
	return VectorParams{random.Uniform(key, graph.ShapeOf(graph.Float32, v.outputs), v.low, v.high)}
}

// Act returns the parameters.
func (Vector) Act(p VectorParams, none graph.None, _ *graph.Array, _ random.Key) (graph.None, Output) {
	return none, Output{Action: p.Outputs}
}
