package policy

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/policy/spiking"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

// spikingByHand is a Spiking of LIF neurons in loops over physical values, in float64. It returns the outputs of each
// step, and the report at the end. Every step has the key random.New(0), as in outputs.
func spikingByHand(t *testing.T, s *Spiking, p SpikingParams, xs [][]float64) (out [][]float64, report []float64) {
	type layer struct {
		w, wh                  []float64
		beta, rest, top, drive []float64
		delay                  []int
		v                      []float64
		past                   [][]float64
		units                  int
	}
	dt, scale := s.DT.Value, s.WeightScale.Value
	var layers []*layer
	for _, g := range p.Layers {
		n := s.Neurons(g)
		l := &layer{w: floats(t, g.W), rest: floats(t, n.Rest), top: floats(t, n.Threshold), drive: floats(t, n.Drive),
			units: g.B.Dim(0)}
		l.v = append(l.v, l.rest...)
		for _, tau := range floats(t, n.Membrane) {
			l.beta = append(l.beta, math.Exp(-dt/tau))
		}
		l.delay = make([]int, l.units)
		if g.Delay != nil {
			for i, d := range floats(t, s.Steps(g.Delay)) {
				l.delay[i] = int(d)
			}
		}
		if g.Wh != nil {
			l.wh = floats(t, g.Wh)
		}
		layers = append(layers, l)
	}
	outputs := s.outputs
	wout, bout, keep := floats(t, p.Out.W), floats(t, p.Out.B), floats(t, s.Keep(p.Out.Membrane))
	potential, changed := make([]float64, outputs), make([]float64, s.inputs.n)
	operations, spikes, neurons := 0., 0., 0
	for _, l := range layers {
		neurons += l.units
	}
	for _, x := range xs {
		var u []float64 // channels
		for _, v := range x {
			u = append(u, max(v*s.Gain.Value, 0))
		}
		for _, v := range x {
			u = append(u, max(-v*s.Gain.Value, 0))
		}
		often := func(v float64) float64 { return min(v*s.Rate.Value*dt/1000, 1) }
		trains := make([][]float64, s.Substeps)
		for k := range trains {
			trains[k] = make([]float64, s.channels(s.inputs))
		}
		chance := make([]float32, len(u))
		for i, v := range u {
			chance[i] = float32(often(v))
		}
		switch s.Encoder {
		case "population":
			chance = nil
			for _, v := range x {
				for f := range s.Fields {
					width := 2 / float64(s.Fields-1)
					apart := (v*s.Gain.Value + 1 - float64(f)*width) / width
					chance = append(chance, float32(often(math.Exp(-apart*apart/2))))
				}
			}
			fallthrough
		case "rate":
			drawn := floats(t, random.Uniform(random.New(0), graph.ShapeOf(graph.Float32, s.Substeps, len(chance)), 0,
				1))
			for k := range trains {
				for i, c := range chance {
					if drawn[k*len(chance)+i] < float64(c) {
						trains[k][i] = 1
					}
				}
			}
		case "delta":
			for i, v := range x {
				v *= s.Gain.Value
				if by := v - changed[i]; by > s.Change {
					trains[0][i], changed[i] = 1, v
				} else if by < -s.Change {
					trains[0][len(x)+i], changed[i] = 1, v
				}
			}
		default:
			for k := range trains {
				for i, v := range u {
					switch s.Encoder {
					case "current":
						trains[k][i] = often(v)
					case "regular":
						trains[k][i] = math.Floor(float64(k+1)*often(v)) - math.Floor(float64(k)*often(v))
					case "latency":
						if min(v, 1) > silent && float64(k) == math.RoundToEven((1-min(v, 1))*float64(s.Substeps-1)) {
							trains[k][i] = 1
						}
					}
				}
			}
		}
		counts, first := make([]float64, layers[len(layers)-1].units), make([]float64, layers[len(layers)-1].units)
		for k, in := range trains {
			for _, v := range in {
				operations += v * float64(layers[0].units)
			}
			for at, l := range layers {
				now, arrived := make([]float64, l.units), make([]float64, l.units)
				for j := range now {
					if l.v[j] > l.top[j] {
						now[j] = 1
					}
				}
				l.past = append(l.past, now)
				synapses := outputs
				if at+1 < len(layers) {
					synapses = layers[at+1].units
				}
				if l.wh != nil {
					synapses += l.units
				}
				for j, d := range l.delay {
					if back := len(l.past) - 1 - d; back >= 0 {
						arrived[j] = l.past[back][j]
					}
					spikes, operations = spikes+arrived[j], operations+arrived[j]*float64(synapses)
				}
				for j := range now {
					sum := 0.
					for i, v := range in {
						sum += v * l.w[i*l.units+j]
					}
					for i := range arrived {
						if l.wh != nil {
							sum += arrived[i] * l.wh[i*l.units+j]
						}
					}
					l.v[j] = l.rest[j] + l.beta[j]*(l.v[j]-l.rest[j]) + scale*sum + (1-l.beta[j])*l.drive[j] - now[j]*
						(l.top[j]-l.rest[j])
				}
				in = arrived
			}
			for j, v := range in {
				counts[j] += v
				first[j] = max(first[j], v*float64(s.Substeps-k)/float64(s.Substeps))
			}
			for o := range potential {
				sum := bout[o]
				for j, v := range in {
					sum += v * wout[j*outputs+o]
				}
				potential[o] = keep[o]*potential[o] + (1-keep[o])*sum
			}
		}
		total := 0.
		for _, n := range counts {
			total += n
		}
		y := make([]float64, outputs)
		for o := range y {
			for j := range counts {
				w := wout[j*outputs+o]
				switch s.Decoder {
				case "rate":
					y[o] += w * counts[j] / float64(s.Substeps)
				case "first-spike":
					y[o] += w * first[j]
				case "population-vector":
					y[o] += w * counts[j] / max(total, 1)
				}
			}
			if y[o] += bout[o]; s.Decoder == "membrane" {
				y[o] = potential[o]
			}
		}
		out = append(out, y)
	}
	seconds := float64(len(xs)*s.Substeps) * dt / 1000
	return out, []float64{spikes / seconds / float64(neurons), operations, operations * 23.6e-3}
}

