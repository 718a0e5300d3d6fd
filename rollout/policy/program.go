package policy

import (
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/graph/stablehlo"
)

// Program is a network that JAX exported: a function of parameters, of a carry if it has memory, and of one
// observation. It returns the next carry, if there is one, and the outputs. Parameters are a map from the names in the
// parameter file to arrays. Init returns the numbers of that file, whatever the key. A carry begins as zeros.
type Program struct {
	ProgramSettings
	function    *stablehlo.Function
	names       []string // of the parameters in the file, in the function's order
	carry       []graph.Shape
	observation envs.Space
	start       map[string]*graph.Array // the numbers of the file; nil if none is read
	digest      string                  // of the parameter file
	text        string                  // of the function, packed
}

// Init returns the numbers of the parameter file, or zeros if none was read.
func (p *Program) Init(random.Key) map[string]*graph.Array {
	if p.start != nil {
		return p.start
	}
	zeros := map[string]*graph.Array{}
	for i, name := range p.names {
		zeros[name] = graph.Zeros(p.function.Inputs()[i])
	}
	return zeros
}

// Start returns a carry of zeros.
func (p *Program) Start(map[string]*graph.Array) []*graph.Array {
	carry := []*graph.Array{}
	for _, s := range p.carry {
		carry = append(carry, graph.Zeros(s))
	}
	return carry
}

// Act calls the function.
func (p *Program) Act(all map[string]*graph.Array, carry []*graph.Array, observation *graph.Array,
	_ random.Key) ([]*graph.Array, Output) {
	inputs := p.function.Inputs()
	var args []*graph.Array
	for i, name := range p.names {
		if all[name] == nil {
			graph.Throw("policy.Program", "the parameters have no array %q", name)
		}
		args = append(args, all[name].Convert(inputs[i].DType))
	}
	args = append(args, carry...)
	results := p.function.Call(append(args, p.observed(observation, inputs[len(inputs)-1]))...)
	last := len(results) - 1
	return slices.Clone(results[:last]), Output{Action: results[last]}
}

// observed returns an observation as the function takes it: as it is, or flat.
func (p *Program) observed(observation *graph.Array, takes graph.Shape) *graph.Array {
	if slices.Equal(observation.Dims(), takes.Dims) {
		return observation.Convert(takes.DType)
	}
	return Flat(p.observation, observation).Convert(takes.DType)
}

// rootOf returns the name of the argument that a leaf belongs to: "params" of "params['w'][0]".
func rootOf(label string) string {
	if i := strings.IndexAny(label, "[."); i >= 0 {
		return label[:i]
	}
	return label
}

// leafOf returns the name of a leaf as a parameter file has it: "Dense_0.kernel" of "params['Dense_0']['kernel']".
func leafOf(label string) string {
	rest := label[len(rootOf(label)):]
	rest = strings.NewReplacer("['", ".", "']", "", "[\"", ".", "\"]", "", "[", ".", "]", "").Replace(rest)
	rest = strings.TrimSuffix(strings.TrimPrefix(rest, "."), ".value") // flax's nnx.Param
	if rest == "" {
		return label
	}
	return rest
}
