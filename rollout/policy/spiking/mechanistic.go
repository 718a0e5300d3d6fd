package spiking

import (
	"math"

	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/graph/nn"
	"xlarun/rollout/settings"
)

func init() {
	for model := range finest {
		MustRegister("mechanistic:"+model, mechanistic{model, pulses})
		MustRegister("mechanistic:"+model+":current", mechanistic{model, currents})
		MustRegister("mechanistic:"+model+":conductance", mechanistic{model, conductances})
		MustRegister("mechanistic:"+model+":shunt", mechanistic{model, shunts})
	}
}

// How spikes reach neurons of package neuron.
const (
	pulses       = ""            // at once: a current for one substep
	currents     = "current"     // currents that decay
	conductances = "conductance" // conductances that decay
	shunts       = "shunt"       // at once: a conductance for the first h of a substep
)

// mechanistic is a dynamics of package neuron. A neuron has, with G = Threshold - Rest,
//
//	C  = 200 pF, GL = C/Membrane
//	I  = GL*Drive                                                 a constant current
//	h  = dt/n with the smallest n for which h is at most finest[model]
//	lif        EL = Rest; a spike subtracts Threshold - Reset. With pulses it subtracts exp(dt/Membrane) times that,
//	           because the potential leaks before the substep ends
//	expif      DeltaT = G/10, VT = Threshold + DeltaT, Peak = VT + 5*DeltaT
//	adex       the same, TauW = Adaptation, A = 0, B = GL*Jump
//	izhikevich with k = 4/(G*Membrane): k*(v - Rest)*(v - Threshold), Peak = Threshold + G, A = 1/Adaptation, B = 0,
//	           C = Reset, D = Jump/Membrane
//	hh         conductances of 100 and 30 nS per pF, VT = Threshold - 3 mV; a spike is counted at (Threshold + ENa)/2;
//	           Reset, Jump and Adaptation are not used
//
// The smallest current that makes a neuron spike is the same for lif, expif, adex and izhikevich, and close to it for
// hh. A weight of w mV arrives as
//
//	pulses        w*GL/(1 - exp(-dt/Membrane)) pA for one substep: at its end, a neuron of lif is w higher
//	current       w*GL*(1 - exp(-h/Synapse))/(1 - exp(-h/Membrane)) pA at first, which decays with Synapse:
//	              the same charge
//	conductance   the same over E - (Rest + Threshold)/2, nS, for the reversal potential E of its sign: the same
//	              charge midway between rest and threshold
//	shunt         pulses over E - (Rest + Threshold)/2, nS, n times as much for one h
//
// So mechanistic:lif equals fast, spike by spike, and mechanistic:lif:current equals fast:cubalif. With conductances,
// mechanistic:lif:shunt and mechanistic:lif:conductance are closest to them.
type mechanistic struct{ model, synapse string }

// finest is the longest step of each model, in ms. lif is solved exactly with any step.
var finest = map[string]float64{"lif": math.Inf(1), "expif": .25, "adex": .25, "izhikevich": .25, "hh": .1}

func (d mechanistic) BySign() bool { return d.synapse == conductances || d.synapse == shunts }

func (d mechanistic) Check(s *Settings, prefix string) error {
	if d.model == "hh" {
		switch {
		case s.Refractory > 0:
			return settings.Wrong(prefix+"refractory", s.Refractory, "0: the channels of %s recover by themselves",
				s.Dynamics)
		case s.Reset.Value != s.Rest.Value:
			return settings.Wrong(prefix+"reset", s.Reset.Value, "%srest, %g: no spike of %s is reset", prefix,
				s.Rest.Value, s.Dynamics)
		}
	}
	if inner := s.DT.Value / finest[d.model]; inner > mostInner {
		return settings.Wrong(prefix+"dt", s.DT.Value, "at most %g: a substep of %s is cut into steps of %g ms, %d "+
			"at most", mostInner*finest[d.model], s.Dynamics, finest[d.model], int(mostInner))
	}
	if !d.BySign() {
		return nil
	}
	if top := s.Rest.Value + s.ThresholdMax.Value; s.ReversalE.Value <= top {
		return settings.Wrong(prefix+"reversal-excitatory", s.ReversalE.Value, "more than the greatest threshold, "+
			"%srest + %sthreshold-max = %g", prefix, prefix, top)
	}
	if s.ReversalI.Value >= s.Rest.Value {
		return settings.Wrong(prefix+"reversal-inhibitory", s.ReversalI.Value, "less than %srest, %g", prefix,
			s.Rest.Value)
	}
	return nil
}

// mostInner is the largest number of a model's steps in a substep.
const mostInner = 4096.

// mechanism is a layer as Prepare lays it out.
type mechanism struct {
	Layer     neuron.Layer
	Surrogate nn.Surrogate
	PerMV     *graph.Array // 1/G: the unit of potentials in surrogates
	Drive     *graph.Array // pA
	Excites   *graph.Array // pA or nS for each mV of input
	Inhibits  *graph.Array `tree:"optional"` // nS for each mV of input, with conductances
}

// mechanismState holds a layer's state and the spikes that it sends in the next substep.
type mechanismState struct {
	Layer  neuron.LayerState
	Spikes *graph.Array
}

