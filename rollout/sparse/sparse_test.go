package sparse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
	"xlarun/xlabridge/kernels"
	"xlarun/xlabridge/xlatest"
)

// open opens the CPU plugin with a number of devices.
func open(t *testing.T, devices int) *xlabridge.Client { return xlatest.Open(t, devices) }

// stripes returns pictures of side x side pixels: label c has a bright row c, in noise.
func stripes(side, train, test int) Data {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) Images {
		m := Images{Pixels: side * side, Data: make([]byte, n*side*side), Labels: make([]byte, n)}
		for i := range n {
			m.Labels[i] = byte(r.IntN(side))
			for p := range side * side {
				v := r.IntN(120)
				if p/side == int(m.Labels[i]) {
					v += 60
				}
				m.Data[i*side*side+p] = byte(v)
			}
		}
		return m
	}
	return Data{draw(train), draw(test)}
}

// small is a config for stripes of 6 x 6.
func small() Config {
	c := DefaultConfig()
	c.Population, c.Updates, c.Batch, c.Hidden, c.Density = 5, 12, 40, []int{20, 12}, []float64{.3, .5, .6}
	c.MutateEvery, c.MutateFraction = 5, .2
	return c
}

// train returns a population after all its steps, and its stats on the test data.
func train(t *testing.T, b xlabridge.Backend, c Config, d Data) (*Population, Stats) {
	t.Helper()
	p, err := New(t.Context(), b, c, d)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	require.NoError(t, runToEnd(p, nil))
	s, err := p.Evaluate()
	require.NoError(t, err)
	return p, s
}

// explicit is the same training in plain loops over connections, from a member's first state.
type explicit struct {
	shape  Shape
	member [][2][]float64 // by layer: places, weights
}

func hostMember(t *testing.T, m Member) [][2][]float64 {
	t.Helper()
	var out [][2][]float64
	for _, c := range m {
		at, err := graph.Floats(c.At)
		require.NoError(t, err)
		w, err := graph.Floats(c.W)
		require.NoError(t, err)
		out = append(out, [2][]float64{at, w})
	}
	return out
}

// units returns the input and the output of a place, as the documentation of Layer says.
func units(l Layer, place int) (in, out int) {
	piece, rest := place/(l.width()*l.Out), place%(l.width()*l.Out)
	return piece*l.width() + rest%l.width(), rest / l.width()
}

func (e *explicit) pass(pixels []byte, label int, gradients [][]float64) (cross float64, right bool) {
	values := make([][]float64, len(e.shape)+1)
	for _, v := range pixels {
		values[0] = append(values[0], float64(v)/255)
	}
	for l, layer := range e.shape {
		y := make([]float64, layer.Out)
		for k, place := range e.member[l][0] {
			i, o := units(layer, int(place))
			y[o] += e.member[l][1][k] * values[l][i]
		}
		for o := range y {
			if l+1 < len(e.shape) {
				y[o] = math.Max(0, y[o])
			}
		}
		values[l+1] = y
	}
	delta, cross, best := softmax(values[len(e.shape)], label)
	for l := len(e.shape) - 1; l >= 0 && gradients != nil; l-- {
		below := make([]float64, e.shape[l].In)
		for k, place := range e.member[l][0] {
			i, o := units(e.shape[l], int(place))
			gradients[l][k] += delta[o] * values[l][i]
			if values[l][i] > 0 {
				below[i] += delta[o] * e.member[l][1][k]
			}
		}
		delta = below
	}
	return cross, best == label
}

func (e *explicit) step(m Images, examples []int, rate float64) (loss, accuracy float64) {
	gradients := make([][]float64, len(e.shape))
	for l := range gradients {
		gradients[l] = make([]float64, e.shape[l].Connections)
	}
	for _, i := range examples {
		cross, right := e.pass(m.Data[i*m.Pixels:(i+1)*m.Pixels], int(m.Labels[i]), gradients)
		loss += cross / float64(len(examples))
		if right {
			accuracy += 1 / float64(len(examples))
		}
	}
	for l := range gradients {
		for k, g := range gradients[l] {
			e.member[l][1][k] -= rate / float64(len(examples)) * g
		}
	}
	return loss, accuracy
}

