package faulty

import (
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

func init() { policy.MustRegister("faulty", &Policy{}) }

// Policy returns a row of a matrix.
type Policy struct {
	Fault   string `set:"fault" help:"mistake"`
	inputs  int
	outputs int
}

// Params are the parameters.
type Params struct{ W *graph.Array }

func (p *Policy) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	if fault(p.Fault).in("Make") {
		return nil, nil
	}
	n, err := policy.FlatSize(observation)
	return &Policy{p.Fault, n, outputs}, err
}

func (*Policy) Traits() (t policy.Traits[any, any]) { return t }

func (p *Policy) Init(key random.Key) any {
	if fault(p.Fault).in("Init") {
		return nil
	}
	if p.Fault == "Init: nil array" {
		return Params{}
	}
	return Params{random.Normal(key, graph.ShapeOf(graph.Float32, p.inputs, p.outputs))}
}

func (p *Policy) Start(any) any {
	if fault(p.Fault).in("Start") {
		return nil
	}
	if strings.HasPrefix(p.Fault, "Act: carry of") {
		return []*graph.Array{graph.Scalar(0), graph.Zeros(graph.ShapeOf(graph.Float32, 3))}
	}
	return graph.None{}
}

func (p *Policy) Act(params, carry any, observation *graph.Array, _ random.Key) (next any, out policy.Output) {
	if fault(p.Fault).in("Act") {
		return nil, policy.Output{}
	}
	if p.Fault == "Act: no output" {
		return carry, policy.Output{}
	}
	if p.Fault == "Act: narrow" {
		return carry, policy.Output{Action: graph.Zeros(graph.ShapeOf(graph.Float32, 1))}
	}
	if p.Fault == "Act: carry" {
		carry = graph.Scalar(1)
	}
	if leaves, is := carry.([]*graph.Array); is {
		switch p.Fault {
		case "Act: carry of another dtype":
			carry = []*graph.Array{leaves[0], leaves[1].Convert(graph.Int32)}
		case "Act: carry of another shape":
			carry = []*graph.Array{leaves[0].Reshape(1), leaves[1]}
		}
	}
	action := graph.MatMul(observation, params.(Params).W)
	if p.Fault == "Act: integers" {
		action = action.Convert(graph.Int32)
	}
	return carry, policy.Output{Action: action}
}
