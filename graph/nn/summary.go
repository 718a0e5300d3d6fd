package nn

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"xlarun/graph"
)

// Count is the number of parameters in a tree, of all element types. Traced and abstract trees count too.
func Count(tree any) int {
	n := 0
	for _, a := range graph.Leaves(tree) {
		n += a.Size()
	}
	return n
}

// Bytes is the size of a tree's parameters.
func Bytes(tree any) int {
	n := 0
	for _, a := range graph.Leaves(tree) {
		n += a.Shape().Bytes()
	}
	return n
}

// Summary is a table of a tree's parameters, one a line: path, dtype, shape, number, bytes; the last line is their
// total.
func Summary(tree any) string {
	leaves, t := graph.Flatten(tree)
	rows := [][5]string{{"parameter", "dtype", "shape", "count", "bytes"}}
	for i, a := range leaves {
		dtype, dims, _ := strings.Cut(a.Shape().String(), "[")
		rows = append(rows, [5]string{strings.TrimPrefix(t.Path(i), "."), dtype, "[" + dims, fmt.Sprint(a.Size()),
			fmt.Sprint(a.Shape().Bytes())})
	}
	rows = append(rows, [5]string{"total", "", "", fmt.Sprint(Count(tree)), fmt.Sprint(Bytes(tree))})
	var widths [5]int
	for _, r := range rows {
		for i, cell := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, r := range rows {
		fmt.Fprintf(&b, "%-*s  %-*s  %-*s  %*s  %*s\n", widths[0], r[0], widths[1], r[1], widths[2], r[2], widths[3],
			r[3], widths[4], r[4])
	}
	return b.String()
}
