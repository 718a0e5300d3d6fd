package stablehlo

import (
	"regexp"
	"strings"

	"xlarun/graph"
)

var (
	axesPattern   = regexp.MustCompile(`dim_numbers = \[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]`)
	turnedPattern = regexp.MustCompile(`reverse = \[[^\]]*(true|1)`)
	padPattern    = regexp.MustCompile(`pad = \[(\[[\[\]\d, -]*\])\]`)
	groupPattern  = regexp.MustCompile(`(batch|feature)_group_count = (\d+)`)
)

func convolution(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	axes := axesPattern.FindStringSubmatch(o.head)
	if axes == nil {
		m.refuse(o, "it has no dim_numbers")
	}
	if turnedPattern.MatchString(o.head) {
		m.refuse(o, "reverse is not known here")
	}
	spatial := x[0].Rank() - 2
	if spatial < 0 {
		m.refuse(o, "its operand is %s, want at least two axes", x[0].Shape())
	}
	options := []graph.WindowOption{graph.Layout(layout(axes[1], "b", "N", "f", "C"),
		layout(axes[2], "i", "I", "o", "O"), layout(axes[3], "b", "N", "f", "C"))}
	for _, a := range []struct {
		name   string
		option func(...int) graph.WindowOption
	}{{"stride", graph.Strides}, {"lhs_dilate", graph.BaseDilation}, {"rhs_dilate", graph.WindowDilation}} {
		if n, ok := o.list(a.name); ok {
			options = append(options, a.option(n...))
		}
	}
	pads := make([][2]int, spatial)
	if p := padPattern.FindStringSubmatch(o.head); p != nil {
		n := numbersIn(p[1])
		if len(n) != 2*spatial {
			m.refuse(o, "pad has %d numbers, want %d", len(n), 2*spatial)
		}
		for i := range pads {
			pads[i] = [2]int{n[2*i], n[2*i+1]}
		}
	}
	options = append(options, graph.Padding(pads...))
	for _, g := range groupPattern.FindAllStringSubmatch(o.head, -1) {
		if n := numbersIn(g[2])[0]; n != 1 && g[1] == "batch" {
			options = append(options, graph.BatchGroups(n))
		} else if n != 1 {
			options = append(options, graph.FeatureGroups(n))
		}
	}
	return []*graph.Array{graph.Conv(x[0], x[1], options...)}
}

// layout is the letters of axes: two of them are renamed, the numbered ones are spatial.
func layout(axes string, renames ...string) string {
	spatial := strings.NewReplacer("0", "W", "1", "X", "2", "Y", ",", "", " ", "")
	return spatial.Replace(strings.NewReplacer(renames...).Replace(axes))
}