// With all encoders, decoders, feedback and delays, the policy equals spikingByHand, with parameters from Init and from
// Prepare.
func TestSpikingIsTheLoopsByHand(t *testing.T) {
	const steps = 12
	for i, own := range []settings.Values{
		{}, {"encoder": "rate"}, {"encoder": "regular", "decoder": "rate"},
		{"encoder": "latency", "decoder": "first-spike", "gain": 2},
		{"encoder": "delta", "decoder": "population-vector"}, {"encoder": "population", "fields": 3, "rate": 900},
		{"recurrent": true}, {"delay": 5},
		{"delay": 3, "recurrent": true, "substeps": 11, "dt": .5, "rest": -70, "reset": -70, "weight-scale": 30},
		{"substeps": 1, "rate": 1000},
	} {
		t.Run(fmt.Sprint(own), func(t *testing.T) {
			made, _, err := Make("spiking:9,6", own, observation, unbounded(2))
			require.NoError(t, err)
			s := NetworkOf(made).(*Spiking)
			p := s.Init(random.New(int64(i)))
			for l := range p.Layers { // currents of their own, and strong enough weights
				p.Layers[l].B = graph.Mul(.5, random.Normal(random.New(int64(l)), p.Layers[l].B.Shape()))
				p.Layers[l].W = graph.Mul(2, p.Layers[l].W)
			}
			p.Out.B = graph.Float32s([]float32{.25, -.5})
			x := random.Uniform(random.New(int64(20+i)), graph.ShapeOf(graph.Float32, steps, 3), -1, 1)
			flat := floats(t, x)
			var rows [][]float64
			for r := range steps {
				rows = append(rows, flat[3*r:3*r+3])
			}
			want, report := spikingByHand(t, s, p, rows)
			for _, params := range []any{
				p, s.Prepare(p), s.PrepareShared(Shared{Params: p, Factors: make([]Factors, len(graph.Leaves(p)))})} {
				type seen struct{ Y, Report *graph.Array }
				_, got := graph.Scan(func(carry any, x *graph.Array) (any, seen) {
					carry, out := made.Act(params, carry, x, random.New(0))
					return carry, seen{out.Action, made.Traits().Report(carry)}
				}, made.Start(params), x)
				y := floats(t, got.Y)
				moved := 0.
				for r := range want {
					require.InDeltaSlice(t, want[r], y[2*r:2*r+2], 2e-5, "step %d", r)
					moved += math.Abs(want[r][0] - want[0][0])
				}
				require.Greater(t, moved, .01, "the outputs say something")
				last := floats(t, got.Report)[3*(steps-1):]
				for n := range report {
					require.InEpsilon(t, report[n], last[n], 1e-4, spikingReports[n])
				}
			}
		})
	}
}

