package policy

import (
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
)

// Memory holds the settings of policies with one recurrent layer: "gru:32" is gru with --policy.units 32.
type Memory struct {
	Units int `set:"units" args:"" min:"1" max:"16777216" help:"units of the recurrent layer"`
}

// Recurrent holds the parameters of a policy with one recurrent layer, followed by a linear one.
type Recurrent[Cell any] struct {
	Cell Cell
	Out  nn.Dense
}

// ready holds the same parameters as Prepare lays them out.
type ready[Cell any] struct {
	Cell Cell
	Out  Layer
}

// cell is a recurrent layer. Its state is zero before the first step.
type cell[State any] interface {
	Start() State
	Step(s State, x *graph.Array) State
}

// cellKind is a kind of recurrent layer. State is its memory, Plain its parameters as Init draws them, Ready its
// parameters as Prepare lays them out.
type cellKind[State any, Plain, Ready cell[State]] struct {
	name string
	draw func(key random.Key, inputs, units int) Plain
	lay  func(l laying, c Plain) Ready // separates the gates and pads them to whole vector registers
}

// register makes a policy of the layer known.
func (k cellKind[State, Plain, Ready]) register() {
	MustRegister(k.name, k.settings(32))
}

// settings returns the maker of a policy with a number of units.
func (k cellKind[State, Plain, Ready]) settings(units int) *recurrentSettings[State, Plain, Ready] {
	return &recurrentSettings[State, Plain, Ready]{Memory{units}, k}
}

type recurrentSettings[State any, Plain, Ready cell[State]] struct {
	Memory
	kind cellKind[State, Plain, Ready]
}

// Make makes the policy.
func (s *recurrentSettings[State, Plain, Ready]) Make(observation envs.Space, outputs int) (Policy, error) {
	if err := checked(&s.Memory); err != nil {
		return nil, err
	}
	inputs, err := FlatSize(observation)
	return Erase(&recurrent[State, Plain, Ready]{s.kind, observation, inputs, s.Units, outputs}), err
}

// recurrent is a policy with one recurrent layer, followed by a linear one. Its parameters are Recurrent[Plain].
// Discrete observations are one-hot inputs, boxes are flattened.
type recurrent[State any, Plain, Ready cell[State]] struct {
	kind                   cellKind[State, Plain, Ready]
	observation            envs.Space
	inputs, units, outputs int
}

// Traits say that it has another form for members with weights of their own.
func (r *recurrent[State, Plain, Ready]) Traits() (t Traits[Recurrent[Plain], State]) {
	t.Prepared = FormOf(r.Prepare, r.PrepareShared, func(p ready[Ready]) State { return p.Cell.Start() },
		func(p ready[Ready], s State, observation *graph.Array, _ random.Key) (State, Output) {
			return r.act(p.Cell, p.Out, s, fitting(Flat(r.observation, observation), p))
		})
	return t
}

// Init draws weights from the normal distribution of variance 1/in. Biases are zero unless the kind says otherwise.
func (r *recurrent[State, Plain, Ready]) Init(key random.Key) Recurrent[Plain] {
	return newRecurrent(key, r.units, r.outputs, func(key random.Key) Plain {
		return r.kind.draw(key, r.inputs, r.units)
	})
}

// Prepare separates the gates, pads layers to whole vector registers and transposes a narrow last layer.
func (r *recurrent[State, Plain, Ready]) Prepare(p Recurrent[Plain]) ready[Ready] {
	return r.prepare(laying{}, p)
}

// PrepareShared separates the gates.
func (r *recurrent[State, Plain, Ready]) PrepareShared(s Shared) ready[Ready] {
	return r.prepare(layingOf(s), s.Params.(Recurrent[Plain]))
}

func (r *recurrent[State, Plain, Ready]) prepare(l laying, p Recurrent[Plain]) ready[Ready] {
	return ready[Ready]{r.kind.lay(l, p.Cell), l.out(p.Out)}
}

// Start returns an empty memory: zeros.
func (r *recurrent[State, Plain, Ready]) Start(p Recurrent[Plain]) State { return p.Cell.Start() }

// Act takes the observation into the memory and computes outputs from it.
func (r *recurrent[State, Plain, Ready]) Act(p Recurrent[Plain], s State, observation *graph.Array,
	_ random.Key) (State, Output) {
	return r.act(p.Cell, laying{}.layer(p.Out), s, fitting(Flat(r.observation, observation), p))
}

func (r *recurrent[State, Plain, Ready]) act(c cell[State], out Layer, s State, x *graph.Array) (State, Output) {
	s = c.Step(s, x)
	return s, Output{Action: out.Apply(outputOf(s))}
}

// outputOf returns the output of a memory.
func outputOf(state any) *graph.Array {
	if s, ok := state.(nn.LSTMState); ok {
		return s.H
	}
	return state.(*graph.Array)
}

// fanIn draws from the normal distribution of variance 1/in, as MLP.Init does.
var fanIn = nn.VarianceScaling(1, nn.FanIn, nn.NormalDraws)

// cellDraws are the initializers of cells: variance 1/in for inputs, 1/units for the memory.
func cellDraws(options ...nn.Option) []nn.Option {
	return append(options, nn.Weights(fanIn), nn.Recurrent(fanIn))
}

// newRecurrent returns parameters of a cell and a linear layer.
func newRecurrent[Cell any](key random.Key, units, outputs int, draw func(key random.Key) Cell) Recurrent[Cell] {
	first, second := random.Split2(key)
	return Recurrent[Cell]{draw(first), nn.NewDense(second, units, outputs, nn.Weights(fanIn))}
}

// gate holds the parameters of one gate of a prepared cell.
//
// One product for all gates would have fewer operations. But XLA on CPU vectorizes loops over whole arrays, not over
// slices of longer rows. With a product per gate, a step of gru:32 takes a third of the time.
type gate struct {
	Wx Weight       // f32[in, units]
	Wh *Weight      // f32[units, units]; nil: the gate does not depend on the memory
	B  *graph.Array // f32[units]
}

// apply returns x·Wx + B + h·Wh.
func (g gate) apply(x, h *graph.Array) *graph.Array {
	y := g.Wx.Times(x).Add(g.B)
	if g.Wh == nil {
		return y
	}
	return y.Add(g.Wh.Times(h))
}

// gatesOf separates n gates that lie side by side, and pads each to whole vector registers (see register). The units
// that pad have zero weights, so that they stay zero or are not read. Padding makes gru:8 and gru:20 take 0.7 of the
// time.
func (l laying) gatesOf(n int, wx, wh, b *graph.Array) []gate {
	pad := l.fill(b.Dim(0) / n)
	gates := make([]gate, n)
	x, bias := l.weight(wx).split(n), graph.Split(b, n, 0)
	for i := range gates {
		x[i].W = padded(x[i].W, 0, pad)
		gates[i] = gate{Wx: x[i], B: padded(bias[i], pad)}
	}
	if wh != nil {
		for i, w := range l.weight(wh).split(n) {
			w.W = padded(w.W, pad, pad)
			gates[i].Wh = &w
		}
	}
	return gates
}

// out returns the linear layer after a padded memory, transposed if it is narrow.
func (l laying) out(d nn.Dense) Layer { return l.last(d, l.fill(d.W.Dim(0))) }