func (d mechanistic) Prepare(s *Settings, n Neurons) any {
	inner := max(int(math.Ceil(s.DT.Value/finest[d.model]-1e-6)), 1)
	dt := s.DT.Array()
	h := dt.Div(float64(inner))
	left := func(t, tau *graph.Array) *graph.Array { return t.Div(tau).Neg().Exp() }
	leak := graph.Div(capacitance, n.Membrane)
	m := mechanism{Surrogate: s.surrogate(), PerMV: n.Threshold.Sub(n.Rest).Reciprocal(),
		Drive: leak.Mul(n.Drive)}
	m.Layer = neuron.Layer{Model: d.neurons(n, leak, left(dt, n.Membrane)), DT: dt, Substeps: inner}
	if s.Refractory > 0 {
		m.Layer.Refractory = graph.Scalar(s.Refractory)
	}
	tau := n.Synapse
	switch d.synapse {
	case pulses:
		m.Excites = leak.Div(graph.Sub(1, left(dt, n.Membrane)))
		return m
	case shunts:
		m.Excites, tau = graph.Mul(float64(inner), leak.Div(graph.Sub(1, left(dt, n.Membrane)))),
			graph.ZerosLike(tau)
	default:
		m.Excites = leak.Mul(graph.Sub(1, left(h, tau)).Div(graph.Sub(1, left(h, n.Membrane))))
	}
	if d.synapse == currents {
		m.Layer.Synapse = neuron.Currents{Tau: tau}
		return m
	}
	middle := graph.Mul(.5, n.Rest.Add(n.Threshold))
	m.Inhibits = m.Excites.Div(middle.Sub(s.ReversalI.Array()))
	m.Excites = m.Excites.Div(s.ReversalE.Array().Sub(middle))
	m.Layer.Synapse = neuron.Conductances{TauE: tau, TauI: tau, EE: s.ReversalE.Array(), EI: s.ReversalI.Array()}
	return m
}

// capacitance is the capacitance of all neurons, in pF. Currents and conductances are proportional to it, so that
// spikes do not depend on it.
const capacitance = 200

// neurons returns the model's neurons. leak is the leak conductance in nS, left the decay factor in a substep.
func (d mechanistic) neurons(n Neurons, leak, left *graph.Array) neuron.Model {
	c := graph.FullLike(leak, capacitance)
	way := n.Threshold.Sub(n.Rest)
	switch d.model {
	case "lif":
		reset := n.Reset
		if d.synapse == pulses || d.synapse == shunts {
			reset = n.Threshold.Sub(n.Threshold.Sub(n.Reset).Div(left))
		}
		return neuron.LIF{C: c, GL: leak, EL: n.Rest, Threshold: n.Threshold, VReset: reset, Subtract: true}
	case "izhikevich":
		k := graph.Div(4, way.Mul(n.Membrane))
		return neuron.Izhikevich{Cm: c, Square: k, Linear: k.Mul(n.Rest.Add(n.Threshold)).Neg(),
			Constant: k.Mul(n.Rest.Mul(n.Threshold)),
			A:        n.Adaptation.Reciprocal(), B: graph.ZerosLike(k), C: n.Reset,
			D:    n.Jump.Div(n.Membrane),
			Peak: n.Threshold.Add(way)}
	case "hh":
		m := neuron.NewHodgkinHuxley()
		m.C, m.GL, m.EL, m.GNa, m.GK = c, leak, n.Rest, graph.Mul(100, c), graph.Mul(30, c)
		m.VT, m.Threshold = n.Threshold.Sub(3), graph.Mul(.5, n.Threshold.Add(m.ENa))
		return m
	}
	delta := graph.Mul(.1, way)
	e := neuron.ExpIF{C: c, GL: leak, EL: n.Rest, VT: n.Threshold.Add(delta), DeltaT: delta,
		Peak: n.Threshold.Add(graph.Mul(6, delta)), VReset: n.Reset}
	switch d.model {
	case "expif":
		return e
	case "adex":
	default:
		graph.Throw("spiking.Mechanistic", "got the model %q, which has no mapping of genes", d.model)
	}
	return neuron.AdEx{ExpIF: e, TauW: n.Adaptation, A: graph.ZerosLike(leak), B: leak.Mul(n.Jump)}
}

func (mechanistic) Start(p any) any {
	m := read[mechanism]("Mechanistic", p)
	return mechanismState{m.Layer.Start(m.PerMV.Dim(0)), graph.ZerosLike(m.PerMV)}
}

func (mechanistic) Spikes(_, state any) *graph.Array {
	return read[mechanismState]("Mechanistic", state).Spikes
}

// Potential is that of the state. The first variable of all models is the potential.
func (mechanistic) Potential(_ Neurons, state any) *graph.Array {
	return read[mechanismState]("Mechanistic", state).Layer.Neurons[0]
}

// Step computes the substep and keeps the spikes for the next one.
func (mechanistic) Step(p, state any, _ *graph.Array, in Input) any {
	m, prev := read[mechanism]("Mechanistic", p), read[mechanismState]("Mechanistic", state)
	l, a := m.Layer, neuron.Arrivals{Current: m.Drive}
	l.Spike = func(excess *graph.Array) *graph.Array { return m.Surrogate.Spike(excess.Mul(m.PerMV)) }
	switch {
	case m.Inhibits != nil:
		a.Excitatory, a.Inhibitory = in.Excitation.Mul(m.Excites), in.Inhibition.Mul(m.Inhibits)
	case l.Synapse != nil:
		a.Excitatory = in.Sum.Mul(m.Excites)
	default:
		a.Current = m.Drive.Add(in.Sum.Mul(m.Excites))
	}
	next, spikes := l.Step(prev.Layer, a)
	return mechanismState{next, spikes.Min(1)}
}
