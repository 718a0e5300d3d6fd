package chart

import (
	"image/color"
	"strings"
)

// Chart is a set of marks with axes, a title (of any number of lines) and a legend above the marks.
type Chart struct {
	Title, XLabel, YLabel string
	X, Y                  *Range // the ranges of the axes; nil means all marks
	Counts                bool   // X counts something: its ticks are whole numbers
	marks                 []Mark
	legend                []entry
}

type entry struct {
	text string
	mark Mark
}

// Add puts a mark above those added before.
func (c *Chart) Add(m Mark) { c.marks = append(c.marks, m) }

// Legend names a mark.
func (c *Chart) Legend(text string, m Mark) { c.legend = append(c.legend, entry{text, m}) }

// Distances of the layout, in pixels.
const (
	margin     = 8.  // around a chart
	lineHeight = 18. // of a line of text
	inset      = 6.  // between an axis and the outermost mark
	tickLength = 4.
	entryGap   = 16. // between two entries of the legend
)

var gridColor, axisColor = color.NRGBA{225, 225, 225, 255}, color.NRGBA{120, 120, 120, 255}

// Draw draws rows of charts in one of Formats. All rows have equally many charts. width and height are the size of the
// picture in pixels of 1/96 inch; the legends add to its height.
func Draw(format string, width, height float64, rows ...[]*Chart) ([]byte, error) {
	columns := len(rows[0])
	cell := Point{width / float64(columns), height / float64(len(rows))}
	left := make([]float64, columns) // distance from the edge of a cell to its vertical axis
	total := 0.
	for _, row := range rows {
		for i, c := range row {
			left[i] = max(left[i], c.leftOf(cell.Y))
		}
		total += cell.Y + legendHeight(row, cell.X)
	}
	out, err := newCanvas(format, width, total)
	if err != nil {
		return nil, err
	}
	top := 0.
	for _, row := range rows {
		legend := legendHeight(row, cell.X)
		for i, c := range row {
			c.draw(out, Point{float64(i) * cell.X, top}, Point{cell.X, cell.Y + legend}, left[i], legend)
		}
		top += cell.Y + legend
	}
	return out.encode()
}

// ranges returns the ranges of the axes.
func (c *Chart) ranges() (x, y Range) {
	x, y = empty, empty
	for _, m := range c.marks {
		m.extend(&x, &y)
	}
	if c.X != nil {
		x = *c.X
	}
	if c.Y != nil {
		y = *c.Y
	}
	return x.usable(), y.usable()
}

// areaHeight returns the height of the marks in a cell without a legend.
func (c *Chart) areaHeight(cell float64) float64 {
	lines := 1. // the labels of the ticks
	for _, text := range []string{c.Title, c.XLabel} {
		if text != "" {
			lines += 1 + float64(strings.Count(text, "\n"))
		}
	}
	return cell - 2*margin - tickLength - lines*lineHeight
}

func (c *Chart) yTicks(cell float64) []tick {
	_, y := c.ranges()
	return y.ticks(int(c.areaHeight(cell)/30), false)
}

// leftOf returns the width of the labels on the left.
func (c *Chart) leftOf(cell float64) float64 {
	widest := 0.
	for _, t := range c.yTicks(cell) {
		widest = max(widest, textWidth(t.text))
	}
	if c.YLabel != "" {
		widest += lineHeight
	}
	return margin + widest + 2*tickLength
}

// fitted shortens a text in its middle to a width.
func fitted(text string, width float64) string {
	runes := []rune(text)
	for cut := 1; cut < len(runes) && textWidth(text) > width; cut++ {
		start := (len(runes) - cut) / 2
		text = string(runes[:start]) + "…" + string(runes[start+cut:])
	}
	return text
}

// legendLines breaks the legend into lines of a width. A text that is wider is shortened.
func (c *Chart) legendLines(width float64) (lines [][]entry) {
	room := 0.
	for _, e := range c.legend {
		e.text = fitted(e.text, width-2*margin-sampleWidth-6)
		wide := sampleWidth + 6 + textWidth(e.text)
		if room -= wide; room < 0 || len(lines) == 0 {
			lines, room = append(lines, nil), width-2*margin-wide
		}
		room -= entryGap
		lines[len(lines)-1] = append(lines[len(lines)-1], e)
	}
	return lines
}

