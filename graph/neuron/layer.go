package neuron

import (
	"xlarun/graph"
)

// Layer is units of one model, their synapses, and how time goes for them.
type Layer struct {
	Model      Model
	Synapse    Synapse      // nil: none, all that flows in comes through an electrode (Arrivals.Current)
	Integrator Integrator   // "": ExponentialEuler
	DT         *graph.Array // [], ms of a step
	Substeps   int          // a step is so many of DT/Substeps; 0: one
	// Refractory is for how many ms after a spike, rounded to substeps, the potential stands still and nothing spikes,
	// [units] or []; nil: for none.
	Refractory *graph.Array `tree:"optional"`
	// Spike makes spikes, 1 or 0, of how far units are above where they spike, in mV; nil: 1 at that and above, whose
	// derivative is refused. A surrogate of package nn gives them one.
	Spike func(excess *graph.Array) *graph.Array
}

// LayerState is what a layer carries from step to step.
type LayerState struct {
	Neurons  State        // by Model.Variables
	Synapses State        // by Synapse.Start; none without synapses
	Waiting  *graph.Array `tree:"optional"` // [units]: substeps until a unit can spike again; nil where all always can
}

// Start is so many units at rest, after a check of what of the layer is known.
func (l Layer) Start(units int) LayerState {
	l.check(units)
	s := LayerState{Neurons: l.Model.Start(units)}
	if l.Synapse != nil {
		s.Synapses = l.Synapse.Start(units)
	}
	if l.Refractory != nil || !l.Model.Resets() {
		s.Waiting = graph.ZerosLike(s.Neurons[0])
	}
	return s
}

func (l Layer) check(units int) {
	const op = "neuron.Layer"
	switch {
	case units < 1:
		graph.Throw(op, "got %d units, want at least 1", units)
	case l.Model == nil:
		graph.Throw(op, "got no Model, want one as NewLIF makes it")
	case l.DT == nil || l.DT.Rank() != 0:
		graph.Throw(op, "got the DT %s, want ms, f32[]", shapeOf(l.DT))
	case l.Refractory != nil && !l.Model.Resets():
		graph.Throw(op, "got a Refractory period for a model that is not reset by its spikes: leave it out, its own "+
			"equations have one")
	case l.Substeps < 0:
		graph.Throw(op, "got Substeps = %d, want at least 1, or 0 for one", l.Substeps)
	}
	constants := append(l.Model.Constants(), positive("DT", l.DT))
	if l.Synapse != nil {
		constants = append(constants, l.Synapse.Constants()...)
	}
	if l.Refractory != nil {
		constants = append(constants, atLeastZero("Refractory", l.Refractory))
	}
	check(op, constants)
	if longest := known(l.Model.Longest()); longest != nil {
		for _, h := range known(l.substep()) {
			for i, most := range longest {
				if h > most*(1+1e-6) {
					graph.Throw(op, "a substep of %.6g ms is longer than %.6g ms, which unit %d follows: take a "+
						"shorter DT or more Substeps", h, most, i)
				}
			}
		}
	}
}

// substep is the length of one, ms.
func (l Layer) substep() *graph.Array {
	if l.Substeps > 1 {
		return l.DT.Div(float64(l.Substeps))
	}
	return l.DT
}

// Step takes DT ms: from a state and what arrives to the next state and how often each unit spiked, f32[units], at most
// once in a substep. In each substep synapses decay and receive, currents flow, then who is above where it spikes
// spikes and is reset. So a spike is out in the step in which its potential was reached, as in Brian and BrainPy; the
// cells of package nn send it in the step behind.
func (l Layer) Step(s LayerState, a Arrivals) (next LayerState, spikes *graph.Array) {
	s, spikes = l.Fire(l.Integrate(s, a))
	if l.Substeps <= 1 {
		return s, spikes
	}
	type carry struct {
		S      LayerState
		Spikes *graph.Array
	}
	a.Excitatory, a.Inhibitory = nil, nil
	last := graph.ForiLoop(1, l.Substeps, func(_ *graph.Array, c carry) carry {
		next, more := l.Fire(l.Integrate(c.S, a))
		return carry{next, c.Spikes.Add(more)}
	}, carry{s, spikes})
	return last.S, last.Spikes
}

