package nn

import "xlarun/graph"

// SpikeRate decodes trains [steps, …] as mean spikes per step […]. See LI for a leaky readout.
func SpikeRate(spikes *graph.Array) *graph.Array {
	wantTrains("nn.SpikeRate", spikes)
	return spikes.Mean(0)
}

// FirstSpike decodes trains [steps, …] by the step t of their first spike: (steps-t)/steps […], t counted from 0; 0 if
// there is no spike.
func FirstSpike(spikes *graph.Array) *graph.Array {
	wantTrains("nn.FirstSpike", spikes)
	n := spikes.Dim(0)
	value := leadingIota(spikes.Index(0), n).Mul(-1 / float64(n)).Add(1)
	return spikes.Mul(value).ReduceMax(0)
}

// PopulationVector is the mean of the units' preferred vectors [units, out], weighted by their rates [units]
// (Georgopoulos, Schwartz and Kettner, "Neuronal population coding of movement direction", 1986): [out], zeros if all
// rates are 0.
func PopulationVector(rates, preferred *graph.Array) *graph.Array {
	const op = "nn.PopulationVector"
	if preferred == nil || preferred.Rank() != 2 {
		graph.Throw(op, "got preferred vectors %v, want [units, out]", preferred)
	}
	wantLast(op, "rates", rates, preferred.Dim(0))
	total := rates.Sum(-1)
	divisor := graph.Select(total.Eq(0), graph.OnesLike(total), total)
	return rates.Dot(preferred).Div(divisor)
}

// wantTrains refuses trains without steps.
func wantTrains(op string, spikes *graph.Array) {
	if spikes == nil || spikes.Rank() == 0 || spikes.Dim(0) == 0 {
		graph.Throw(op, "got the spikes %v, want [steps, …] with a step or more", spikes)
	}
}