// Every method on every backend equals explicit. The short form compiles masked only in bfloat16, and has one hidden
// layer.
func TestMethodsAreTheLoopOverConnections(t *testing.T) {
	client := open(t, 2)
	d := stripes(6, 200, 70)
	for _, c := range []struct {
		name, method, dtype string
		backend             xlabridge.Backend
		tolerance           float64
	}{
		{"masked", "masked", "f32", client, 1e-4},
		{"kernel", "kernel", "f32", client, 1e-4},
		{"auto", "auto", "f32", client, 1e-4},
		{"blocks", "blocks", "f32", client, 1e-4},
		{"masked bf16", "masked", "bf16", client, 3e-2},
		{"auto bf16", "auto", "bf16", client, 3e-2},
		{"masked reference", "masked", "f32", &xlabridge.Reference{}, 1e-4},
	} {
		if c.name == "masked" && !long.On() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			config := tiny()
			if long.On() {
				config.Hidden, config.Density = small().Hidden, small().Density
			}
			config.Method, config.DType, config.MutateEvery = c.method, c.dtype, 0
			if c.backend != client {
				config.Updates = 2
			}
			p, err := New(t.Context(), c.backend, config, d)
			require.NoError(t, err)
			defer func() { require.NoError(t, p.Close()) }()
			want := c.method
			if want == "auto" {
				want = "kernel"
			}
			require.Equal(t, want, p.Profile().Plan)
			require.Equal(t, want, p.Profile().Fact("method"))
			const number = 2
			first, err := p.Member(number)
			require.NoError(t, err)
			e := &explicit{p.Shape(), hostMember(t, first)}
			ours := order{seed: config.Seed, n: d.Train.Len()}
			for p.Updates() < config.Updates {
				n, s, err := p.Train(5)
				require.NoError(t, err)
				var loss, accuracy float64
				for range n {
					examples := make([]int, config.Batch)
					for i := range examples {
						examples[i] = ours.next()
					}
					l, a := e.step(d.Train, examples, config.LearningRate)
					loss, accuracy = loss+l/float64(n), accuracy+a/float64(n)
				}
				require.InDelta(t, loss, s.Loss[number], c.tolerance)
				require.InDelta(t, accuracy, s.Accuracy[number], .011) // one example on the edge
			}
			last, err := p.Member(number)
			require.NoError(t, err)
			for l, got := range hostMember(t, last) {
				require.Equal(t, e.member[l][0], got[0], "no mutation, so the places stay")
				require.InDeltaSlice(t, e.member[l][1], got[1], c.tolerance)
			}
			s, err := p.Evaluate()
			require.NoError(t, err)
			loss := 0.
			for i := range d.Test.Len() {
				cross, _ := e.pass(d.Test.Data[i*36:(i+1)*36], int(d.Test.Labels[i]), nil)
				loss += cross / float64(d.Test.Len())
			}
			require.InDelta(t, loss, s.Loss[number], c.tolerance)
		})
	}
}

// The kernel in C equals its reference, for layers of one piece and of several, with few connections and with all, with
// every instruction set of the processor, in both dtypes. Its index equals the reference's.
func TestKernelAgainstReference(t *testing.T) {
	client := open(t, 1)
	for _, c := range []struct {
		units   []int
		density []float64
		lanes   int
	}{
		{[]int{36, 6}, []float64{.5}, 32},
		{[]int{784, 33, 10}, []float64{.05, 1}, 96},
		{[]int{600, 17, 9, 3}, []float64{.01, .02, .3}, 64},
		{[]int{257, 5, 40, 4}, []float64{1, .05, .5}, 32},
	} {
		t.Run(fmt.Sprint(c.units), func(t *testing.T) {
			shape := ShapeOf(c.units, c.density)
			r := rand.New(rand.NewPCG(3, 4))
			images, labels := make([]byte, 2*c.units[0]*c.lanes), make([]int32, 2*c.lanes)
			for i := range images {
				images[i] = byte(r.IntN(256))
			}
			for i := range labels {
				labels[i] = int32(r.IntN(c.units[len(c.units)-1]+1)) - 1 // some do not count
			}
			member, err := graph.Eval(shape.random(random.New(5), make(commonPlaces, len(shape))))
			require.NoError(t, err)
			b := Batches{graph.FromBytes(graph.ShapeOf(graph.Uint8, 2, c.units[0], c.lanes), images),
				graph.Int32s(labels, 2, c.lanes)}
			for _, dtype := range []graph.DType{graph.Float32, graph.BFloat16} {
				k := kernelMethod{shape, dtype}
				f := func(m Member, b Batches) []*graph.Array {
					w, index := k.load(m, k.index(m))
					t := graph.Of(int32(1))
					return append(append(k.call(w, index, b, t, true), k.evaluate(w, index, b, t)), index...)
				}
				want, err := xlabridge.Jit2(&xlabridge.Reference{}, f)(member, b)
				require.NoError(t, err)
				ours := xlabridge.Jit2(client, f)
				tolerance := 1e-5
				if dtype == graph.BFloat16 { // the reference rounds other sums
					tolerance = 1e-2
				}
				for path, name := range kernels.VectorSets() {
					kernels.UseSparseSet(path)
					defer kernels.UseSparseSet(-1)
					got, err := ours(member, b)
					require.NoError(t, err)
					require.Len(t, got, len(want))
					for i := range want {
						if want[i].DType() == graph.Int32 {
							near(t, want[i], got[i], 0)
						} else {
							near(t, want[i], got[i], tolerance)
						}
					}
					t.Logf("%s %s", name, dtype)
				}
			}
		})
	}
}