// bySign is a dynamics that adds excitation and inhibition itself, so that it equals the fast one.
type bySign struct{ spiking.Dynamics }

func (bySign) BySign() bool { return true }
func (b bySign) Step(prepared, state any, spikes *graph.Array, in spiking.Input) any {
	return b.Dynamics.Step(prepared, state, spikes, spiking.Input{Sum: in.Excitation.Sub(in.Inhibition)})
}

// A dynamics with BySign gets excitation and inhibition separately, from formed and from shared matrices.
func TestSpikingInputsBySign(t *testing.T) {
	made, _, err := Make("spiking:9,6", settings.Values{"recurrent": true}, observation, unbounded(2))
	require.NoError(t, err)
	whole := NetworkOf(made).(*Spiking)
	apart := *whole
	apart.dynamics = bySign{whole.dynamics}
	p, x := whole.Init(random.New(4)), random.Normal(random.New(5), graph.ShapeOf(graph.Float32, 8, 3))
	other := Erase(&apart)
	require.InDeltaSlice(t, floats(t, outputs(made, whole.Prepare(p), x)),
		floats(t, outputs(other, apart.Prepare(p), x)), 1e-5)
	shared, _ := factored(p, random.New(6), graph.Scalar(.3))
	require.InDeltaSlice(t, floats(t, outputs(made, whole.PrepareShared(shared), x)),
		floats(t, outputs(other, apart.PrepareShared(shared), x)), 1e-5)
}

// An infinite or NaN potential, whatever its cause, makes the outputs NaN.
func TestDivergingPotentialsAreSeen(t *testing.T) {
	for number, own := range []settings.Values{{}, {"dynamics": "fast:alif"}, {"dynamics": "fast:cubalif"},
		{"encoder": "rate", "decoder": "rate"}, {"decoder": "first-spike", "delay": 2},
		{"decoder": "population-vector", "recurrent": true}} {
		p, _, err := Make("spiking:7,5", own, observation, unbounded(2))
		require.NoError(t, err)
		params := p.Init(random.New(1)).(SpikingParams)
		x := graph.Ones(graph.ShapeOf(graph.Float32, 4, 3))
		for i, v := range floats(t, outputs(p, prepared(p, params), x)) {
			require.False(t, math.IsNaN(v), "case %d: output %d", number, i)
		}
		params.Layers[0].W = params.Layers[0].W.Mul(3e38)
		last := floats(t, outputs(p, prepared(p, params), x))[6:]
		require.True(t, math.IsNaN(last[0]) && math.IsNaN(last[1]), "case %d: %v", number, last)
	}
}

// Bounds scale observations to channels from 0 to 1: two for each element if one may be negative.
func TestSpikingInputs(t *testing.T) {
	for _, c := range []struct {
		number int
		space  envs.Space
		x      *graph.Array
		want   []float64
	}{
		{1, envs.Box{Low: []float64{0}, High: []float64{4}, Dims: []int{2}, DType: graph.Float32},
			graph.Float32s([]float32{1, 4}), []float64{.25, 1}},
		{2, envs.Box{Low: []float64{2, 0}, High: []float64{4, 1}, Dims: []int{2}, DType: graph.Float32},
			graph.Float32s([]float32{3, .5}), []float64{.5, .5}},
		{3, envs.Box{Low: []float64{-4, -1}, High: []float64{2, 1}, Dims: []int{2}, DType: graph.Float32},
			graph.Float32s([]float32{2, -.5}), []float64{.5, 0, 0, .5}},
		{4, unbounded(2), graph.Float32s([]float32{3, -1}), []float64{.75, 0, 0, .5}},
		{5, envs.Box{Low: []float64{0}, High: []float64{math.MaxFloat32}, Dims: []int{1}, DType: graph.Float32},
			graph.Float32s([]float32{3}), []float64{.75}},
		{6, envs.Discrete{N: 3}, graph.Of(int32(1)), []float64{0, 1, 0}},
		{7, image, graph.Ones(image.Shape()), floats(t, graph.Ones(graph.ShapeOf(graph.Float32, 40)))},
	} {
		n, err := FlatSize(c.space)
		require.NoError(t, err)
		in := newSpikingInputs(c.space, n)
		require.InDeltaSlice(t, c.want, floats(t, in.split(in.scaled(c.x))), 1e-6, "case %d", c.number)
		require.Equal(t, len(c.want), in.width())
	}
}

