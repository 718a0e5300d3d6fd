package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/long"

	"xlarun/graph"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy/spiking"
)

// The first grade of parity: neurons of package neuron spike like the fast ones, spike by spike, at the same dt, with
// weights, neurons and inputs from many seeds. Seeds with a potential within 2e-5 of the threshold are left out,
// because float32 may round it to either side. XLARUN_LONG=1 takes 100 times as many seeds.
func TestMechanisticLIFSpikesAsFastDoes(t *testing.T) {
	seeds := 64
	if long.On() {
		seeds *= 100
	}
	const in, units, steps = 12, 10, 80
	for _, c := range []struct {
		number     int
		fast, slow string
		margin     func(state any) *graph.Array
	}{
		{1, "fast", "mechanistic:lif", func(state any) *graph.Array { return state.(*graph.Array) }},
		{2, "fast:cubalif", "mechanistic:lif:current", func(state any) *graph.Array {
			return state.(nn.CuBaLIFState).V
		}},
	} {
		dynamics := func(name string) (s spiking.Settings, d spiking.Dynamics) {
			s = spiking.Defaults()
			s.Dynamics = name
			d, err := s.Check("")
			require.NoError(t, err)
			return s, d
		}
		type result struct{ Fast, Slow, Nearest *graph.Array }
		run := func(key random.Key) result {
			k := random.SplitN(key, 5)
			s, d := dynamics(c.fast)
			genes := s.Draw(k[0], in, units)
			each := graph.ShapeOf(graph.Float32, units)
			genes.B, genes.Threshold = graph.Mul(.3, random.Normal(k[1], each)), random.Normal(k[2], each)
			trains := random.Bernoulli(k[3], .3, steps, in).Convert(graph.Float32)
			arrives := s.Weight(trains.Dot(graph.Mul(1.5, genes.W)))
			play := func(s spiking.Settings, d spiking.Dynamics,
				potential func(state any) *graph.Array) (spikes, nearest *graph.Array) {
				p := d.Prepare(&s, s.Neurons(genes))
				type out struct{ Spikes, Nearest *graph.Array }
				_, all := graph.Scan(func(state any, x *graph.Array) (any, out) {
					now := d.Spikes(p, state)
					o := out{Spikes: now, Nearest: now}
					if potential != nil {
						o.Nearest = potential(state).Sub(1).Abs()
					}
					return d.Step(p, state, now, spiking.Input{Sum: x}), o
				}, d.Start(p), arrives)
				return all.Spikes, all.Nearest.ReduceMin()
			}
			fast, nearest := play(s, d, c.margin)
			s, d = dynamics(c.slow)
			slow, _ := play(s, d, nil)
			return result{fast, slow, nearest}
		}
		r := graph.VMap(run)(random.Split(random.New(int64(c.number)), seeds))
		nearest, fast, slow := floats(t, r.Nearest), floats(t, r.Fast), floats(t, r.Slow)
		compared, spikes := 0, 0.
		for i, n := range nearest {
			if n < 2e-5 {
				continue
			}
			compared++
			one := fast[i*steps*units : (i+1)*steps*units]
			require.Equal(t, one, slow[i*steps*units:(i+1)*steps*units], "case %d, seed %d", c.number, i)
			for _, s := range one {
				spikes += s
			}
		}
		t.Logf(
			"%s and %s: equal spikes by %d of %d seeds, the others too near to the threshold; %.2f of steps have one",
			c.fast, c.slow, compared, seeds, spikes/float64(compared*steps*units))
		require.Greater(t, compared, seeds*3/4)
		require.Greater(t, spikes, float64(compared*steps*units)*.05)
	}
}