// Apply runs along time: from a state and arrivals whose arrays are [steps, units] to the last state and all spikes
// [steps, units].
func (l Layer) Apply(s LayerState, a Arrivals) (last LayerState, spikes *graph.Array) {
	return graph.Scan(l.Step, s, a)
}

// Integrate is the first half of a substep: synapses decay and receive, then all variables go on, nobody spikes.
func (l Layer) Integrate(s LayerState, a Arrivals) LayerState {
	h := l.substep()
	if l.Synapse != nil {
		s.Synapses = l.Synapse.Receive(l.Synapse.Decay(s.Synapses, h), a)
	}
	m, in := l.Model, l.input(s, a)
	if s.Waiting != nil && m.Resets() {
		s.Waiting = s.Waiting.Sub(1).Max(0)
		m = held{m, s.Waiting.Gt(0)}
	}
	s.Neurons = l.Integrator.step(m, s.Neurons, in, h)
	if !m.Resets() { // from below again
		s.Waiting = graph.Select(m.Excess(s.Neurons).Ge(0), s.Waiting, graph.ZerosLike(s.Waiting))
	}
	return s
}

// held is a model some of whose units keep their potential.
type held struct {
	Model
	Still *graph.Array // bool[units]
}

func (m held) Derivative(s State, in Input) (change, slope State) {
	change, slope = m.Model.Derivative(s, in)
	change[0] = graph.Select(m.Still, graph.ZerosLike(change[0]), change[0])
	return change, slope
}

// input is what flows in through synapses and the electrode.
func (l Layer) input(s LayerState, a Arrivals) Input {
	in := Input{Current: a.Current}
	if l.Synapse == nil && (a.Excitatory != nil || a.Inhibitory != nil) {
		graph.Throw("neuron.Layer", "got arrivals at synapses, but there is no Synapse: give the layer one, or "+
			"arrivals a Current")
	}
	if l.Synapse != nil {
		in = l.Synapse.Input(s.Synapses)
		if a.Current != nil {
			in.Current = in.Current.Add(a.Current)
		}
	}
	if in.Current == nil {
		in.Current = graph.ZerosLike(s.Neurons[0])
	}
	return in
}

// Fire is the other half: who is above where it spikes spikes, f32[units], 1 or 0, and is reset.
func (l Layer) Fire(s LayerState) (next LayerState, spikes *graph.Array) {
	spike := l.Spike
	if spike == nil {
		spike = hard
	}
	spikes = spike(l.Model.Excess(s.Neurons))
	if s.Waiting != nil {
		spikes = graph.Select(s.Waiting.Gt(0), graph.ZerosLike(spikes), spikes)
	}
	spiking := spikes.Gt(.5)
	if s.Waiting != nil {
		waits := graph.OnesLike(s.Waiting)
		if l.Model.Resets() {
			waits = graph.ZerosLike(waits).Add(l.Refractory).Div(l.substep()).Round()
		}
		s.Waiting = graph.Select(spiking, waits, s.Waiting)
	}
	reset := l.Model.Reset(s.Neurons)
	after := make(State, len(reset))
	for i := range after {
		after[i] = graph.Select(spiking, reset[i], s.Neurons[i])
	}
	s.Neurons = after
	return s, spikes
}

// hard is 1 from 0 on.
func hard(excess *graph.Array) *graph.Array {
	return graph.NoDerivative("neuron.Layer", "got asked for the derivative of its spikes, which have none: give the "+
		"Layer a Spike, such as nn.Surrogate{}.Spike, "+
		"or wrap the spikes in graph.StopGradient", func(excess *graph.Array) *graph.Array {
		return excess.Ge(0).Convert(excess.DType())
	})(excess)
}
