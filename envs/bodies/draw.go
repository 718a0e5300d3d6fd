package bodies

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"xlarun/envs/draw"
	"xlarun/graph"
)

// Along is how far the first body that moves is along x from the model's first configuration: 0 if its joints do not
// lead there.
func (m *Model) Along(q []float64) float64 {
	for i, j := range m.Joints {
		switch {
		case j.Body != m.Joints[0].Body:
			return 0
		case j.Type == Free, j.Type == Slide && j.Axis == [3]float64{1, 0, 0}:
			return q[i] - m.Rest()[i]
		}
	}
	return 0
}

// Draw paints a configuration's spheres, capsules and cylinders, the far ones first, and a line with marks for the
// floor: from the side, along y, or from above. q is a position [nq]; p has data; colors are given to geoms in turn.
func (m *Model) Draw(c *draw.Canvas, q []float64, p Params, above bool, colors ...color.Color) {
	numbers := make([][]num, len(p.fields()))
	for i, field := range p.fields() {
		if *field != nil {
			if list, err := graph.Floats(*field); err == nil {
				numbers[i] = knowns(list)
			}
		}
	}
	s := m.with(numbers, Options{})
	f := s.kinematics(knowns(q))
	at := func(v vec) (p draw.Point, depth float64) {
		x, y, z := value(v[0]), value(v[1]), value(v[2])
		if above {
			return draw.At(x, y), z
		}
		return draw.At(x, z), -y
	}
	type shape struct {
		from, to draw.Point
		depth    float64
		radius   float64
		color    color.Color
	}
	var shapes []shape
	for g, x := range s.segments(f) {
		geom := m.Geoms[g]
		origin := f.origin[geom.Body]
		if geom.Type == Plane {
			if p, _ := at(origin.add(x.centre)); !above {
				c.Line(draw.Steel, draw.At(-1e4, p.Y), draw.At(1e4, p.Y), 0.02)
				middle := math.Round(m.Along(q))
				for k := range 21 { // a mark for each half of a metre, which shows that bodies move
					x := middle + float64(k-10)/2
					c.Line(draw.Steel, draw.At(x, p.Y), draw.At(x-.08, p.Y-.12), 0.015)
				}
			}
			continue
		}
		from, a := at(origin.add(x.centre).add(x.axis.scale(x.half)))
		to, b := at(origin.add(x.centre).sub(x.axis.scale(x.half)))
		shapes = append(shapes, shape{from, to, (a + b) / 2, value(x.radius), colors[g%len(colors)]})
	}
	slices.SortStableFunc(shapes, func(a, b shape) int { return cmp.Compare(a.depth, b.depth) })
	for _, x := range shapes {
		c.Line(x.color, x.from, x.to, 2*x.radius)
		c.Disc(x.color, x.from, x.radius)
		c.Disc(x.color, x.to, x.radius)
	}
}

func value(x num) float64 {
	v, _ := x.Value()
	return v
}
