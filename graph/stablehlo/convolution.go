package stablehlo

import (
	"regexp"
	"slices"
	"strings"

	"xlarun/graph"
)

var (
	axesPattern  = regexp.MustCompile(`\[([^\]]*)\]x\[([^\]]*)\]->\[([^\]]*)\]`)
	truthPattern = regexp.MustCompile(`\b(?:true|false|1|0)\b`)
)

func convolution(m *importer, o *op, s *scope) []*graph.Array {
	x := m.exactly(o, s, 2)
	axes := axesPattern.FindStringSubmatch(o.head)
	if axes == nil {
		m.refuse(o, "it has no dim_numbers")
	}
	spatial := x[0].Rank() - 2
	if spatial < 0 || spatial > mostSpatial {
		m.refuse(o, "its operand is %s, want from two to %d axes", x[0].Shape(), mostSpatial+2)
	}
	// The file counts spatial axes; graph.Conv reads its options in the order of the kernel.
	order := numbersIn(axes[2])
	if len(order) != spatial {
		m.refuse(o, "its kernel has %d spatial axes, want %d", len(order), spatial)
	}
	inOrder := func(name string, numbers []int, each int) []int {
		if len(numbers) != each*spatial {
			m.refuse(o, "%s has %d numbers, want %d", name, len(numbers), each*spatial)
		}
		var ordered []int
		for _, axis := range order {
			if axis < 0 || axis >= spatial {
				m.refuse(o, "its kernel has a spatial axis %d of %d", axis, spatial)
			}
			ordered = append(ordered, numbers[each*axis:each*(axis+1)]...)
		}
		return ordered
	}
	options := []graph.WindowOption{graph.Layout(layout(axes[1], "b", "N", "f", "C"),
		layout(axes[2], "i", "I", "o", "O"), layout(axes[3], "b", "N", "f", "C"))}
	for _, a := range []struct {
		name   string
		option func(...int) graph.WindowOption
	}{{"stride", graph.Strides}, {"lhs_dilate", graph.BaseDilation}, {"rhs_dilate", graph.WindowDilation}} {
		if n, ok := o.list(a.name); ok {
			options = append(options, a.option(inOrder(a.name, n, 1)...))
		}
	}
	pads := make([][2]int, spatial)
	if n, ok := o.list("pad"); ok {
		n = inOrder("pad", n, 2)
		for i := range pads {
			pads[i] = [2]int{n[2*i], n[2*i+1]}
		}
	}
	options = append(options, graph.Padding(pads...))
	for name, option := range map[string]func(int) graph.WindowOption{"batch_group_count": graph.BatchGroups,
		"feature_group_count": graph.FeatureGroups} {
		if n := m.scalar(o, name); n != 1 {
			options = append(options, option(n))
		}
	}
	if text, ok := o.attribute("reverse"); ok {
		literal, _, _ := strings.Cut(text, " : ")
		words := truthPattern.FindAllString(literal, -1)
		if len(words) == 1 {
			words = slices.Repeat(words, spatial)
		}
		if len(words) != spatial {
			m.refuse(o, "reverse = %s: want true or false for each of %d spatial axes", short(text), spatial)
		}
		var flipped []int
		for i, word := range words {
			if word == "true" || word == "1" {
				flipped = append(flipped, strings.Index(layout(axes[2]), spatialLetters[i:i+1]))
			}
		}
		if len(flipped) > 0 {
			x[1] = graph.Reverse(x[1], flipped...)
		}
	}
	d := m.result(o).DType
	return []*graph.Array{graph.Conv(x[0].Convert(d), x[1].Convert(d), options...)}
}

// spatialLetters are graph.Conv's names of the spatial axes.
const spatialLetters, mostSpatial = "WXY", 3

// layout is the letters of axes: two of them are renamed, the numbered ones are spatial.
func layout(axes string, renames ...string) string {
	spatial := strings.NewReplacer("0", "W", "1", "X", "2", "Y", ",", "", " ", "")
	return spatial.Replace(strings.NewReplacer(renames...).Replace(axes))
}
