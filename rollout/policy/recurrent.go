package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Memory are the settings of all policies with one layer of memory: "gru:32" is gru with --policy.units 32.
type Memory struct {
	Units int `set:"units" args:"" min:"1" max:"16777216" help:"units of the layer that has the memory"`
}

// Recurrent are the parameters of a policy with one layer of memory and a linear one behind it.
type Recurrent[Cell any] struct {
	Cell Cell
	Out  nn.Dense
}

// ready are the same as Prepare lays them out.
type ready[Cell any] struct {
	Cell Cell
	Out  Layer
}

// cell is one step of a layer of memory. Its state is zero before the first step.
type cell[State any] interface {
	Start() State
	Step(s State, x *graph.Array) State
}

// recurrent is a policy whose layer of memory is Plain as Init makes it and Ready as Prepare lays it out.
type recurrent[State any, Plain, Ready cell[State]] struct {
	observation            envs.Space
	inputs, units, outputs int
}

// newRecurrent is the policy for observations of a space; what it draws and prepares is the business of who embeds it.
func newRecurrent[State any, Plain, Ready cell[State]](s Memory, observation envs.Space, outputs int) (r recurrent[State, Plain, Ready], err error) {
	if err := checked(&s); err != nil {
		return r, err
	}
	inputs, err := FlatSize(observation)
	return recurrent[State, Plain, Ready]{observation, inputs, s.Units, outputs}, err
}

// Start is an empty memory: zeros, f32[units], of an LSTM two of them.
func (r recurrent[State, Plain, Ready]) Start(params any) any {
	c, _ := r.read("Start", params)
	return c.Start()
}

// Act takes the observation into the memory and answers from there; params are Recurrent, as Init makes them, or what
// Prepare makes of them.
func (r recurrent[State, Plain, Ready]) Act(params, carry any, observation *graph.Array, _ random.Key) (any, Output) {
	c, out := r.read("Act", params)
	s := c.Step(stateOf[State]("Act", carry), fitting(Flat(r.observation, observation), params))
	return s, Output{Action: out.Apply(outputOf(s))}
}

// read takes parameters apart: as Init makes them or as Prepare does.
func (r recurrent[State, Plain, Ready]) read(op string, params any) (c cell[State], out Layer) {
	if p, ok := params.(ready[Ready]); ok {
		return p.Cell, p.Out
	}
	p := parametersOf[Plain](op, params)
	return p.Cell, laying{}.layer(p.Out)
}

// parametersOf reads parameters as Init makes them.
func parametersOf[Plain any](op string, params any) Recurrent[Plain] {
	p, ok := params.(Recurrent[Plain])
	if !ok {
		graph.Throw("policy."+op, "got parameters of type %T, want %T, as Init makes them", params, p)
	}
	return p
}

// stateOf reads a carry.
func stateOf[State any](op string, carry any) State {
	s, ok := carry.(State)
	if !ok {
		graph.Throw("policy."+op, "got a carry of type %T, want %T, as Start makes it", carry, s)
	}
	return s
}

// outputOf is what a memory shows to the layer behind it.
func outputOf(state any) *graph.Array {
	if s, ok := state.(nn.LSTMState); ok {
		return s.H
	}
	return state.(*graph.Array)
}

// fanIn draws from the normal distribution of variance 1/in, as MLP.Init does.
var fanIn = nn.VarianceScaling(1, nn.FanIn, nn.NormalDraws)

// draws are the initialisers of cells: variance 1/in for what they see, 1/units for what they remember.
func draws(more ...nn.Option) []nn.Option {
	return append(more, nn.Weights(fanIn), nn.Recurrent(fanIn))
}

// drawn are parameters of a cell and a linear layer behind it.
func drawn[Cell any](key random.Key, units, outputs int, draw func(key random.Key) Cell) Recurrent[Cell] {
	first, second := random.Split2(key)
	return Recurrent[Cell]{draw(first), nn.NewDense(second, units, outputs, nn.Weights(fanIn))}
}

// gate is the part of a prepared cell that one of its gates is computed by, each array of its own.
//
// One product for all gates has fewer operations, but what reads its parts is computed one number at a time: XLA on CPU
// makes vectors of loops over whole arrays, not over slices of longer rows. With a product a gate, a step of gru:32 takes
// a third of the time.
type gate struct {
	Wx Weight       // f32[in, units]
	Wh *Weight      // f32[units, units]; nil: the gate does not see the memory
	B  *graph.Array // f32[units]
}

// apply is x·Wx + B + h·Wh.
func (g gate) apply(x, h *graph.Array) *graph.Array {
	y := graph.Add(g.Wx.Times(x), g.B)
	if g.Wh == nil {
		return y
	}
	return graph.Add(y, g.Wh.Times(h))
}

// gatesOf takes n gates apart that lie side by side, and pads each to whole vector registers (see register) with units
// whose weights are zero: they stay at what they start with, zero, or are not looked at. gru:8 and gru:20 then take 0.7 of
// the time that they take without.
func (l laying) gatesOf(n int, wx, wh, b *graph.Array) []gate {
	more := l.fill(b.Dim(0) / n)
	gates := make([]gate, n)
	x, bias := l.weight(wx).split(n), graph.Split(b, n, 0)
	for i := range gates {
		x[i].W = padded(x[i].W, 0, more)
		gates[i] = gate{Wx: x[i], B: padded(bias[i], more)}
	}
	if wh != nil {
		for i, w := range l.weight(wh).split(n) {
			w.W = padded(w.W, more, more)
			gates[i].Wh = &w
		}
	}
	return gates
}

// out is the linear layer behind a memory that is padded, turned where it is narrow.
func (l laying) out(d nn.Dense) Layer { return l.last(d, l.fill(d.W.Dim(0))) }
