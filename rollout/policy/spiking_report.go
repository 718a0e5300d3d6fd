package policy

import (
	"xlarun/graph"
	"xlarun/rollout/settings"
)

// OperationEnergy is the least energy of a synaptic operation, one spike at one synapse, on Loihi, in pJ (Davies et
// al., "Loihi: a neuromorphic manycore processor with on-chip learning", IEEE Micro 38(1), 2018, table 1). Neurons and
// the idle chip are not included.
const OperationEnergy = 23.6

// spikingReports are the names of what networks of spiking neurons report: the spikes a second of a neuron, the
// synaptic operations of an episode, and their energy on neuromorphic hardware in nJ (see OperationEnergy).
var spikingReports = []string{"spike_rate_hz", "synaptic_operations", "energy_nj"}

// Report counts the spikes that arrived so far. An operation is a spike at one synapse. Spikes of inputs count, too.
// For the encoder current they are the mean number that the encoder rate would send.
func (s *Spiking) Report(c spikingState) *graph.Array {
	operations := c.Sent.Sum().Mul(float32(s.Hidden[0]))
	spikes, neurons := graph.Scalar(0), 0
	for i, l := range c.Layers {
		sent, synapses := l.Sent.Sum(), s.outputs
		if i+1 < len(s.Hidden) {
			synapses = s.Hidden[i+1]
		}
		if s.Recurrent {
			synapses += s.Hidden[i]
		}
		spikes, neurons = spikes.Add(sent), neurons+s.Hidden[i]
		operations = operations.Add(sent.Mul(float32(synapses)))
	}
	seconds := c.Steps.Mul(s.DT.Array()).Mul(float32(s.Substeps) / 1000)
	rate := spikes.Div(seconds.Max(1e-30).Mul(float32(neurons)))
	return graph.Stack([]*graph.Array{rate, operations, operations.Mul(float32(OperationEnergy / 1000))}, 0)
}

// Describe returns the settings of the network and of the map from genes (package spiking).
func (s *Spiking) Describe(SpikingParams) (map[string]any, error) {
	both := func(low, high settings.Number) []float64 { return []float64{low.Value, high.Value} }
	return map[string]any{
		"hidden": s.Hidden, "dynamics": s.Dynamics, "encoder": s.Encoder, "decoder": s.Decoder,
		"substeps": s.Substeps, "dt": s.DT.Value, "rate": s.Rate.Value, "gain": s.Gain.Value,
		"weight_scale": s.WeightScale.Value, "rest": s.Rest.Value, "reset": s.Reset.Value,
		"tau": both(s.TauMin, s.TauMax), "synapse": both(s.SynapseMin, s.SynapseMax),
		"adaptation": both(s.AdaptationMin, s.AdaptationMax), "threshold": both(s.ThresholdMin, s.ThresholdMax),
		"jump": both(s.JumpMin, s.JumpMax), "reversal": both(s.ReversalE, s.ReversalI),
		"delay": s.Delay, "fields": s.Fields, "change": s.Change, "refractory": s.Refractory,
		"recurrent": s.Recurrent, "plasticity": s.Plasticity, "plasticity_rate": s.PlasticityRate,
		"plasticity_tau": s.PlasticityTau, "plasticity_bound": s.PlasticityBound,
	}, nil
}
