// Package stablehlo reads functions that JAX exported as StableHLO, and makes functions of arrays from them. Such a
// function works under graph.VMap, Scan, Grad and Jit, because its ops are recorded one by one.
//
//	exported = jax.export.export(jax.jit(f))(params, x)
//	open("net.mlir", "w").write(exported.mlir_module())
//
// The other forms of a module are read, too: exported.mlir_module_serialized and exported.serialize().
//
//	f, err := stablehlo.Read("net.mlir")
//	net := stablehlo.As[Args](f, graph.Scalar(0)) // Args is a struct{ Params Net; X *graph.Array }
//	y := graph.VMap(net)(args)
//
// It knows ops of the specification (openxla.org/stablehlo/spec), in the form that JAX prints and in MLIR's generic
// form, which lower.Export writes. An op or a form that is not known is an error with its name and line. JAX turns a
// scan into a while loop with a counter; such loops become graph.Scan again, so they have gradients.
package stablehlo

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"xlarun/graph"
	"xlarun/graph/stablehlo/bytecode"
)

// Function is the function main of a module.
type Function struct {
	name      string
	functions map[string]*function
}

// Read reads a file that jax.export wrote: StableHLO text of mlir_module, bytecode of mlir_module_serialized, or the
// file of serialize. The function is traced once, so a Function that Read returns can be called.
func Read(path string) (*Function, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, err := Text(path, file)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Text is the StableHLO text of a file that Read can read. Text is returned as it is, bytecode is translated. name
// stands in errors.
func Text(name string, file []byte) (string, error) {
	_, exported := bytecode.Exported(file)
	if !exported && !bytecode.Is(file) {
		return string(file), nil
	}
	text, err := bytecode.Text(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// Parse is Read from a text. name stands in errors.
func Parse(name, text string) (*Function, error) {
	functions, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	if functions["main"] == nil {
		return nil, fmt.Errorf("%s has no function @main: write exported.mlir_module() of jax.export", name)
	}
	f := &Function{name: name, functions: functions}
	inputs := f.Inputs()
	args := make([]any, len(inputs))
	for i, s := range inputs {
		args[i] = graph.Abstract(s)
	}
	if len(args) == 0 {
		return f, graph.Try(func() { f.Call() })
	}
	_, err = graph.TraceArgs("main", args, graph.TraceOptions{}, func(args []any) any {
		arrays := make([]*graph.Array, len(args))
		for i, a := range args {
			arrays[i] = a.(*graph.Array)
		}
		return f.Call(arrays...)
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Inputs are the shapes of the arguments' leaves, in JAX's order.
func (f *Function) Inputs() []graph.Shape {
	var shapes []graph.Shape
	for _, p := range f.functions["main"].params {
		shapes = append(shapes, p.shape)
	}
	return shapes
}

// Names are JAX's names of the arguments' leaves, such as "params['w']", in JAX's order; "" where the file has none.
func (f *Function) Names() []string {
	var names []string
	for _, p := range f.functions["main"].params {
		names = append(names, p.label)
	}
	return names
}

// Outputs are the shapes of the results' leaves, in JAX's order.
func (f *Function) Outputs() []graph.Shape { return slices.Clone(f.functions["main"].results) }

// Call computes the results from the arguments' leaves. Other shapes than those of Inputs are refused.
func (f *Function) Call(args ...*graph.Array) []*graph.Array {
	inputs := f.Inputs()
	if len(args) != len(inputs) {
		graph.Throw("stablehlo", "%s: got %d arrays, want %d", f.name, len(args), len(inputs))
	}
	for i, a := range args {
		if !a.Shape().Equal(inputs[i]) {
			graph.Throw("stablehlo", "%s: input %d (%s): got %s, want %s", f.name, i,
				f.functions["main"].params[i].name, a.Shape(), inputs[i])
		}
	}
	m := &importer{file: f.name, functions: f.functions, factors: map[*graph.Array]*graph.Array{}}
	return m.call(f.functions["main"], args)
}

// As makes a function on trees. The leaves of its argument stand in the order of JAX's arguments: the fields of a
// struct as the elements of a tuple, the keys of a dictionary sorted. like is a tree with the structure of the result.
// Its leaves may be any arrays.
func As[A, R any](f *Function, like R) func(A) R {
	_, structure := graph.Flatten(like)
	return func(a A) R { return structure.Unflatten(f.Call(graph.Leaves(a)...)).(R) }
}

// plainLocation is a location that is a name, as arguments have it, and no place in the source.
var plainLocation = regexp.MustCompile(`^#\w+ = loc\("(?:[^"\\]|\\.)*"\)$`)

// Compact returns StableHLO text without places in the source. Names of arguments stay.
func Compact(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#") && !plainLocation.MatchString(line):
			continue
		case !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "func.func"):
			line = strings.TrimSpace(withoutLocations(line))
		}
		if line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
