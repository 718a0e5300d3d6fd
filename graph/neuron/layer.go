package neuron

import "xlarun/graph"

// Layer is units of one model with their synapses and integration parameters.
type Layer struct {
	Model      Model
	Synapse    Synapse      // nil: all input is through an electrode (Arrivals.Current)
	Integrator Integrator   // "": ExponentialEuler
	DT         *graph.Array // []: length of a step, ms
	Substeps   int          // number of substeps of DT/Substeps ms in a step; 0: 1
	// Refractory is the refractory period in ms, rounded to substeps, [units] or []; nil: none. After a spike the
	// potential is constant for so long, and the unit does not spike.
	Refractory *graph.Array `tree:"optional"`
	// Spike maps the excess over the threshold, in mV, to spikes, 1 or 0. nil: 1 where the excess is 0 or more, without
	// a derivative. Surrogates of package nn have a derivative.
	Spike func(excess *graph.Array) *graph.Array
}

// LayerState is the state of a layer.
type LayerState struct {
	Neurons  State        // by Model.Variables
	Synapses State        // by Synapse.Start; none without synapses
	Waiting  *graph.Array `tree:"optional"` // [units]: substeps until a unit can spike again; nil: always
}

// Start is the state at rest. It checks the layer, and the values of concrete constants.
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
		graph.Throw(op, "got a Refractory period for a model without reset: leave it out, the model's equations "+
			"have one")
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
	if longest := concreteValues(l.Model.Longest()); longest != nil {
		for _, h := range concreteValues(l.substep()) {
			for i, most := range longest {
				if h > most*(1+1e-6) {
					graph.Throw(op, "a substep of %.6g ms is longer than %.6g ms, the longest for unit %d: use a "+
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

// Step advances the layer by DT ms: from a state and arrivals to the next state and the number of spikes of each unit,
// f32[units], at most one in a substep. In each substep synapses decay and receive arrivals, the model integrates its
// equations, and units above their threshold spike and are reset. So a unit spikes in the step in which it reaches the
// threshold, as in Brian and BrainPy; the cells of package nn spike in the next step.
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

// Integrate is the first half of a substep: synapses decay and receive arrivals, then the model integrates its
// equations.
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
	if !m.Resets() { // a unit below its threshold can spike again
		s.Waiting = graph.Select(m.Excess(s.Neurons).Ge(0), s.Waiting, graph.ZerosLike(s.Waiting))
	}
	return s
}

// held is a model where the potential of some units is constant.
type held struct {
	Model
	Still *graph.Array // bool[units]
}

func (m held) Derivative(s State, in Input) (change, slope State) {
	change, slope = m.Model.Derivative(s, in)
	change[0] = graph.Select(m.Still, graph.ZerosLike(change[0]), change[0])
	return change, slope
}

// input is the input through synapses and the electrode.
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

// Fire is the second half of a substep: units above their threshold spike, f32[units], 1 or 0, and are reset.
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
	neurons := make(State, len(reset))
	for i := range neurons {
		neurons[i] = graph.Select(spiking, reset[i], s.Neurons[i])
	}
	s.Neurons = neurons
	return s, spikes
}

// hard is 1 where excess >= 0, else 0.
func hard(excess *graph.Array) *graph.Array {
	return graph.NoDerivative("neuron.Layer", "got asked for the derivative of its spikes, which have none: give the "+
		"Layer a Spike, such as nn.Surrogate{}.Spike, "+
		"or wrap the spikes in graph.StopGradient", func(excess *graph.Array) *graph.Array {
		return excess.Ge(0).Convert(excess.DType())
	})(excess)
}
