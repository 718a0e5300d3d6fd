package nn

import "xlarun/graph"

// SpikeRate reads trains [steps, …] by how many spikes they have: the mean of a step […]. See LI for a reading that
// forgets.
func SpikeRate(spikes *graph.Array) *graph.Array {
	wantTrains("nn.SpikeRate", spikes)
	return spikes.Mean(0)
}

// FirstSpike reads trains [steps, …] by when their first spike is: (steps-t)/steps […] with t its step, counted from 0;
// 0 where there is none.
func FirstSpike(spikes *graph.Array) *graph.Array {
	wantTrains("nn.FirstSpike", spikes)
	n := spikes.Dim(0)
	return spikes.Mul(numbered(spikes.Index(0), n, 1, -1/float64(n))).ReduceMax(0)
}

// PopulationVector reads units by what each of them stands for: the mean of their preferred vectors [units, out],
// weighted by how much each spiked [units] (Georgopoulos, Schwartz and Kettner, "Neuronal population coding of movement
// direction", 1986): [out], zeros where none did.
func PopulationVector(spiked, preferred *graph.Array) *graph.Array {
	const op = "nn.PopulationVector"
	if preferred == nil || preferred.Rank() != 2 {
		graph.Throw(op, "got preferred vectors %v, want [units, out]", preferred)
	}
	wantLast(op, "spiked", spiked, preferred.Dim(0))
	total := spiked.Sum(-1)
	some := graph.Select(total.Eq(0), graph.OnesLike(total), total)
	return spiked.Dot(preferred).Div(some)
}

// wantTrains refuses what has no steps.
func wantTrains(op string, spikes *graph.Array) {
	if spikes == nil || spikes.Rank() == 0 || spikes.Dim(0) == 0 {
		graph.Throw(op, "got the spikes %v, want [steps, …] with a step or more", spikes)
	}
}
