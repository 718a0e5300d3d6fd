package notebook

import (
	"fmt"
	"math"
	"strings"

	"xlarun/graph"
	"xlarun/internal/chart"
)

// maxRows is the largest number of rows and of columns that an array's table has.
const maxRows = 8

// Show shows a tree at a glance. Of an Array it shows the shape, the dtype, the range, the mean, how many elements are
// not finite, and the numbers: at maxRows 8 rows of 8, and a curve for a longer vector. Of another tree it shows a line
// for each of its arrays. Arrays that are traced or abstract have a shape only.
func Show(name string, tree any) {
	if !Active() {
		return
	}
	if a, ok := tree.(*graph.Array); ok && a != nil {
		HTML(arrayHTML(name, a), name+": "+a.String())
		return
	}
	leaves, structure := graph.Flatten(tree)
	columns := []string{name, "shape", "min", "mean", "max", "not finite"}
	var rows [][]string
	for i, leaf := range leaves {
		row := []string{structure.Path(i), leaf.Shape().String()}
		if s, err := summarize(leaf); err == nil {
			row = append(row, number(s.min), number(s.mean), number(s.max), fmt.Sprint(s.notFinite))
		}
		rows = append(rows, row)
	}
	HTML(tableHTML(columns, rows), tableText(columns, rows))
}

// summary is what is shown of an array.
type summary struct {
	values         []float64 // all elements, in row-major order
	min, mean, max float64   // of the finite elements; NaN if there are none
	notFinite      int       // elements that are not finite
}

// summarize reads an array that has data.
func summarize(a *graph.Array) (s summary, err error) {
	if a.IsTraced() {
		return s, fmt.Errorf("%s has no data yet", a)
	}
	t, err := graph.ToTensor(a)
	if err != nil {
		return s, err
	}
	s = summary{values: t.Floats(), min: math.Inf(1), max: math.Inf(-1)}
	for _, v := range s.values {
		if !finite(v) {
			s.notFinite++
			continue
		}
		s.min, s.max = min(s.min, v), max(s.max, v)
	}
	count := float64(len(s.values) - s.notFinite)
	if count == 0 {
		s.min, s.mean, s.max = math.NaN(), math.NaN(), math.NaN()
	}
	for _, v := range s.values {
		if finite(v) {
			s.mean += v / count // a sum of the values may overflow
		}
	}
	return s, nil
}

func arrayHTML(name string, a *graph.Array) string {
	head := fmt.Sprintf("<b>%s</b> %s", escape(name), escape(a.Shape().String()))
	s, err := summarize(a)
	if err != nil {
		return head + " " + escape(err.Error())
	}
	if len(s.values) > 1 {
		head += fmt.Sprintf(" · min %s · mean %s · max %s", number(s.min), number(s.mean), number(s.max))
	}
	if s.notFinite > 0 {
		head += fmt.Sprintf(" · <b>%d not finite</b>", s.notFinite)
	}
	if len(s.values) == 0 {
		return head + " · empty"
	}
	if dims := a.Dims(); len(dims) == 1 && dims[0] > maxRows && s.notFinite < len(s.values) {
		return head + tableHTML(nil, s.rows(dims)) + vectorSVG(s.values)
	}
	return head + tableHTML(nil, s.rows(a.Dims()))
}

// rows are the first rows and columns of the last two axes, of the first element of the other axes.
func (s summary) rows(dims []int) (rows [][]string) {
	height, width := 1, 1
	if n := len(dims); n > 0 {
		width = dims[n-1]
		if n > 1 {
			height = dims[n-2]
		}
	}
	for i := range min(height, maxRows) {
		var row []string
		for j := range min(width, maxRows) {
			row = append(row, number(s.values[i*width+j]))
		}
		if width > maxRows {
			row = append(row, "…")
		}
		rows = append(rows, row)
	}
	if height > maxRows {
		rows = append(rows, []string{"…"})
	}
	if shown := height * width; len(s.values) > shown {
		rows = append(rows, []string{fmt.Sprintf("… %d of these", len(s.values)/shown)})
	}
	return rows
}

// vectorSVG is the curve of a vector's elements. Of a long one it has the smallest and the largest finite element of
// each stretch, so that no peak is lost.
func vectorSVG(values []float64) string {
	var xs, ys []float64
	length := (len(values) + maxPoints/2 - 1) / (maxPoints / 2)
	for from := 0; from < len(values); from += length {
		part := values[from:min(from+length, len(values))]
		low, high := 0, 0
		for i, v := range part {
			if finite(v) && !(part[low] <= v) {
				low = i
			}
			if finite(v) && !(part[high] >= v) {
				high = i
			}
		}
		for _, i := range []int{min(low, high), max(low, high)} {
			xs, ys = append(xs, float64(from+i)), append(ys, part[i])
		}
	}
	c := &chart.Chart{Counts: true}
	addLine(c, "", xs, ys, 0)
	return draw(c, 130)
}

// draw returns the SVG element of a chart.
func draw(c *chart.Chart, height float64) string {
	const width = 560
	picture, err := chart.Draw(chart.Inline, width, height, []*chart.Chart{c})
	if err != nil {
		return escape(err.Error())
	}
	return "<div>" + strings.TrimSpace(string(picture)) + "</div>"
}
