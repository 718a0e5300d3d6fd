package policy

import "xlarun/graph"

// OperationEnergy is what a synaptic operation, one spike at one synapse, costs on Loihi at least, in pJ (Davies et
// al., "Loihi: a neuromorphic manycore processor with on-chip learning", IEEE Micro 38(1), 2018, table 1). It leaves
// out what neurons and the idle chip take.
const OperationEnergy = 23.6

// Reports are spikes a second of a neuron, synaptic operations of an episode, and what they would cost on neuromorphic
// hardware (see OperationEnergy), in nJ.
func (s *Spiking) Reports() []string {
	return []string{"spike_rate_hz", "synaptic_operations", "energy_nj"}
}

// Report counts the spikes that arrived so far. An operation is a spike at one of the synapses of who sent it, inputs
// included; those of the encoder current count as what rate would send on average.
func (s *Spiking) Report(carry any) *graph.Array {
	c := stateOf[spikingState]("Spiking.Report", carry)
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

// Describe gives what the genes' mapping (package spiking) and the network need beside them.
func (s *Spiking) Describe(any) (map[string]any, error) {
	return map[string]any{"hidden": s.Hidden, "dynamics": s.Dynamics, "encoder": s.Encoder, "decoder": s.Decoder,
			"substeps": s.Substeps,
			"dt":       s.DT.Value, "rate": s.Rate.Value, "gain": s.Gain.Value, "weight_scale": s.WeightScale.Value,
			"rest": s.Rest.Value, "reset": s.Reset.Value,
			"tau": []float64{s.TauMin.Value, s.TauMax.Value}, "synapse": []float64{
				s.SynapseMin.Value, s.SynapseMax.Value},
			"adaptation": []float64{s.AdaptationMin.Value, s.AdaptationMax.Value}, "threshold": []float64{
				s.ThresholdMin.Value, s.ThresholdMax.Value},
			"jump": []float64{s.JumpMin.Value, s.JumpMax.Value}, "delay": s.Delay, "fields": s.Fields,
			"change":     s.Change,
			"refractory": s.Refractory, "reversal": []float64{s.ReversalE.Value, s.ReversalI.Value},
			"recurrent": s.Recurrent, "plasticity": s.Plasticity,
			"plasticity_rate": s.PlasticityRate, "plasticity_tau": s.PlasticityTau,
			"plasticity_bound": s.PlasticityBound},
		nil
}
