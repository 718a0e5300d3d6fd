package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/rollout/settings"
)

func init() {
	MustRegister("program", &ProgramSettings{}, (*ProgramSettings).traits)
}

// ProgramSettings are the settings of the policy "program".
type ProgramSettings struct {
	File   string `set:"file" args:"" wants:"a file of StableHLO, as in program:net.mlir" help:"file of StableHLO that jax.export wrote: a function of parameters and an observation"`
	Params string `set:"params" wants:"a safetensors file" help:"safetensors file of the parameters, which are the numbers that the search starts from (default the file with the program's name and the ending .safetensors)"`
	Module string `set:"module" help:"the program itself, packed: with it no file is read. Configs of runs and saved members have it"`
	SHA256 string `set:"sha256" help:"digest of the parameter file, which a run writes into its config: another file is refused. With it the file is read although there is a module"`
}

// Make reads the files and makes a Program.
func (s *ProgramSettings) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(s); err != nil {
		return nil, err
	}
	p := &Program{ProgramSettings: *s, observation: observation}
	wrong := func(format string, args ...any) error {
		return settings.Wrong("policy.file", s.File, format, args...)
	}
	var err error
	switch {
	case s.Module != "":
		if p.function, err = unpackedProgram(s.Module); err != nil {
			return nil, settings.Wrong("policy.module", s.Module, "a program as a run packs it: %s", err)
		}
		p.text = s.Module
	case s.File == "":
		return nil, wrong("a file of StableHLO, as in program:net.mlir")
	default:
		if p.function, p.text, err = readProgram(s.File); err != nil {
			return nil, wrong("a program that can be read: %s", err)
		}
	}
	if err := p.divide(); err != nil {
		return nil, wrong("%s", err)
	}
	if err := p.fits(observation, outputs); err != nil {
		return nil, wrong("%s", err)
	}
	if s.Module != "" && s.SHA256 == "" {
		return Erase(p), nil
	}
	if p.Params == "" {
		p.Params = strings.TrimSuffix(s.File, filepath.Ext(s.File)) + ".safetensors"
	}
	if err := p.readParams(); err != nil {
		return nil, settings.Wrong("policy.params", p.Params, "the safetensors file of the program's %d parameters: %s",
			len(p.names), err)
	}
	return Erase(p), nil
}

// divide finds out which inputs are parameters: those of the first argument. The last input is the observation, others
// between them are the carry.
func (p *Program) divide() error {
	inputs, labels, outputs := p.function.Inputs(), p.function.Names(), p.function.Outputs()
	if len(labels) > 1 && labels[0] == "" && labels[1] != "" && inputs[0].Equal(graph.ShapeOf(graph.Int32)) {
		return fmt.Errorf("a program for one platform: this one chooses by its first argument, export it with " +
			"platforms=['cpu']")
	}
	if slices.Contains(labels, "") {
		return fmt.Errorf("a program with the names of its arguments, as exported.mlir_module() writes it")
	}
	last := len(inputs) - 1
	n := 0
	for n < last && rootOf(labels[n]) == rootOf(labels[0]) {
		n++
	}
	if n == 0 || rootOf(labels[last]) == rootOf(labels[0]) {
		return fmt.Errorf("a function of parameters and one observation; this one takes %s", strings.Join(labels, ", "))
	}
	for i := range n {
		if !inputs[i].DType.IsFloat() {
			return fmt.Errorf("parameters that are floats: %s is %s", labels[i], inputs[i])
		}
		p.names = append(p.names, leafOf(labels[i]))
	}
	p.carry = inputs[n:last]
	if len(outputs) != len(p.carry)+1 {
		return fmt.Errorf("a function with one result, after the next carry if it has memory: this one takes %d "+
			"arrays of a carry, and returns %d arrays (one result as a tuple is fine)", len(p.carry), len(outputs))
	}
	for i, s := range p.carry {
		if !s.Equal(outputs[i]) {
			return fmt.Errorf("a function that returns its carry first: %s is %s, and result %d is %s", labels[n+i], s,
				i, outputs[i])
		}
	}
	return nil
}

// fits refuses a function for other observations or actions than the environment's.
func (p *Program) fits(observation envs.Space, outputs int) error {
	inputs, results := p.function.Inputs(), p.function.Outputs()
	takes, gives := inputs[len(inputs)-1], results[len(results)-1]
	n, err := FlatSize(observation)
	if err != nil {
		return err
	}
	if !slices.Equal(takes.Dims, observation.Shape().Dims) && !slices.Equal(takes.Dims, []int{n}) {
		hint := ""
		one := takes.Dims
		if len(one) > 0 && (slices.Equal(one[1:], observation.Shape().Dims) || slices.Equal(one[1:], []int{n})) {
			hint = ", so export it for one observation, without a batch"
		}
		flat := ""
		if len(observation.Shape().Dims) != 1 {
			flat = fmt.Sprintf(" or %s", graph.ShapeOf(takes.DType, n))
		}
		return fmt.Errorf("a program for observations of %s%s; this one takes %s%s", observation.Shape(), flat, takes,
			hint)
	}
	if !gives.DType.IsFloat() || !slices.Equal(gives.Dims, []int{outputs}) {
		return fmt.Errorf("a program with the outputs %s, which the actions take; this one returns %s",
			graph.ShapeOf(graph.Float32, outputs), gives)
	}
	return nil
}

// traits say that the number of outputs is fixed, and that there are files.
func (s *ProgramSettings) traits() MakerTraits {
	return MakerTraits{Fixed: true,
		WithoutFile: func() settings.Values {
			if s.Module == "" {
				return nil
			}
			return settings.Values{"sha256": ""}
		},
		ReadCopy: func(path string) error {
			_, err := readProgramParams(path, "")
			return err
		}}
}

// Traits say that it comes from a file.
func (p *Program) Traits() (t Traits[map[string]*graph.Array, []*graph.Array]) {
	without := settings.Values{"params": p.Params, "module": p.text, "sha256": ""}
	t.File = &File{Without: without, Kept: without.With("sha256", p.digest)}
	if f, ok := programParams.Load(p.digest); ok {
		t.File.Bytes = f.(*paramFile).bytes
	}
	return t
}
