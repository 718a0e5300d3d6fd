package optim

import (
	"maps"
	"slices"
	"strings"

	"xlarun/graph"
)

// Partition gives each leaf the transform of its label. label maps a leaf's path and the parameter to the name of a
// transform.
//
//	optim.Partition(map[string]optim.Transform{"matrix": optim.Muon(.02), "other": optim.Adam(1e-3)}, label)
func Partition(transforms map[string]Transform, label func(path string, param *graph.Array) string) Transform {
	const op = "optim.Partition"
	if len(transforms) == 0 || label == nil {
		graph.Throw(op, "got %d transforms and a label function %v, want one transform or more and a function",
			len(transforms), label != nil)
	}
	names := slices.Sorted(maps.Keys(transforms))
	parts := make([]Transform, len(names))
	for i, name := range names {
		wantTransform("Partition", transforms[name])
		parts[i] = Masked(transforms[name], func(path string, p *graph.Array) bool {
			got := label(path, p)
			if transforms[got] == nil {
				graph.Throw(op, "leaf %s has the label %q, want one of %s", path, got, strings.Join(names, ", "))
			}
			return got == name
		})
	}
	return Chain(parts...)
}
