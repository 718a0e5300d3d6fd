package precision

import (
	"fmt"
	"slices"
	"strings"

	"xlarun/graph"
)

// Policy is the float dtypes of parameters, computations and outputs.
type Policy struct {
	Param, Compute, Output graph.DType
}

// Full keeps, computes and returns float32.
var Full = Policy{graph.Float32, graph.Float32, graph.Float32}

// Mixed keeps and returns float32 and computes in the given dtype.
func Mixed(compute graph.DType) Policy { return Policy{graph.Float32, compute, graph.Float32} }

var dtypeNames = []struct {
	dtype graph.DType
	names []string // the first is the one printed
}{
	{graph.Float16, []string{"float16", "f16"}},
	{graph.BFloat16, []string{"bfloat16", "bf16"}},
	{graph.Float32, []string{"float32", "f32", "full"}},
	{graph.Float64, []string{"float64", "f64"}},
}

func parseDType(s string) (graph.DType, error) {
	var known []string
	for _, d := range dtypeNames {
		if slices.Contains(d.names, s) {
			return d.dtype, nil
		}
		known = append(known, d.names[0])
	}
	return 0, fmt.Errorf("got dtype %q, want one of %s", s, strings.Join(known, ", "))
}

// ParsePolicy reads "params=float32,compute=bfloat16,output=float32" (or p, c, o; any order) or one dtype for all
// three. The defaults are float32 for params, params for compute, compute for output.
func ParsePolicy(s string) (Policy, error) {
	fail := func(format string, args ...any) (Policy, error) {
		return Policy{}, fmt.Errorf("precision policy %q: %s; want params=float32,compute=bfloat16,output=float32, "+
			"or one dtype", s, fmt.Sprintf(format, args...))
	}
	if !strings.Contains(s, "=") {
		d, err := parseDType(strings.TrimSpace(s))
		if err != nil {
			return fail("%v", err)
		}
		return Policy{d, d, d}, nil
	}
	var p Policy
	fields := map[string]*graph.DType{"params": &p.Param, "p": &p.Param, "compute": &p.Compute, "c": &p.Compute,
		"output": &p.Output, "o": &p.Output}
	for _, part := range strings.Split(s, ",") {
		key, name, _ := strings.Cut(strings.TrimSpace(part), "=")
		field := fields[key]
		if field == nil {
			return fail("got key %q", key)
		}
		if *field != 0 {
			return fail("got %s twice", key)
		}
		d, err := parseDType(name)
		if err != nil {
			return fail("%s: %v", key, err)
		}
		*field = d
	}
	return p.filled(), nil
}

// filled sets missing dtypes to the defaults; the zero Policy becomes Full.
func (p Policy) filled() Policy {
	if p.Param == 0 {
		p.Param = graph.Float32
	}
	if p.Compute == 0 {
		p.Compute = p.Param
	}
	if p.Output == 0 {
		p.Output = p.Compute
	}
	return p
}

// String prints the policy as ParsePolicy reads it.
func (p Policy) String() string {
	p = p.filled()
	return fmt.Sprintf("params=%s,compute=%s,output=%s", dtypeName(p.Param), dtypeName(p.Compute), dtypeName(p.Output))
}

func dtypeName(d graph.DType) string {
	for _, n := range dtypeNames {
		if n.dtype == d {
			return n.names[0]
		}
	}
	return d.String()
}

// MarshalText prints the policy for configuration files.
func (p Policy) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText reads the policy from configuration files.
func (p *Policy) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePolicy(string(text))
	return err
}

// CastToParam converts the float leaves of a tree to the dtype of parameters.
func CastToParam[T any](p Policy, tree T) T { return Cast(p.filled().Param, tree) }

// CastToCompute converts the float leaves of a tree to the dtype of computations.
func CastToCompute[T any](p Policy, tree T) T { return Cast(p.filled().Compute, tree) }

// CastToOutput converts the float leaves of a tree to the dtype of results.
func CastToOutput[T any](p Policy, tree T) T { return Cast(p.filled().Output, tree) }

// Cast converts the float leaves of a tree to a dtype; other leaves stay.
func Cast[T any](d graph.DType, tree T) T {
	return mapFloats(tree, func(a *graph.Array) *graph.Array { return a.Convert(d) })
}

func mapFloats[T any](tree T, f func(*graph.Array) *graph.Array) T {
	return graph.MapTree(func(a *graph.Array) *graph.Array {
		if !a.DType().IsFloat() {
			return a
		}
		return f(a)
	}, tree)
}
