package graph

import "strings"

// leafAxis says along which axis those leaves of an argument are mapped whose path starts with prefix.
type leafAxis struct {
	arg    int
	prefix string
	axis   int
}

// InAxesAt says along which axis one leaf of argument number arg (0 is the first), or all leaves below a path, are
// mapped; Unmapped: along none. It replaces the argument's axis from InAxes. A path is as in Tree.Path and in error
// messages: ".Hidden.W", "[2]", "[\"w1\"]". If several hold for a leaf, the longest counts.
//
//	VMap2(step, InAxesAt(0, ".Shared", Unmapped), InAxesAt(1, ".Pixels", -1))
func InAxesAt(arg int, path string, axis int) VMapOption {
	return func(c *vmapConfig) { c.at = append(c.at, leafAxis{arg, path, axis}) }
}

// leafAxes gives the axis of every leaf: the argument's, except for what InAxesAt names. paths are the leaves' in the
// slice of all arguments: "[0].W".
func (c *vmapConfig) leafAxes(tree *Tree, perArg []int, args int) []int {
	axes := make([]int, len(perArg))
	longest := make([]int, len(perArg))
	for i, arg := range perArg {
		if c.in != nil {
			axes[i] = c.in[arg]
		}
	}
	for _, l := range c.at {
		if l.arg < 0 || l.arg >= args {
			throw("VMap", "InAxesAt names argument %d of a function of %d arguments: the first is 0", l.arg, args)
		}
		found := false
		for i, arg := range perArg {
			path := tree.paths[i]
			path = path[strings.IndexByte(path, ']')+1:]
			if arg != l.arg || !below(path, l.prefix) {
				continue
			}
			found = true
			if len(l.prefix) >= longest[i] {
				axes[i], longest[i] = l.axis, len(l.prefix)
			}
		}
		if !found {
			throw("VMap", "InAxesAt names %q, but argument %d has no leaf there: it has %s", l.prefix, l.arg,
				pathsOf(tree, perArg, l.arg))
		}
	}
	return axes
}

// below reports whether a leaf's path is the given one or goes on from it.
func below(path, prefix string) bool {
	rest, ok := strings.CutPrefix(path, prefix)
	return ok && (rest == "" || prefix == "" || rest[0] == '.' || rest[0] == '[')
}

func pathsOf(tree *Tree, perArg []int, arg int) string {
	var paths []string
	for i, a := range perArg {
		if a == arg {
			paths = append(paths, tree.paths[i][strings.IndexByte(tree.paths[i], ']')+1:])
		}
	}
	return strings.Join(paths, ", ")
}