// The kernel refuses wrong inputs, and the caller gets its message.
func TestKernelRefuses(t *testing.T) {
	client := open(t, 1)
	shape := ShapeOf([]int{36, 6}, []float64{.5})
	batch := func(lanes int) Batches {
		return Batches{graph.Zeros(graph.ShapeOf(graph.Uint8, 1, 36, lanes)),
			graph.Zeros(graph.ShapeOf(graph.Int32, 1, lanes))}
	}
	for _, c := range []struct {
		name  string
		place int32
		b     Batches
		step  int32
		want  string
	}{
		{"places", 36*6 - 3, batch(32), 0, "a connection outside of its layer"},
		{"negative", -1, batch(32), 0, "a connection outside of its layer"},
		{"lanes", 0, batch(40), 0, "a multiple of 32"},
		{"step", 0, batch(32), 1, "a step or a width"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := graph.Iota(shape[0].Connections).Add(c.place)
			m := Member{{At: at, W: graph.Zeros(graph.ShapeOf(graph.Float32, shape[0].Connections))}}
			_, err := xlabridge.Jit2(client, func(m Member, b Batches) []*graph.Array {
				k := kernelMethod{shape, graph.Float32}
				w, index := k.load(m, k.index(m))
				return k.call(w, index, b, graph.Of(c.step), true)
			})(m, c.b)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A mutation replaces the wanted number of connections, the smallest ones, by connections that did not exist, and keeps
// all other weights.
func TestMutation(t *testing.T) {
	shape := ShapeOf([]int{12, 8, 3}, []float64{.5, .9})
	const fraction = .25
	before, err := graph.Eval(shape.random(random.New(1), make(commonPlaces, len(shape))))
	require.NoError(t, err)
	after, err := graph.Eval(shape.mutate(before, make(commonPlaces, len(shape)), random.New(2), fraction))
	require.NoError(t, err)
	old, now := hostMember(t, before), hostMember(t, after)
	for l, layer := range shape {
		n := layer.mutated(fraction, layer.Connections)
		require.Positive(t, n)
		require.Len(t, now[l][0], layer.Connections)
		require.True(t, slices.IsSorted(now[l][0]))
		require.Len(t, slices.Compact(slices.Clone(now[l][0])), layer.Connections, "each place once")
		require.GreaterOrEqual(t, now[l][0][0], 0.)
		require.Less(t, now[l][0][layer.Connections-1], float64(layer.In*layer.Out))
		kept, largest := 0, 0.
		smallestKept := math.Inf(1)
		for k, place := range old[l][0] {
			w := old[l][1][k]
			if at := slices.Index(now[l][0], place); at >= 0 {
				kept++
				require.Equal(t, w, now[l][1][at])
				smallestKept = min(smallestKept, math.Abs(w))
			} else {
				largest = max(largest, math.Abs(w))
			}
		}
		require.Equal(t, layer.Connections-n, kept)
		require.LessOrEqual(t, largest, smallestKept, "the smallest went")
		for k, place := range now[l][0] {
			if !slices.Contains(old[l][0], place) {
				require.Zero(t, now[l][1][k])
			}
		}
	}
	full := ShapeOf([]int{4, 3}, []float64{1})
	require.Zero(t, full[0].mutated(.5, 12), "where all are there, none can be replaced")
}

// Members differ, keep their number of connections, and do not depend on the number of devices, to the byte.
func TestDevicesGiveTheSameBytes(t *testing.T) {
	d := stripes(6, 200, 70)
	for _, method := range []string{"masked", "kernel", "blocks"} {
		t.Run(method, func(t *testing.T) {
			most := 3
			if !long.On() {
				most = 2 // the programs of other tests
			}
			if method == "blocks" {
				long.Only(t) // TestMethodsAreTheLoopOverConnections has them, on two devices
			}
			type outcome struct {
				stats   Stats
				members [][][2][]float64
			}
			var first outcome
			for _, devices := range []int{1, most} {
				c := tiny()
				c.Method, c.Devices = method, devices
				p, s := train(t, open(t, devices), c, d)
				got := outcome{stats: s}
				for i := range c.Population {
					m, err := p.Member(i)
					require.NoError(t, err)
					got.members = append(got.members, hostMember(t, m))
				}
				for i, l := range p.Shape() {
					require.Len(t, slices.Compact(slices.Clone(got.members[0][i][0])), l.Connections)
				}
				require.NotEqual(t, got.members[0], got.members[1])
				if devices == 1 {
					first = got
				}
				require.Equal(t, first, got, "%d devices", devices)
			}
		})
	}
}

// A population learns stripes under much noise, through mutations.
func TestPopulationLearns(t *testing.T) {
	c := tiny()
	c.Updates, c.MutateEvery = 300, 60
	_, s := train(t, open(t, 2), c, stripes(6, 600, 70))
	require.Greater(t, slices.Min(s.Accuracy), .9)
	require.Less(t, slices.Max(s.Loss), .5)
}

func TestConfigErrors(t *testing.T) {
	for _, c := range []struct {
		change func(c *Config)
		want   string
	}{
		{func(c *Config) {
			c.MutateEvery = -1
		}, "mutate-every: got -1, want a whole number from 1 to 1073741823, 0 for never"},
		{func(c *Config) {
			c.Density = []float64{.5, .5, .5, .5}
		}, "density: got 0.5,0.5,0.5,0.5, want 1 to 3 numbers, as there are 3 layers"},
		{func(c *Config) { c.Density = nil }, "density: got nothing, want 1 to 3 numbers"},
		{func(c *Config) {
			c.Density[1] = 0
		}, "density: got 0.3,0,0.6, want numbers between commas above 0, at most 1"},
		{func(c *Config) { c.Density[1] = math.NaN() }, "density: got 0.3,NaN,0.6"},
		{func(c *Config) { c.Hidden[0] = 0 }, "hidden: got 0,12"},
	} {
		config := small()
		c.change(&config)
		err := config.Check(plan.Machine{CPU: true})
		var e *settings.Error
		require.ErrorAs(t, err, &e)
		require.ErrorContains(t, err, c.want)
	}
	config := small()
	config.Density = []float64{.5}
	require.NoError(t, config.Check(plan.Machine{}), "one density holds for all layers")
	config.Method = "kernel"
	require.ErrorContains(t, config.Check(plan.Machine{}), `method: got "kernel", want masked, blocks or auto`)
	_, err := New(t.Context(), &xlabridge.Reference{}, config, stripes(6, 50, 10))
	require.ErrorContains(t, err, `method: got "kernel", want masked, blocks or auto`)
	config.Devices = 3
	_, err = New(t.Context(), &xlabridge.Reference{}, config, stripes(6, 50, 10))
	require.ErrorContains(t, err, "devices: got 3, want at most the 1")
}

// runToEnd trains to the last step. It calls note, if not nil, after each round.
func runToEnd(p *Population, note func(s Stats)) error {
	for p.done < p.config.Updates {
		_, s, err := p.Train(p.config.Updates - p.done)
		if err != nil {
			return err
		}
		if note != nil {
			note(s)
		}
	}
	return nil
}
