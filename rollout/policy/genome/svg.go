package genome

import (
	"bytes"
	"fmt"
	"math"
	"slices"
)

// Sizes in a drawing, in pixels.
const (
	columnWidth = 130
	rowHeight   = 46
	margin      = 70
	radius      = 13
)

// SVG draws the network: inputs on the left, outputs on the right, hidden nodes in between by the length of the longest
// path to them. A connection's width is its weight; blue ones are positive, red ones negative, dashed ones off.
func (d Document) SVG() []byte {
	columns := d.columns()
	tallest := 0
	for _, c := range columns {
		tallest = max(tallest, len(c))
	}
	width, height := 2*margin+(len(columns)-1)*columnWidth, margin+tallest*rowHeight
	type point struct{ x, y float64 }
	at := map[int]point{}
	for x, column := range columns {
		for y, node := range column {
			// Odd columns are moved a little, so that fewer connections run through nodes.
			shift := float64(x%2) * rowHeight / 4
			at[node] = point{float64(margin + x*columnWidth),
				shift + float64(height)/2 + (float64(y)-float64(len(column)-1)/2)*rowHeight}
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`font-family="sans-serif" font-size="11">`+"\n", width, height, width, height)
	fmt.Fprintf(&out, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	largest := 1e-9
	for _, c := range d.Connections {
		largest = max(largest, math.Abs(c.Weight))
	}
	for _, c := range d.Connections {
		a, b := at[c.From], at[c.To]
		color, style := "#1f77b4", ""
		if c.Weight < 0 {
			color = "#d64b3a"
		}
		if !c.Enabled {
			style = ` stroke-dasharray="4 4" opacity="0.35"`
		}
		path := fmt.Sprintf("M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f", a.x, a.y, a.x+columnWidth/2, a.y,
			b.x-columnWidth/2, b.y, b.x, b.y)
		if b.x <= a.x { // back, above the nodes
			path = fmt.Sprintf("M%.1f %.1f C%.1f %.1f %.1f %.1f %.1f %.1f", a.x, a.y, a.x+50, a.y-60, b.x-50, b.y-60,
				b.x, b.y)
		}
		fmt.Fprintf(&out, `<path d="%s" fill="none" stroke="%s" stroke-width="%.2f"%s><title>%d: %d to %d, weight %.4g`+
			`</title></path>`+"\n", path, color, .6+4*math.Abs(c.Weight)/largest, style, c.Innovation, c.From, c.To,
			c.Weight)
	}
	for _, n := range d.Nodes {
		p, fill, anchor, x := at[n.Number], "#ffffff", "middle", at[n.Number].x
		label := n.Activation
		switch n.Kind {
		case kindInput:
			fill, anchor, x, label = "#cfd8dc", "end", p.x-radius-5, "input"
		case kindOutput:
			fill, anchor, x = "#ffe0b2", "start", p.x+radius+5
		}
		fmt.Fprintf(&out, `<circle cx="%.1f" cy="%.1f" r="%d" fill="%s" stroke="#263238"/>`+"\n", p.x, p.y,
			radius, fill)
		fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#263238">%d</text>`+"\n", p.x, p.y+4,
			n.Number)
		y := p.y + 4
		if n.Kind == kindHidden {
			y = p.y + radius + 12
		}
		fmt.Fprintf(&out, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="#607d8b">%s</text>`+"\n", x, y, anchor, label)
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

// columns lists the numbers of the nodes from left to right.
func (d Document) columns() [][]int {
	layer, _ := d.layers()
	var used []int
	for _, n := range d.Nodes {
		if n.Kind == kindHidden && !slices.Contains(used, layer[n.Number]) {
			used = append(used, layer[n.Number])
		}
	}
	slices.Sort(used)
	columns := make([][]int, len(used)+2)
	for _, n := range d.Nodes {
		x := 0
		switch n.Kind {
		case kindOutput:
			x = len(columns) - 1
		case kindHidden:
			x = 1 + slices.Index(used, layer[n.Number])
		}
		columns[x] = append(columns[x], n.Number)
	}
	return columns
}