func TestWhatSpikingRefuses(t *testing.T) {
	for _, c := range []struct {
		number int
		spec   string
		own    settings.Values
		want   string
	}{
		{1, "spiking:32,0", nil,
			`policy: got "spiking:32,0", want the hidden layers' sizes, whole numbers from 1 to 16777216 between ` +
				`commas, as in "spiking:32,16"`},
		{2, "spiking", settings.Values{"dynamics": "mecanistic"}, `policy.dynamics: got "mecanistic", want one of `},
		{3, "spiking", settings.Values{"dt": 3},
			`policy.dt: got 3, want at most policy.synapse-min, 1.25: a substep that is longer than a time constant ` +
				`oversteps it`},
		{9, "spiking", settings.Values{"hidden": ""},
			`policy.hidden: got "", want a layer of neurons or more, as in spiking:32,16`},
		{13, "spiking", settings.Values{"reset": -70}, `policy.reset: got -70, want policy.rest, -65`},
	} {
		_, _, err := Make(c.spec, c.own, observation, envs.Discrete{N: 2})
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.IsType(t, &settings.Error{}, err)
	}
}

// A policy has derivatives through its substeps by surrogates: for each gene that its dynamics use, except delays.
func TestSpikingHasGradients(t *testing.T) {
	p, _, err := Make("spiking:9,6", settings.Values{"dynamics": "fast:alif", "recurrent": true, "surrogate": "arctan"},
		observation, unbounded(2))
	require.NoError(t, err)
	params := p.Init(random.New(3))
	x := random.Normal(random.New(5), graph.ShapeOf(graph.Float32, 6, 3))
	d := graph.Grad(func(params any) *graph.Array {
		return outputs(p, prepared(p, params), x).Square().Sum()
	})(params)
	leaves, tree := graph.Flatten(d)
	for i, leaf := range leaves {
		norm := 0.
		for _, v := range floats(t, leaf) {
			require.False(t, math.IsNaN(v), tree.Path(i))
			norm += v * v
		}
		require.Equal(t, tree.Path(i) == ".Layers[0].Synapse" || tree.Path(i) == ".Layers[1].Synapse", norm == 0,
			tree.Path(i))
	}
}

// The memory of a step grows with the neurons and not with the substeps, by the compiler's count: nothing of each
// substep is stored. The short form compiles the layers that hold most.
func TestMemoryDoesNotGrowWithSubsteps(t *testing.T) {
	c := xlatest.OpenCPU(t, 1)
	takes := func(hidden string, substeps int, own settings.Values) int64 {
		p, _, err := Make("spiking:"+hidden, own.With("substeps", substeps), observation, unbounded(2))
		require.NoError(t, err)
		program, err := graph.TraceArgs("steps",
			[]any{p.Init(random.New(1)), graph.Ones(graph.ShapeOf(graph.Float32, 3))}, graph.TraceOptions{},
			func(args []any) any {
				_, out := p.Act(args[0], p.Start(args[0]), args[1].(*graph.Array), random.New(2))
				return out.Action
			})
		require.NoError(t, err)
		compiled, err := c.Compile(program, xlabridge.CompileOptions{})
		require.NoError(t, err)
		defer func() { require.NoError(t, compiled.Close()) }()
		m, err := compiled.Executable.Memory()
		require.NoError(t, err)
		return m.Temporaries
	}
	for _, own := range []settings.Values{{"dynamics": "fast"}, {"dynamics": "fast:alif", "recurrent": true},
		{"dynamics": "fast:cubalif", "delay": 9, "decoder": "rate"}} {
		if own["delay"] == nil && !long.On() {
			continue
		}
		few, many, wide := takes("64,32", 100, own), takes("64,32", 1000, own), takes("640,320", 100, own)
		require.InDelta(t, few, many, 64, "%v: the bytes of 100 and of 1,000 substeps", own)
		require.Greater(t, wide, 2*few, "%v: the bytes of ten times the neurons", own)
	}
}
