package plots

import (
	"bytes"
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/palette/moreland"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// SpikingLayer is what a layer of neurons did in an episode: rows are substeps, columns neurons.
type SpikingLayer struct {
	Name       string
	Units      int
	Spikes     []float64 // 1 or 0
	Potentials []float64 // mV; empty: not known
}

// Matrix is weights [Rows, Columns], row-major, in mV.
type Matrix struct {
	Name          string
	Rows, Columns int
	Values        []float64
}

// Shown in a picture of potentials: neurons of a layer, and substeps, the first ones.
const shownNeurons, shownSubsteps = 3, 250

const mostWeightPlots = 12

// Raster is a PNG of all spikes: a row a neuron, the first layer's first neuron at the bottom, over time; a row of layers is of one colour.
// substep is the time of a row of the layers, ms.
func Raster(title string, layers []SpikingLayer, substep float64) ([]byte, error) {
	p := newPlot(title, "ms", "neuron")
	p.Legend.Top = true
	base, end := 0, 0.
	for i, l := range layers {
		marks := ticks{colour: colours[i%len(colours)]}
		for at, s := range l.Spikes {
			if s > 0 {
				marks.points = append(marks.points, plotter.XY{X: float64(at/l.Units) * substep, Y: float64(base + at%l.Units)})
			}
		}
		base += l.Units
		end = max(end, float64(len(l.Spikes)/max(l.Units, 1))*substep)
		p.Add(marks)
		p.Legend.Add(fmt.Sprintf("%s: %d spikes", l.Name, len(marks.points)), marks)
	}
	p.X.Min, p.X.Max, p.Y.Min = 0, end, -1
	p.Y.Max = float64(base) * 1.12 // for the legend
	widen(&p.X)
	return encode([][]*plot.Plot{{p}}, width, height)
}

// Membranes is a PNG of the potentials of each layer's neurons that spike most, over the first substeps, with their spikes as dots. It is nil where
// no layer shows potentials.
func Membranes(title string, layers []SpikingLayer, substep float64) ([]byte, error) {
	var rows [][]*plot.Plot
	for _, l := range layers {
		if len(l.Potentials) == 0 {
			continue
		}
		name := l.Name
		if len(rows) == 0 {
			name = title + "\n" + name
		}
		p := newPlot(name, "ms", "mV")
		n := min(len(l.Potentials)/l.Units, shownSubsteps)
		for k, unit := range busiest(l) {
			line, spikes := make(plotter.XYs, 0, n), make(plotter.XYs, 0, n)
			for t := range n {
				at := plotter.XY{X: float64(t) * substep, Y: l.Potentials[t*l.Units+unit]}
				if !number(at.Y) {
					break
				}
				line = append(line, at)
				if t > 0 && l.Spikes[t*l.Units+unit] > 0 { // sent by what the substep before came to
					spikes = append(spikes, line[t-1])
				}
			}
			if len(line) < 2 {
				continue
			}
			drawn, err := plotter.NewLine(line)
			if err != nil {
				return nil, err
			}
			drawn.Color, drawn.Width = colours[k%len(colours)], vg.Points(1)
			p.Add(stroke{drawn})
			p.Legend.Add(fmt.Sprintf("neuron %d", unit), drawn)
			if len(spikes) > 0 {
				dots, err := plotter.NewScatter(spikes)
				if err != nil {
					return nil, err
				}
				dots.Color, dots.Shape, dots.Radius = colours[k%len(colours)], draw.CircleGlyph{}, vg.Points(2)
				p.Add(dots)
			}
		}
		widen(&p.X)
		widen(&p.Y)
		p.Y.Max += .4 * (p.Y.Max - p.Y.Min) // for the legend
		rows = append(rows, []*plot.Plot{p})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return encode(rows, width, vg.Length(len(rows))*3*vg.Inch)
}

// Weights is a PNG of matrices as maps of colours, blue below zero and red above, each scaled by its own largest number, which its title says.
func Weights(matrices []Matrix) ([]byte, error) {
	if len(matrices) == 0 {
		return nil, fmt.Errorf("there are no weights to draw")
	}
	var row []*plot.Plot
	for _, m := range matrices[:min(len(matrices), mostWeightPlots)] {
		most := 0.
		for _, v := range m.Values {
			if number(v) {
				most = max(most, math.Abs(v))
			}
		}
		p := newPlot(fmt.Sprintf("%s, within %.3g mV", m.Name, most), "to", "from")
		colours := moreland.SmoothBlueRed()
		colours.SetMin(-1)
		colours.SetMax(1)
		p.Add(plotter.NewHeatMap(scaled{m, max(most, math.SmallestNonzeroFloat32)}, colours.Palette(255)))
		row = append(row, p)
	}
	return encode([][]*plot.Plot{row}, vg.Length(len(row))*4*vg.Inch, 5*vg.Inch)
}

func number(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// busiest are the numbers of the neurons that spike most, those of a tie in their order.
func busiest(l SpikingLayer) []int {
	sent := make([]float64, l.Units)
	all := make([]int, l.Units)
	for at, s := range l.Spikes {
		if number(s) {
			sent[at%l.Units] += s
		}
	}
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(sent[b], sent[a]) })
	return all[:min(shownNeurons, l.Units)]
}

// scaled is a matrix within -1 to 1, as a heat map takes it.
type scaled struct {
	Matrix
	most float64
}

func (s scaled) Dims() (c, r int)   { return s.Columns, s.Rows }
func (s scaled) X(c int) float64    { return float64(c) }
func (s scaled) Y(r int) float64    { return float64(r) }
func (s scaled) Z(c, r int) float64 { return s.Values[r*s.Columns+c] / s.most }
func (s scaled) Min() float64       { return -1 }
func (s scaled) Max() float64       { return 1 }

// ticks are short upright strokes.
type ticks struct {
	points plotter.XYs
	colour color.Color
}

// Plot implements plot.Plotter.
func (t ticks) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	wide := max(vg.Points(.6), min(vg.Points(1.5), (c.Max.X-c.Min.X)/800))
	high := max(vg.Points(.8), .4*(y(1)-y(0)))
	for _, at := range t.points {
		c.FillPolygon(t.colour, []vg.Point{{X: x(at.X), Y: y(at.Y) - high}, {X: x(at.X) + wide, Y: y(at.Y) - high}, {X: x(at.X) + wide, Y: y(at.Y) + high}, {X: x(at.X), Y: y(at.Y) + high}})
	}
}

// Thumbnail implements plot.Thumbnailer.
func (t ticks) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(t.colour, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
}

// encode draws rows of pictures into one PNG.
func encode(rows [][]*plot.Plot, wide, high vg.Length) ([]byte, error) {
	image := vgimg.New(wide, high)
	tiles := draw.Tiles{Rows: len(rows), Cols: len(rows[0]), PadX: vg.Points(8), PadY: vg.Points(8), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(10)}
	canvases := plot.Align(rows, tiles, draw.New(image))
	for i, row := range rows {
		for k, p := range row {
			p.Draw(canvases[i][k])
		}
	}
	var out bytes.Buffer
	_, err := vgimg.PngCanvas{Canvas: image}.WriteTo(&out)
	return out.Bytes(), err
}
