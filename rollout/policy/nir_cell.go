package policy

import (
	"xlarun/graph"
	"xlarun/graph/nn"
)

// nirCell is a type of neurons.
type nirCell interface {
	// spikes reports whether the neurons send spikes; else their outputs are their potentials.
	spikes() bool
	// current reports whether they have a current with a time constant of its own.
	current() bool
	// read returns the neurons of a layer of package nn; ok is false for one of another type.
	read(layer any) (n nirNeurons, ok bool)
	// layer returns the layer of package nn.
	layer(n nirNeurons, s nn.Surrogate) any
	// step computes a substep: the next state, without the number of spikes, and the outputs.
	step(n nirNeurons, s nn.Surrogate, state nirCells, x *graph.Array) (next nirCells, out *graph.Array)
}

// nirNeurons holds neurons as they compute: decays a substep instead of time constants.
type nirNeurons struct {
	Beta      *graph.Array // [units]: of potentials
	Alpha     *graph.Array `tree:"optional"` // [units]: of currents
	Threshold *graph.Array `tree:"optional"` // [units]
	Wh        *graph.Array `tree:"optional"` // [units, units]
}

// lifCell are neurons without a current.
type lifCell struct{}

func (lifCell) spikes() bool  { return true }
func (lifCell) current() bool { return false }

func (lifCell) read(layer any) (n nirNeurons, ok bool) {
	l, ok := layer.(nn.LIF)
	return nirNeurons{Beta: l.Beta, Threshold: l.Threshold, Wh: l.Wh}, ok
}

func (lifCell) layer(n nirNeurons, s nn.Surrogate) any {
	return nn.LIF{Beta: n.Beta, Threshold: n.Threshold, Wh: n.Wh, Surrogate: s}
}

func (c lifCell) step(n nirNeurons, s nn.Surrogate, state nirCells, x *graph.Array) (nirCells, *graph.Array) {
	v, out := c.layer(n, s).(nn.LIF).Step(state.V, x)
	return nirCells{V: v}, out
}

// cubaLIFCell are neurons with a current.
type cubaLIFCell struct{}

func (cubaLIFCell) spikes() bool  { return true }
func (cubaLIFCell) current() bool { return true }

func (cubaLIFCell) read(layer any) (n nirNeurons, ok bool) {
	l, ok := layer.(nn.CuBaLIF)
	return nirNeurons{Beta: l.Beta, Alpha: l.Alpha, Threshold: l.Threshold, Wh: l.Wh}, ok
}

func (cubaLIFCell) layer(n nirNeurons, s nn.Surrogate) any {
	return nn.CuBaLIF{Alpha: n.Alpha, Beta: n.Beta, Threshold: n.Threshold, Wh: n.Wh, Surrogate: s}
}

func (c cubaLIFCell) step(n nirNeurons, s nn.Surrogate, state nirCells, x *graph.Array) (nirCells, *graph.Array) {
	next, out := c.layer(n, s).(nn.CuBaLIF).Step(nn.CuBaLIFState{V: state.V, I: state.I}, x)
	return nirCells{V: next.V, I: next.I}, out
}

// liCell are leaky integrators.
type liCell struct{}

func (liCell) spikes() bool  { return false }
func (liCell) current() bool { return false }

func (liCell) read(layer any) (n nirNeurons, ok bool) {
	l, ok := layer.(nn.LI)
	return nirNeurons{Beta: l.Beta}, ok
}

func (liCell) layer(n nirNeurons, _ nn.Surrogate) any { return nn.LI{Beta: n.Beta} }

func (liCell) step(n nirNeurons, _ nn.Surrogate, state nirCells, x *graph.Array) (nirCells, *graph.Array) {
	v := nn.LI{Beta: n.Beta}.Step(state.V, x)
	return nirCells{V: v}, v
}

// levelLICell are leaky integrators whose potentials go towards their inputs; see NIR.levels.
type levelLICell struct{ liCell }

func (levelLICell) step(n nirNeurons, _ nn.Surrogate, state nirCells, x *graph.Array) (nirCells, *graph.Array) {
	v := x.Add(n.Beta.Mul(state.V.Sub(x)))
	return nirCells{V: v}, v
}
