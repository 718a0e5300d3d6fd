package notebook

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"sync"

	"xlarun/internal/chart"
)

// palette has colors that can be told apart on white and on black.
var palette = []color.RGBA{{0x2f, 0x80, 0xd0, 255}, {0xd9, 0x7b, 0x1f, 255}, {0x2f, 0x9e, 0x57, 255},
	{0xb0, 0x5c, 0xc2, 255}, {0xd1, 0x4b, 0x4b, 255}, {0x86, 0x86, 0x86, 255}}

// maxPoints is the largest number of points of a line. When it has more, every second one is dropped.
const maxPoints = 1000

// Curves are lines over a common x that grow while the cell runs, such as learning curves.
type Curves struct {
	*Live
	xLabel string
	names  []string

	mu    sync.Mutex
	xs    []float64
	ys    [][]float64 // by name
	every int         // one of so many points is kept
	added int
	last  []float64 // the newest values
	at    float64   // their x
}

// NewCurves returns curves with names over an x with a label. Nothing is shown before the first Add.
func NewCurves(xLabel string, names ...string) *Curves {
	c := &Curves{xLabel: xLabel, names: names, ys: make([][]float64, len(names)), every: 1}
	c.Live = NewLive(c.picture)
	return c
}

// Add appends a point to each line. A NaN or an infinity leaves a gap.
func (c *Curves) Add(x float64, values ...float64) {
	if len(values) != len(c.names) {
		panic(fmt.Sprintf("notebook.Curves.Add: got %d values, want one for each of %s", len(values),
			strings.Join(c.names, ", ")))
	}
	if !Active() {
		return
	}
	c.mu.Lock()
	c.at, c.last = x, append(c.last[:0], values...)
	if c.added++; (c.added-1)%c.every == 0 {
		c.xs = append(c.xs, x)
		for i, v := range values {
			c.ys[i] = append(c.ys[i], v)
		}
	}
	if len(c.xs) > maxPoints {
		c.every *= 2
		c.xs = halved(c.xs)
		for i := range c.ys {
			c.ys[i] = halved(c.ys[i])
		}
	}
	c.mu.Unlock()
	c.Update()
}

// halved drops every second element.
func halved(values []float64) []float64 {
	for i := range (len(values) + 1) / 2 {
		values[i] = values[2*i]
	}
	return values[:(len(values)+1)/2]
}

// Close draws the last state, if there is one.
func (c *Curves) Close() {
	c.mu.Lock()
	drawn := c.added > 0
	c.mu.Unlock()
	if drawn {
		c.Live.Close()
	}
}

func (c *Curves) picture() (fragment, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.xs) == 0 {
		return "", c.xLabel
	}
	p := &chart.Chart{XLabel: c.xLabel}
	text = c.xLabel + " " + number(c.at)
	for i, name := range c.names {
		xs, ys := append(c.xs[:len(c.xs):len(c.xs)], c.at), append(c.ys[i][:len(c.ys[i]):len(c.ys[i])], c.last[i])
		addLine(p, fmt.Sprintf("%s %s", name, number(c.last[i])), xs, ys, i)
		text += fmt.Sprintf(", %s %s", name, number(c.last[i]))
	}
	return draw(p, 260), text
}

// addLine draws a line with a name; "" for none. Values that are not finite leave gaps.
func addLine(c *chart.Chart, name string, xs, ys []float64, color int) {
	line := chart.Line{Color: palette[color%len(palette)], Width: 1.8}
	if name != "" {
		c.Legend(name, line)
	}
	stretches(xs, func(i int) bool { return finite(xs[i]) && finite(ys[i]) }, func(from, to int) {
		part := line
		for i := from; i < to; i++ {
			part.Points = append(part.Points, chart.Point{X: xs[i], Y: ys[i]})
		}
		c.Add(part)
	})
}

// stretches calls f for each longest range [from, to) of good positions.
func stretches(xs []float64, good func(i int) bool, f func(from, to int)) {
	for from := 0; from < len(xs); {
		to := from
		for to < len(xs) && good(to) {
			to++
		}
		if to > from {
			f(from, to)
		}
		from = to + 1
	}
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
