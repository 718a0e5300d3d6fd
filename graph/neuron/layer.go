package neuron

import (
	"math"

	"xlarun/graph"
)

// Layer is units of one model, their synapses, and how time goes for them.
type Layer struct {
	Model      Model
	Synapse    Synapse    // nil: none, all that flows in comes through an electrode (Arrivals.Current)
	Integrator Integrator // "": ExponentialEuler
	DT         float64    // ms of a step
	Substeps   int        // a step is so many of DT/Substeps; 0: one
	Refractory float64    // ms after a spike in which the potential stands still and nothing spikes, rounded to substeps
	// Early reads spikes off what the step began with, as the cells of package nn do; otherwise they are read at its end, as in Brian and
	// BrainPy, and a spike is out in the step in which its potential was reached.
	Early bool
}

// LayerState is what a layer carries from step to step.
type LayerState struct {
	Neurons  State        // by Model.Variables
	Synapses State        // by Synapse.Start; none without synapses
	Waiting  *graph.Array `tree:"optional"` // substeps until a unit can spike again; nil where all always can
}

// Start is so many units at rest, after a check of the layer's numbers.
func (l Layer) Start(units int) LayerState {
	l.check(units)
	s := LayerState{Neurons: l.Model.Start(units)}
	if l.Synapse != nil {
		s.Synapses = l.Synapse.Start(units)
	}
	if l.waits() {
		s.Waiting = graph.Zeros(graph.ShapeOf(graph.Float32, units))
	}
	return s
}

// Check throws what is wrong with a layer's settings and with those of its constants that have values.
func (l Layer) check(units int) {
	const op = "neuron.Layer"
	switch {
	case units < 1:
		graph.Throw(op, "got %d units, want at least 1", units)
	case l.Model == nil:
		graph.Throw(op, "got no Model, want one as NewLIF makes it")
	case !(l.DT > 0) || math.IsInf(l.DT, 0):
		graph.Throw(op, "got DT = %v ms, want a number above 0", l.DT)
	case l.Substeps < 0:
		graph.Throw(op, "got Substeps = %d, want at least 1, or 0 for one", l.Substeps)
	case !(l.Refractory >= 0) || math.IsInf(l.Refractory, 0):
		graph.Throw(op, "got Refractory = %v ms, want a number at least 0", l.Refractory)
	}
	check(op, l.Model.Constants())
	if l.Synapse != nil {
		check(op, l.Synapse.Constants())
	}
	for i, longest := range known(l.Model.Longest()) {
		if l.h() > longest*(1+1e-6) {
			graph.Throw(op, "a substep of %v ms is longer than %v ms, the shortest time constant of unit %d: take more Substeps or a shorter DT", l.h(), longest, i)
		}
	}
}

func (l Layer) substeps() int { return max(l.Substeps, 1) }

// h is the length of a substep, ms.
func (l Layer) h() float64 { return l.DT / float64(l.substeps()) }

// refractory is the period in substeps.
func (l Layer) refractory() float64 { return math.Round(l.Refractory / l.h()) }

func (l Layer) waits() bool { return !l.Model.Resets() || l.refractory() > 0 }

// Step takes DT ms: from a state and what arrives to the next state and how often each unit spiked, f32[units], which is 0 or 1 where
// the refractory period is at least DT or there are no substeps. Synapses decay, then receive, then flow for the substep.
func (l Layer) Step(s LayerState, a Arrivals) (next LayerState, spikes *graph.Array) {
	s, spikes = l.substep(l.receive(s, a), a)
	if more := l.substeps() - 1; more > 0 {
		type carry struct {
			S      LayerState
			Spikes *graph.Array
		}
		last := graph.ForiLoop(0, more, func(_ *graph.Array, c carry) carry {
			next, spikes := l.substep(l.receive(c.S, Arrivals{}), a)
			return carry{next, graph.Add(c.Spikes, spikes)}
		}, carry{s, spikes})
		s, spikes = last.S, last.Spikes
	}
	return s, spikes
}

// Apply runs along time: from a state and arrivals whose arrays are [steps, units] to the last state and all spikes [steps, units].
func (l Layer) Apply(s LayerState, a Arrivals) (last LayerState, spikes *graph.Array) {
	return graph.Scan(l.Step, s, a)
}

// receive lets synapses decay for a substep and adds arrivals.
func (l Layer) receive(s LayerState, a Arrivals) LayerState {
	if l.Synapse != nil {
		s.Synapses = l.Synapse.Receive(l.Synapse.Decay(s.Synapses, l.h()), a)
	}
	return s
}

func (l Layer) substep(s LayerState, a Arrivals) (next LayerState, spikes *graph.Array) {
	in := l.input(s, a)
	if l.Early {
		s, spikes = l.fire(s)
		return l.integrate(s, in), spikes
	}
	return l.fire(l.integrate(s, in))
}

// input is what flows in through synapses and the electrode.
func (l Layer) input(s LayerState, a Arrivals) Input {
	in := Input{Current: a.Current}
	if l.Synapse != nil {
		in = l.Synapse.Input(s.Synapses)
		if a.Current != nil {
			in.Current = graph.Add(in.Current, a.Current)
		}
	}
	if in.Current == nil {
		in.Current = graph.ZerosLike(s.Neurons[0])
	}
	return in
}

// integrate lets a substep pass without spikes.
func (l Layer) integrate(s LayerState, in Input) LayerState {
	v := s.Neurons[0]
	s.Neurons = l.Integrator.step(l.Model, s.Neurons, in, l.h())
	switch {
	case !l.waits():
	case l.Model.Resets():
		s.Waiting = graph.Max(graph.Sub(s.Waiting, 1), 0)
		s.Neurons[0] = graph.Select(graph.Gt(s.Waiting, 0), v, s.Neurons[0])
	default:
		s.Waiting = graph.Select(l.Model.Spiking(s.Neurons), s.Waiting, 0)
	}
	return s
}

// fire finds the units that spike and resets them.
func (l Layer) fire(s LayerState) (next LayerState, spikes *graph.Array) {
	spiking := l.Model.Spiking(s.Neurons)
	if s.Waiting != nil {
		spiking = graph.And(spiking, graph.Le(s.Waiting, 0))
		s.Waiting = graph.Select(spiking, max(l.refractory(), 1), s.Waiting)
	}
	reset := l.Model.Reset(s.Neurons)
	after := make(State, len(reset))
	for i := range after {
		after[i] = graph.Select(spiking, reset[i], s.Neurons[i])
	}
	s.Neurons = after
	return s, graph.Convert(spiking, graph.Float32)
}
