package main

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy"
)

func init() { policy.MustRegister("memory", &Memory{Units: 8}) }

// Memory is a policy with a gated recurrent unit: "memory:8" on a command line.
type Memory struct {
	Units           int `set:"units" args:"" min:"1" max:"4096" help:"numbers that the memory holds"`
	observation     envs.Space
	inputs, outputs int
}

// MemoryParams are the parameters of one member.
type MemoryParams struct {
	Cell nn.GRU
	Out  nn.Dense
}

// Make makes the policy for observations of a space.
func (m *Memory) Make(observation envs.Space, outputs int) (policy.Policy, error) {
	inputs, err := policy.FlatSize(observation)
	return policy.Erase(&Memory{Units: m.Units, observation: observation, inputs: inputs, outputs: outputs}), err
}

// Traits are none.
func (*Memory) Traits() (t policy.Traits[MemoryParams, *graph.Array]) { return t }

// Init draws the parameters.
func (m *Memory) Init(key random.Key) MemoryParams {
	cell, out := random.Split2(key)
	return MemoryParams{Cell: nn.NewGRU(cell, m.inputs, m.Units), Out: nn.NewDense(out, m.Units, m.outputs)}
}

// Start is an empty memory, f32[Units].
func (*Memory) Start(p MemoryParams) *graph.Array { return p.Cell.Start() }

// Act updates the memory by the observation, and computes the action from it.
func (m *Memory) Act(p MemoryParams, memory, observation *graph.Array, _ random.Key) (*graph.Array, policy.Output) {
	memory = p.Cell.Step(memory, policy.Flat(m.observation, observation))
	return memory, policy.Output{Action: p.Out.Apply(memory)}
}
