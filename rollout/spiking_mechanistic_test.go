package rollout_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/neuron"
	"xlarun/rollout/policy/spiking"
	"xlarun/rollout/settings"
)

// counts returns the spikes of neurons in a number of substeps under a dynamics, for genes of a constant current and a
// weight whose spike arrives in each substep.
func counts(t *testing.T, s spiking.Settings, drive, arrives []float32, steps int) []float64 {
	t.Helper()
	d, err := s.Check("")
	require.NoError(t, err)
	zeros := graph.Zeros(graph.ShapeOf(graph.Float32, len(drive)))
	p := d.Prepare(&s, s.Neurons(spiking.Genes{B: graph.Float32s(drive), Membrane: zeros,
		Synapse: zeros, Adaptation: zeros, Threshold: zeros, Jump: zeros}))
	x := s.Weight(graph.Float32s(arrives))
	in := spiking.Input{Sum: x}
	if d.BySign() {
		in = spiking.Input{Excitation: x.Max(0), Inhibition: x.Neg().Max(0)}
	}
	_, all := graph.Scan(func(state any, _ graph.None) (any, *graph.Array) {
		now := d.Spikes(p, state)
		return d.Step(p, state, now, in), now
	}, d.Start(p), graph.None{}, graph.Length(steps))
	return floats(t, all.Sum(0))
}

// One gene of a constant current means the same for all models: a current that lifts lif to 0.6 of the threshold makes
// no model spike, 1.5 of it does, and more makes more spikes. Inputs excite and inhibit through all kinds of synapses.
func TestModelsBeginToSpikeAtOneCurrent(t *testing.T) {
	for _, m := range neuron.Models() {
		for _, synapse := range []string{"", ":current", ":conductance", ":shunt"} {
			s := spiking.Defaults()
			s.Dynamics = "mechanistic:" + m + synapse
			got := counts(t, s, []float32{0, .6, 1.5, 3, 1.5, 1.5}, []float32{0, 0, 0, 0, .1, -.1}, 120)
			require.Zero(t, got[0]+got[1], s.Dynamics)
			require.Greater(t, got[2], 1., s.Dynamics)
			require.Greater(t, got[3], got[2], s.Dynamics)
			require.Greater(t, got[4], got[2], s.Dynamics)
			require.Less(t, got[5], got[2], s.Dynamics)
		}
	}
}

// A refractory period bounds the rate of a neuron.
func TestRefractoryPeriod(t *testing.T) {
	for _, name := range []string{"mechanistic:lif", "mechanistic:expif:conductance"} {
		s := spiking.Defaults()
		s.Dynamics = name
		require.Greater(t, counts(t, s, []float32{0}, []float32{5}, 50)[0], 20., name)
		s.Refractory = 5
		require.InDelta(t, 9, counts(t, s, []float32{0}, []float32{5}, 50)[0], 2, name)
	}
}

// Settings that mechanistic dynamics do not take are refused.
func TestBadMechanisticSettings(t *testing.T) {
	for _, c := range []struct {
		number int
		change func(s *spiking.Settings)
		want   string
	}{
		{1, func(s *spiking.Settings) { s.Dynamics = "mechanistic:adx" },
			`p.dynamics: got "mechanistic:adx", want one of `},
		{2, func(s *spiking.Settings) {
			s.Dynamics, s.Refractory = "mechanistic:hh", 2
		}, `p.refractory: got 2, want 0: the channels of mechanistic:hh recover by themselves`},
		{3, func(s *spiking.Settings) {
			s.Dynamics, s.Reset = "mechanistic:hh", settings.Num(-70)
		}, `p.reset: got -70, want p.rest, -65: no spike of mechanistic:hh is reset`},
		{4, func(s *spiking.Settings) {
			s.Dynamics, s.ReversalE = "mechanistic:lif:conductance", settings.Num(-20)
		}, `p.reversal-excitatory: got -20, want more than the greatest threshold, p.rest + p.threshold-max = -20`},
		{5, func(s *spiking.Settings) {
			s.Dynamics, s.ReversalI = "mechanistic:lif:conductance", settings.Num(-60)
		}, `p.reversal-inhibitory: got -60, want less than p.rest, -65`},
		{6, func(s *spiking.Settings) {
			s.Refractory = 2
		}, `p.refractory: got 2, want 0: with the dynamics fast neurons can spike in every substep`},
	} {
		s := spiking.Defaults()
		c.change(&s)
		_, err := s.Check("p.")
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.IsType(t, &settings.Error{}, err)
	}
	for _, m := range neuron.Models() {
		require.Contains(t, strings.Join(spiking.Names(), " "), "mechanistic:"+m+
			" mechanistic:"+m+":conductance mechanistic:"+m+":current")
	}
}
