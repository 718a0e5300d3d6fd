package plots

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"xlarun/internal/chart"
)

// SpikingLayer holds the activity of a layer of neurons in an episode: rows are substeps, columns are neurons.
type SpikingLayer struct {
	Name       string
	Units      int
	Spikes     []float64 // 1 or 0
	Potentials []float64 // mV; empty if not known
}

// Matrix holds weights [Rows, Columns], row-major, in mV.
type Matrix struct {
	Name          string
	Rows, Columns int
	Values        []float64
}

// A picture of potentials shows this many neurons of a layer, and this many substeps from the start.
const shownNeurons, shownSubsteps = 3, 250

const maxWeightCharts = 12

// Raster draws all spikes over time as a PNG. Each neuron has a row; the first neuron of the first layer is at the
// bottom. Each layer has a color. substep is the time between two rows of a layer, in ms.
func Raster(title string, layers []SpikingLayer, substep float64) ([]byte, error) {
	c := &chart.Chart{Title: title, XLabel: "ms", YLabel: "neuron"}
	base, end := 0, 0.
	for i, l := range layers {
		spikes := chart.Spikes{Color: colors[i%len(colors)]}
		for index, s := range l.Spikes {
			if s > 0 {
				spikes.Points = append(spikes.Points, chart.Point{X: float64(index/l.Units) * substep,
					Y: float64(base + index%l.Units)})
			}
		}
		base += l.Units
		end = max(end, float64(len(l.Spikes)/max(l.Units, 1))*substep)
		c.Add(spikes)
		c.Legend(fmt.Sprintf("%s: %d spikes", l.Name, len(spikes.Points)), spikes)
	}
	c.X, c.Y = &chart.Range{Min: 0, Max: end}, &chart.Range{Min: 0, Max: float64(base - 1)}
	return chart.Draw("png", width, height, []*chart.Chart{c})
}

// Membranes draws, as a PNG, the potentials over the first substeps of the neurons of each layer that spike most. Dots
// are spikes. It returns nil if no layer has potentials.
func Membranes(title string, layers []SpikingLayer, substep float64) ([]byte, error) {
	var rows [][]*chart.Chart
	for _, l := range layers {
		if len(l.Potentials) == 0 {
			continue
		}
		c := &chart.Chart{Title: l.Name, XLabel: "ms", YLabel: "mV"}
		if len(rows) == 0 {
			c.Title = title + "\n" + l.Name
		}
		for k, unit := range busiest(l) {
			potential, spikes := l.trace(unit, substep)
			if len(potential) < 2 {
				continue
			}
			line := chart.Line{Points: potential, Color: colors[k%len(colors)], Width: 1.3}
			c.Add(line)
			c.Add(chart.Dots{Points: spikes, Color: line.Color, Radius: 3})
			c.Legend(fmt.Sprintf("neuron %d", unit), line)
		}
		rows = append(rows, []*chart.Chart{c})
	}
	if len(rows) == 0 {
		return nil, nil
	}
	return chart.Draw("png", width, 3*inch*float64(len(rows)), rows...)
}

// trace returns a neuron's potential over the first substeps, up to the first value that is not finite, and its spikes.
func (l SpikingLayer) trace(unit int, substep float64) (potential, spikes []chart.Point) {
	for t := range min(len(l.Potentials)/l.Units, shownSubsteps) {
		p := chart.Point{X: float64(t) * substep, Y: l.Potentials[t*l.Units+unit]}
		if !number(p.Y) {
			break
		}
		potential = append(potential, p)
		if t > 0 && l.Spikes[t*l.Units+unit] > 0 { // the potential of the substep before caused it
			spikes = append(spikes, potential[t-1])
		}
	}
	return potential, spikes
}

// Weights draws matrices as heat maps in a PNG, blue below zero and red above. Each map is scaled by its largest
// absolute value, which is in its title.
func Weights(matrices []Matrix) ([]byte, error) {
	if len(matrices) == 0 {
		return nil, fmt.Errorf("there are no weights to draw")
	}
	var row []*chart.Chart
	for _, m := range matrices[:min(len(matrices), maxWeightCharts)] {
		largest := 0.
		for _, v := range m.Values {
			if number(v) {
				largest = max(largest, math.Abs(v))
			}
		}
		scale := max(largest, math.SmallestNonzeroFloat32)
		c := &chart.Chart{Title: fmt.Sprintf("%s, within %.3g mV", m.Name, largest), XLabel: "to", YLabel: "from"}
		c.Add(chart.Heat{Rows: m.Rows, Columns: m.Columns, Value: func(row, column int) float64 {
			return m.Values[row*m.Columns+column] / scale
		}})
		row = append(row, c)
	}
	return chart.Draw("png", 4*inch*float64(len(row)), 5*inch, row)
}

func number(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// busiest returns the indices of the neurons that spike most. Equal ones keep their order.
func busiest(l SpikingLayer) []int {
	sent := make([]float64, l.Units)
	all := make([]int, l.Units)
	for index, s := range l.Spikes {
		if number(s) {
			sent[index%l.Units] += s
		}
	}
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(sent[b], sent[a]) })
	return all[:min(shownNeurons, l.Units)]
}
