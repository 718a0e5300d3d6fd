package rollout_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/policy/spiking"
	"xlarun/rollout/settings"
)

// Settings.Neurons equals its formulas in plain Go. Any float32 is mapped within bounds.
func TestGenesAreMappedByTheFormula(t *testing.T) {
	s := spiking.Defaults()
	values := []float32{0, 1, -1.5, 30, -30, 3e38}
	genes := graph.Float32s(values)
	n := s.Neurons(spiking.Genes{B: genes, Membrane: genes, Synapse: genes, Adaptation: genes, Threshold: genes,
		Jump: genes})
	for _, c := range []struct {
		name        string
		got         *graph.Array
		least, most float64
		add         float64
	}{
		{"membrane", n.Membrane, 5, 80, 0}, {"synapse", n.Synapse, 1.25, 20, 0}, {"adaptation", n.Adaptation, 25, 400,
			0},
		{"threshold", n.Threshold, 5, 45, -65}, {"jump", n.Jump, .5, 12.5, 0},
	} {
		for i, got := range floats(t, c.got) {
			want := c.add + c.least*math.Pow(c.most/c.least, 1/(1+math.Exp(-float64(values[i]))))
			require.InEpsilon(t, want, got, 1e-5, "%s of the gene %g", c.name, values[i])
		}
	}
	require.InDelta(t, 20, floats(t, n.Membrane)[0], 1e-4)
	require.InDeltaSlice(t, []float64{0, 15, -22.5, 450, -450}, floats(t, n.Drive)[:5], 1e-4)
	require.Equal(t, []float64{-65, -65}, floats(t, n.Rest)[:2])
	s.Delay = 6
	require.Equal(t, []float64{3, 4, 1, 6, 0, 6}, floats(t, s.Steps(genes)))
}

// The fast dynamics equal their formulas: each equals a loop over physical values, in mV and float64.
func TestFastDynamicsAreLoopsInMillivolts(t *testing.T) {
	const units, steps = 7, 200
	for _, name := range []string{"fast", "fast:alif", "fast:cubalif"} {
		t.Run(name, func(t *testing.T) {
			s := spiking.Defaults()
			s.Dynamics = name
			d, err := s.Check("")
			require.NoError(t, err)
			k := random.SplitN(random.New(3), 7)
			each := graph.ShapeOf(graph.Float32, units)
			draw := func(i int) *graph.Array { return random.Normal(k[i], each) }
			n := s.Neurons(spiking.Genes{B: draw(0), Membrane: draw(1), Synapse: draw(2), Adaptation: draw(3),
				Threshold: draw(4), Jump: draw(5)})
			in := random.Normal(k[6], graph.ShapeOf(graph.Float32, steps, units)).Mul(9)
			p := d.Prepare(&s, n)
			_, spikes := graph.Scan(func(state any, x *graph.Array) (any, *graph.Array) {
				now := d.Spikes(p, state)
				return d.Step(p, state, now, spiking.Input{Sum: x}), now
			}, d.Start(p), in)
			got, x := floats(t, spikes), floats(t, in)
			keep := func(tau float64) float64 { return math.Exp(-1 / tau) }
			total, different := 0., 0
			for u := range units {
				at := func(a *graph.Array) float64 { return floats(t, a)[u] }
				rest, threshold, drive := at(n.Rest), at(n.Threshold), at(n.Drive)
				beta, alpha, gamma := keep(at(n.Membrane)), keep(at(n.Synapse)), keep(at(n.Adaptation))
				v, current, raised := rest, (1-beta)*drive, 0.
				for i := range steps {
					spike, arrives := 0., x[i*units+u]+(1-beta)*drive
					if v > threshold+raised {
						spike = 1
					}
					switch name {
					case "fast":
						v = rest + beta*(v-rest) + arrives - spike*(threshold-rest)
					case "fast:alif":
						v = rest + beta*(v-rest) + arrives - spike*(threshold-rest+raised)
						raised = gamma*raised + at(n.Jump)*spike
					case "fast:cubalif":
						current = alpha*current + (1-alpha)*arrives
						v = rest + beta*(v-rest-spike*(threshold-rest)) + current
					}
					total += spike
					if spike != got[i*units+u] {
						different++
					}
				}
			}
			require.Zero(t, different, "spikes of %d", int(total))
			require.Greater(t, total, 50.)
		})
	}
}

// Settings that do not fit are refused.
func TestSpikingBadSettings(t *testing.T) {
	for _, c := range []struct {
		number int
		change func(s *spiking.Settings)
		want   string
	}{
		{1, func(s *spiking.Settings) { s.Dynamics = "fast:alff" }, `p.dynamics: got "fast:alff", want one of `},
		{2, func(s *spiking.Settings) {
			s.DT = settings.Num(6)
			s.SynapseMin = settings.Num(6)
			s.SynapseMax = settings.Num(6)
		},
			`p.dt: got 6, want at most p.tau-min, 5: a substep that is longer than a time constant oversteps it`},
		{3, func(s *spiking.Settings) {
			s.DT = settings.Num(2)
		}, `p.dt: got 2, want at most p.synapse-min, 1.25: a substep that is longer than a time constant oversteps it`},
		{101, func(s *spiking.Settings) {
			s.DT = settings.Num(1e-7)
		},
			`p.tau-max: got 80, want at most 0.1, a million substeps of p.dt: float32 does not tell what is left of ` +
				`a longer one after a substep from all of it`},
		{102, func(s *spiking.Settings) {
			s.Rest, s.Reset = settings.Num(-1e9), settings.Num(-1e9)
		}, `p.rest: got -1e+09, want at most 10000 mV from 0: no neuron is as far, and float32 has few digits there`},
		{103, func(s *spiking.Settings) {
			s.Refractory = 1e300
		}, `p.refractory: got 1e+300, want at most 1e+06 ms, a million substeps of p.dt`},
		{104, func(s *spiking.Settings) {
			s.Dynamics = "mechanistic:hh"
			s.DT = settings.Num(1e9)
			for _, tau := range []*settings.Number{&s.TauMin, &s.TauMax, &s.SynapseMin, &s.SynapseMax, &s.AdaptationMin,
				&s.AdaptationMax} {
				*tau = settings.Num(1e9)
			}
		}, `p.dt: got 1e+09, want at most `},
		{4, func(s *spiking.Settings) { s.TauMax = settings.Num(4) }, `p.tau-max: got 4, want at least p.tau-min, 5`},
		{5, func(s *spiking.Settings) { s.JumpMax = settings.Num(.1) },
			`p.jump-max: got 0.1, want at least p.jump-min, 0.5`},
		{6, func(s *spiking.Settings) {
			s.Reset = settings.Num(-70)
		},
			`p.reset: got -70, want p.rest, -65: with the dynamics fast a spike takes off the way from rest to ` +
				`threshold`},
		{7, func(s *spiking.Settings) {
			s.Reset = settings.Num(-50)
		},
			`p.reset: got -50, want less than the least threshold, p.rest + p.threshold-min = -60: a neuron above it ` +
				`spikes without end`},
	} {
		s := spiking.Defaults()
		c.change(&s)
		_, err := s.Check("p.")
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.IsType(t, &settings.Error{}, err)
	}
	require.ErrorContains(t, spiking.Register("fast", struct{ spiking.Dynamics }{}), "fast is registered already")
	require.ErrorContains(t, spiking.Register("", nil), "want a name and a dynamics")
}