func legendHeight(row []*Chart, width float64) (height float64) {
	for _, c := range row {
		height = max(height, lineHeight*float64(len(c.legendLines(width))))
	}
	return height
}

// draw draws the chart into a cell of the canvas. left is the distance to its vertical axis, legend the height of the
// legend.
func (c *Chart) draw(out canvas, corner, cell Point, left, legend float64) {
	low := Point{corner.X + left, corner.Y + cell.Y - margin} // the corner where the axes meet
	high := Point{corner.X + cell.X - margin - inset, low.Y}
	low.Y -= lineHeight + tickLength
	if c.XLabel != "" {
		low.Y -= lineHeight
	}
	high.Y = low.Y - c.areaHeight(cell.Y-legend)
	baseline := corner.Y + margin + lineHeight - 5
	if c.Title != "" {
		for line := range strings.SplitSeq(c.Title, "\n") {
			out.text(label{fitted(line, cell.X-2*margin), Point{(low.X + high.X) / 2, baseline}, .5, false})
			baseline += lineHeight
		}
	}
	c.drawLegend(out, Point{corner.X + margin, baseline}, cell.X)

	x, y := c.ranges()
	place := func(p Point) Point {
		across := high.X - low.X - 2*inset
		up := low.Y - high.Y - 2*inset
		return Point{low.X + inset + across*x.fraction(p.X), low.Y - inset - up*y.fraction(p.Y)}
	}
	xTicks, yTicks := x.ticks(int((high.X-low.X)/90), c.Counts), c.yTicks(cell.Y-legend)
	grid := pen{gridColor, 1, nil}
	for _, t := range xTicks {
		point := crisp(place(Point{t.value, y.Min}))
		out.stroke(grid, []Point{{point.X, low.Y}, {point.X, high.Y}})
		out.text(label{t.text, Point{point.X, low.Y + tickLength + lineHeight - 5}, .5, false})
	}
	for _, t := range yTicks {
		point := crisp(place(Point{x.Min, t.value}))
		out.stroke(grid, []Point{{low.X, point.Y}, {high.X, point.Y}})
		out.text(label{t.text, Point{low.X - 2*tickLength, point.Y + 4.5}, 1, false})
	}
	for _, m := range c.marks {
		m.draw(out, place)
	}
	axis := pen{axisColor, 1, nil}
	meet := crisp(low)
	out.stroke(axis, []Point{crisp(Point{low.X, high.Y}), meet, crisp(Point{high.X, low.Y})})
	for _, t := range xTicks {
		point := crisp(Point{place(Point{t.value, y.Min}).X, low.Y})
		out.stroke(axis, []Point{point, {point.X, point.Y + tickLength}})
	}
	for _, t := range yTicks {
		point := crisp(Point{low.X, place(Point{x.Min, t.value}).Y})
		out.stroke(axis, []Point{point, {point.X - tickLength, point.Y}})
	}
	if c.XLabel != "" {
		out.text(label{c.XLabel, Point{(low.X + high.X) / 2, corner.Y + cell.Y - margin - 3}, .5, false})
	}
	if c.YLabel != "" {
		out.text(label{c.YLabel, Point{corner.X + margin + lineHeight - 6, (low.Y + high.Y) / 2}, .5, true})
	}
}

func (c *Chart) drawLegend(out canvas, corner Point, width float64) {
	for _, line := range c.legendLines(width) {
		x := corner.X
		for _, e := range line {
			e.mark.sample(out, Point{x, corner.Y - 4.5})
			out.text(label{e.text, Point{x + sampleWidth + 6, corner.Y}, 0, false})
			x += sampleWidth + 6 + textWidth(e.text) + entryGap
		}
		corner.Y += lineHeight
	}
}

// crisp moves a point to the middle of its pixel, so that a line of one pixel is not blurred.
func crisp(p Point) Point {
	p = whole(Point{p.X - .5, p.Y - .5})
	return Point{p.X + .5, p.Y + .5}
}
