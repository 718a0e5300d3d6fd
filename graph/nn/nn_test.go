package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/lower"
	"xlarun/graph/nn"
	"xlarun/graph/precision"
	"xlarun/graph/random"
)

var f32 = graph.Float32

// floats returns the numbers of an array.
var floats = graphtest.Floats

// eval runs a function on the reference interpreter, as one traced program.
func eval[A, R any](t *testing.T, f func(A) R, a A) []*graph.Array {
	t.Helper()
	p, err := graph.Trace("test", f, a)
	require.NoError(t, err)
	require.NoError(t, p.Graph.Verify())
	out, err := p.Interpret(graph.Leaves(a), nil)
	require.NoError(t, err)
	return out
}

// Constructors give the shapes that they promise, and draw as the initializers do from the keys that they name.
func TestConstructors(t *testing.T) {
	key := random.New(3)
	k1, _ := random.Split2(key)
	cases := []struct {
		name  string
		layer any
		want  []string
	}{
		{"dense", nn.NewDense(key, 4, 3), []string{"f32[4,3]", "f32[3]"}},
		{"dense without bias", nn.NewDense(key, 4, 3, nn.NoBias()), []string{"f32[4,3]"}},
		{"half", nn.NewDense(key, 4, 3, nn.Precision(precision.Policy{Param: graph.BFloat16})),
			[]string{"bf16[4,3]", "bf16[3]"}},
		{"conv", nn.NewConv(key, []int{3, 2}, 4, 6, nn.Groups(2)), []string{"f32[3,2,2,6]", "f32[6]"}},
		{"layer norm", nn.NewLayerNorm(5), []string{"f32[5]", "f32[5]"}},
		{"layer norm, bare", nn.NewLayerNorm(5, nn.NoScale(), nn.NoBias()), nil},
		{"rms norm", nn.NewRMSNorm(5), []string{"f32[5]"}},
		{"embedding", nn.NewEmbedding(key, 7, 3), []string{"f32[7,3]"}},
		{"gru", nn.NewGRU(key, 4, 3), []string{"f32[4,9]", "f32[3,9]", "f32[9]", "f32[3]"}},
		{"lstm", nn.NewLSTM(key, 4, 3), []string{"f32[4,12]", "f32[3,12]", "f32[12]"}},
		{"attention", nn.NewMultiHeadAttention(key, 2, 4, nn.NoBias()), []string{"f32[4,4]", "f32[4,4]", "f32[4,4]",
			"f32[4,4]"}},
		{"mlp", nn.NewMLP(key, []int{4, 8, 2}), []string{"f32[4,8]", "f32[8]", "f32[8,2]", "f32[2]"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, a := range graph.Leaves(c.layer) {
				got = append(got, a.Shape().String())
			}
			require.Equal(t, c.want, got)
		})
	}
	d := nn.NewDense(key, 4, 3, nn.Weights(nn.HeUniform), nn.Bias(nn.Constant(.5)))
	require.Equal(t, floats(t, nn.HeUniform(k1, graph.ShapeOf(f32, 4, 3))), floats(t, d.W))
	require.Equal(t, []float64{.5, .5, .5}, floats(t, d.B))
	l := nn.NewLSTM(key, 2, 2, nn.ForgetBias(1))
	require.Equal(t, []float64{0, 0, 1, 1, 0, 0, 0, 0}, floats(t, l.B))
}

// Each gate of a recurrent layer is an orthogonal matrix.
func TestRecurrentGatesAreOrthogonal(t *testing.T) {
	g := nn.NewGRU(random.New(1), 3, 5)
	for _, w := range graph.Split(g.Wh, 3, 1) {
		got := floats(t, w.Transpose(1, 0).Dot(w))
		for i, x := range got {
			want := 0.0
			if i%6 == 0 {
				want = 1
			}
			require.InDelta(t, want, x, 1e-5)
		}
	}
}

type net struct {
	Conv  nn.Conv
	Norm  nn.LayerNorm
	Heads nn.Sequential
}

func newNet(key random.Key) net {
	k := random.SplitN(key, 3)
	return net{
		Conv: nn.NewConv(k[0], []int{3, 3}, 1, 4, nn.NoBias(), nn.Strides(2, 2)),
		Norm: nn.NewLayerNorm(4),
		Heads: nn.Sequential{nn.Activation("silu"), nn.MaxPool(2, 2), nn.Flatten{},
			nn.NewDense(k[1], 4, 3, nn.Weights(nn.Orthogonal(1))),
			nn.NewMLP(k[2], []int{3, 5, 2}, nn.Hidden("tanh"), nn.Final("softmax"))},
	}
}

func (n net) Apply(x *graph.Array) *graph.Array { return n.Heads.Apply(n.Norm.Apply(n.Conv.Apply(x))) }

// Static fields are part of the tree's structure, so that layers that differ in them do not share a program.
func TestStaticFieldsCount(t *testing.T) {
	key := random.New(1)
	seen := map[string]string{}
	for name, l := range map[string]any{
		"stride 1": nn.NewConv(key, []int{3}, 1, 1), "stride 2": nn.NewConv(key, []int{3}, 1, 1, nn.Strides(2)),
		"valid": nn.NewConv(key, []int{3}, 1, 1, nn.Valid()), "pads": nn.NewConv(key, []int{3}, 1, 1,
			nn.Pads([2]int{1, 0})),
		"no bias": nn.NewConv(key, []int{3}, 1, 1, nn.NoBias()), "half": nn.NewConv(key, []int{3}, 1, 1,
			nn.Precision(precision.Mixed(graph.Float16))),
		"relu": nn.Sequential{nn.Activation("relu")}, "tanh": nn.Sequential{nn.Activation("tanh")},
		"pool": nn.Sequential{nn.MaxPool(2)}, "pool 3": nn.Sequential{nn.MaxPool(3)},
		"norm": nn.NewLayerNorm(2), "norm 1e-3": nn.NewLayerNorm(2, nn.Epsilon(1e-3)),
	} {
		_, tree := graph.Flatten(l)
		require.Empty(t, seen[tree.Key()], name)
		seen[tree.Key()] = name
	}
}

// A population of networks: made, applied and differentiated under VMap as one by one.
func TestPopulation(t *testing.T) {
	const members = 3
	keys := random.Split(random.New(5), members)
	x := random.Normal(random.New(6), graph.ShapeOf(f32, members, 4, 4, 1))
	loss := func(n net, x *graph.Array) *graph.Array { return n.Apply(x).Index(0) }
	one := func(key random.Key, x *graph.Array) []*graph.Array {
		n := newNet(key)
		return append(graph.Leaves(graph.Grad2(loss)(n, x)), n.Apply(x))
	}
	type args struct {
		Keys random.Key
		X    *graph.Array
	}
	all := eval(t, func(a args) []*graph.Array { return graph.VMap2(one)(a.Keys, a.X) }, args{keys, x})
	for i := range members {
		single := eval(t, func(a args) []*graph.Array { return one(a.Keys, a.X) }, args{keys.At(i), x.Index(i)})
		require.Len(t, single, len(all))
		for k := range all {
			want, got := floats(t, single[k]), floats(t, all[k].Index(i))
			require.InDeltaSlice(t, want, got, 1e-5)
		}
	}
}

// Leading axes are as VMap over them.
func TestLeadingAxes(t *testing.T) {
	key := random.New(2)
	x := random.Normal(key, graph.ShapeOf(f32, 5, 4))
	for name, l := range map[string]nn.Layer{
		"dense": nn.NewDense(key, 4, 3), "layer norm": nn.NewLayerNorm(4), "rms norm": nn.NewRMSNorm(4),
		"mlp": nn.NewMLP(key, []int{4, 6, 2}),
	} {
		require.InDeltaSlice(t, floats(t, graph.VMap(l.Apply)(x)), floats(t, l.Apply(x)), 1e-6, name)
	}
	g := nn.NewGRU(key, 4, 3)
	h := random.Normal(key, graph.ShapeOf(f32, 5, 3))
	require.InDeltaSlice(t, floats(t, graph.VMap2(g.Step)(h, x)), floats(t, g.Step(h, x)), 1e-6)
}

// Apply along time is Step by step.
func TestRecurrentApplyIsSteps(t *testing.T) {
	key := random.New(4)
	x := random.Normal(key, graph.ShapeOf(f32, 6, 2))
	g, l := nn.NewGRU(key, 2, 3), nn.NewLSTM(key, 2, 3, nn.ForgetBias(1))
	last, states := g.Apply(g.Start(), x)
	end, outputs := l.Apply(l.Start(), x)
	h, s := g.Start(), l.Start()
	for i := range 6 {
		h, s = g.Step(h, x.Index(i)), l.Step(s, x.Index(i))
		require.InDeltaSlice(t, floats(t, h), floats(t, states.Index(i)), 1e-6)
		require.InDeltaSlice(t, floats(t, s.H), floats(t, outputs.Index(i)), 1e-6)
	}
	require.InDeltaSlice(t, floats(t, h), floats(t, last), 1e-6)
	require.InDeltaSlice(t, floats(t, s.C), floats(t, end.C), 1e-6)
}

func TestPrecision(t *testing.T) {
	key := random.New(7)
	p := nn.Precision(precision.Mixed(graph.BFloat16))
	x := random.Normal(key, graph.ShapeOf(f32, 6, 4))
	gru, lstm := nn.NewGRU(key, 4, 4, p), nn.NewLSTM(key, 4, 4, p)
	for name, f := range map[string]func(x *graph.Array) *graph.Array{
		"dense": nn.NewDense(key, 4, 3, p).Apply, "layer norm": nn.NewLayerNorm(4, p).Apply, "rms norm": nn.NewRMSNorm(
			4, p).Apply,
		"conv": nn.NewConv(key, []int{3}, 4, 2, p).Apply, "attention": nn.NewMultiHeadAttention(key, 2, 4, p).Apply,
		"gru":  func(x *graph.Array) *graph.Array { _, y := gru.Apply(gru.Start(), x); return y },
		"lstm": func(x *graph.Array) *graph.Array { _, y := lstm.Apply(lstm.Start(), x); return y },
	} {
		t.Run(name, func(t *testing.T) {
			trace, err := graph.Trace(name, f, x)
			require.NoError(t, err)
			require.Equal(t, f32, trace.Outputs[0].DType)
			lowered, err := lower.Lower(trace, graph.TargetCPU)
			require.NoError(t, err)
			require.Contains(t, lowered.StableHLO, "xbf16>", "computed in bfloat16")
			grads := graph.Grad(func(x *graph.Array) *graph.Array { return f(x).Sum() })(x)
			require.Equal(t, f32, grads.DType())
		})
	}
	// Without a policy, what has been cast outside stays so.
	half := precision.Cast(graph.BFloat16, x)
	for name, l := range map[string]nn.Layer{
		"dense": precision.Cast(graph.BFloat16, nn.NewDense(key, 4, 3)), "layer norm": precision.Cast(graph.BFloat16,
			nn.NewLayerNorm(4)),
		"attention": precision.Cast(graph.BFloat16, nn.NewMultiHeadAttention(key, 2, 4)),
	} {
		require.Equal(t, graph.BFloat16, l.Apply(half).DType(), name)
	}
	require.Equal(t, f32, nn.NewLayerNorm(4).Apply(half).DType(), "float32 scale and bias")
	d := nn.NewDense(key, 4, 3)
	rounded := floats(t, nn.Dense{W: d.W, B: d.B, Precision: precision.Mixed(graph.BFloat16)}.Apply(x))
	for i, want := range floats(t, d.Apply(x)) {
		require.InDelta(t, want, rounded[i], 3e-2)
	}
}

func TestDropout(t *testing.T) {
	key := random.New(8)
	x := graph.Ones(graph.ShapeOf(f32, 10000))
	got := floats(t, nn.Dropout(key, x, .25))
	zeros := 0
	for _, v := range got {
		if v == 0 {
			zeros++
		} else {
			require.InDelta(t, 1/.75, v, 1e-6)
		}
	}
	require.InDelta(t, 2500, zeros, 150) // 3.5 standard deviations
	require.Equal(t, got, floats(t, nn.Dropout(key, x, graph.Scalar(.25))))
	require.Same(t, x, nn.Dropout(key, x, 0.0))
	// The gradient passes where the value does.
	slope := func(rate any) []float64 {
		return floats(t, graph.Grad(func(x *graph.Array) *graph.Array { return nn.Dropout(key, x, rate).Sum() })(x))
	}
	require.Equal(t, got, slope(.25))
	for _, all := range []any{1., graph.Scalar(1)} {
		require.Equal(t, make([]float64, 10000), floats(t, nn.Dropout(key, x, all)))
		require.Equal(t, make([]float64, 10000), slope(all))
	}
	require.ErrorContains(t, random.CheckKeys(func() {
		random.Categorical(key, nn.Dropout(key, graph.Ones(graph.ShapeOf(f32, 4)), .5), -1)
	}), "random.Categorical: it gets the key that nn.Dropout")
}

// In float64 the draws of a VarianceScaling are jax.nn.initializers' in 64-bit mode, not scaled by a float32.
func TestInitializersOfDoubles(t *testing.T) {
	s := graph.ShapeOf(graph.Float64, 2, 3)
	for _, c := range []struct {
		init nn.Initializer
		want []float64
	}{
		{nn.LecunNormal, []float64{0.828922163618235, -0.09019203242831106, -0.5411055898418493}},
		{nn.HeUniform, []float64{1.2657581351466054, -0.16210467554236477, -0.9057320416685111}},
		{nn.VarianceScaling(1.5, nn.FanOut, nn.NormalDraws), []float64{0.7812638813379044, -0.08313414683639635,
			-0.5027630473079996}},
	} {
		got := floats(t, c.init(random.New(3), s))
		for i, x := range c.want {
			require.InEpsilon(t, x, got[i], 1e-14)
		}
	}
}

func TestCausalAttention(t *testing.T) {
	key := random.New(9)
	m := nn.NewMultiHeadAttention(key, 2, 4, nn.Causal())
	x := random.Normal(key, graph.ShapeOf(f32, 5, 4))
	// What comes later changes nothing before.
	changed := graph.Concatenate(0, graph.SliceAxis(x, 0, 0, 3), graph.Zeros(graph.ShapeOf(f32, 2, 4)))
	a, b := floats(t, m.Apply(x)), floats(t, m.Apply(changed))
	require.InDeltaSlice(t, a[:12], b[:12], 1e-6)
	require.Greater(t, math.Abs(a[12]-b[12]), 1e-3)
	// Nobody to see: the mean of all, not NaN.
	q := x.Reshape(5, 2, 2)
	none := graph.Full(graph.ShapeOf(graph.Bool, 1, 1), false)
	mean := floats(t, q.Mean(0))
	require.InDeltaSlice(t, mean, floats(t, nn.DotProductAttention(q, q, q, none).Index(0)), 1e-6)
}

func TestLossEdges(t *testing.T) {
	logits := graph.Float32s([]float32{1e4, -1e4, 0})
	require.Equal(t, []float64{0}, floats(t, nn.CrossEntropy(logits, graph.Of(0))))
	require.Equal(t, []float64{2e4}, floats(t, nn.CrossEntropy(logits, graph.Of(1))))
	for _, label := range []int{-1, 3} {
		require.True(t, math.IsNaN(floats(t, nn.CrossEntropy(logits, graph.Of(label)))[0]), label)
	}
	excluded := graph.Float32s([]float32{0, float32(math.Inf(-1)), 0})
	require.InDelta(t, math.Log(2), floats(t, nn.CrossEntropy(excluded, graph.Of(2)))[0], 1e-6)
	d := floats(t, graph.Grad(func(l *graph.Array) *graph.Array { return nn.CrossEntropy(l, graph.Of(2)) })(excluded))
	require.InDeltaSlice(t, []float64{.5, 0, -.5}, d, 1e-6)

	half := graph.Float32s([]float32{.5, 0, .5})
	require.InDelta(t, math.Log(2), floats(t, nn.CrossEntropyOneHot(excluded, half))[0], 1e-6)
	// Large logits lose nothing: log(1+exp(-1)).
	large := graph.Float32s([]float32{1e6, 1e6 - 1})
	require.InDelta(t, 0.3132617, floats(t, nn.CrossEntropy(large, graph.Of(0)))[0], 1e-6)

	require.Equal(t, []float64{1000}, floats(t, nn.BinaryCrossEntropy(graph.Scalar(1000), graph.Scalar(0))))
	zero := graph.Zeros(graph.ShapeOf(f32, 3))
	require.Equal(t, []float64{1}, floats(t, nn.CosineDistance(zero, logits, 1e-8)))
	for _, x := range floats(t, graph.Grad(func(x *graph.Array) *graph.Array {
		return nn.CosineDistance(x, logits, 1e-8)
	})(zero)) {
		require.False(t, math.IsNaN(x))
	}
	require.True(t, math.IsNaN(floats(t, nn.Relu(graph.Scalar(math.NaN())))[0]))
}

func TestEmbeddingOutOfRange(t *testing.T) {
	e := nn.NewEmbedding(random.New(1), 3, 2)
	got := floats(t, e.Apply(graph.Int32s([]int32{1, 3})))
	require.Equal(t, floats(t, e.Table)[2:4], got[:2])
	require.True(t, math.IsNaN(got[2]))
}

func TestSummary(t *testing.T) {
	n := struct {
		Hidden nn.Dense
		Out    []nn.Dense
		Step   *graph.Array
	}{nn.NewDense(random.New(1), 784, 128), []nn.Dense{nn.NewDense(random.New(2), 128, 10, nn.NoBias())},
		graph.Of(int64(3))}
	require.Equal(t, 784*128+128+1280+1, nn.Count(n))
	require.Equal(t, 4*(784*128+128+1280)+8, nn.Bytes(n))
	require.Equal(t, strings.TrimLeft(`
parameter  dtype  shape       count   bytes
Hidden.W   f32    [784,128]  100352  401408
Hidden.B   f32    [128]         128     512
Out[0].W   f32    [128,10]     1280    5120
Step       i64    []              1       8
total                        101761  407048
`, "\n"), nn.Summary(n))
}

func TestActivationNames(t *testing.T) {
	for _, name := range nn.Activations() {
		a, err := nn.ParseActivation(name)
		require.NoError(t, err)
		require.Len(t, floats(t, a.Apply(graph.Linspace(-2, 2, 5))), 5, name)
	}
	a, err := nn.ParseActivation("linear")
	require.NoError(t, err)
	require.Equal(t, nn.Activation(""), a)
	_, err = nn.ParseActivation("rleu")
	require.ErrorContains(t, err, `activation "rleu": want one of linear, elu, gelu`)
}

// Mistakes are errors that say where, what it got and what it wants.
func TestErrors(t *testing.T) {
	key := random.New(1)
	x := graph.Zeros(graph.ShapeOf(f32, 3))
	cases := []struct {
		want string
		f    func()
	}{
		{"nn.NewDense: got in = 0, want at least 1", func() { nn.NewDense(key, 0, 3) }},
		{"nn.NewDense: got the option Strides, want one of Weights, Bias, NoBias, Precision", func() {
			nn.NewDense(key, 1, 3, nn.Strides(2))
		}},
		{"nn.NewDense: got a nil initializer", func() { nn.NewDense(key, 1, 3, nn.Weights(nil)) }},
		{"nn.Dense: x is f32[3], want […, 4]", func() { nn.NewDense(key, 4, 3).Apply(x) }},
		{"nn.NewMLP: got sizes [4]", func() { nn.NewMLP(key, []int{4}) }},
		{"nn.NewConv: got 2 groups, want a number that divides 3 and 4 features", func() {
			nn.NewConv(key, []int{3}, 3, 4, nn.Groups(2))
		}},
		{"nn.Conv: x is f32[3], want […, 2]", func() { nn.NewConv(key, []int{3}, 2, 4).Apply(x) }},
		{"nn.LayerNorm: x is f32[3], want […, 4]", func() { nn.NewLayerNorm(4).Apply(x) }},
		{"nn.Embedding: got f32[3], want integers", func() { nn.NewEmbedding(key, 4, 2).Apply(x) }},
		{"nn.GRU: x is f32[3], want […, 2]", func() { g := nn.NewGRU(key, 2, 3); g.Step(g.Start(), x) }},
		{"nn.GRU: state h is f32[2], want […, 3]", func() {
			nn.NewGRU(key, 3, 3).Step(graph.Zeros(graph.ShapeOf(f32, 2)), x)
		}},
		{"use Step for one step", func() { g := nn.NewGRU(key, 3, 3); g.Apply(g.Start(), x) }},
		{"nn.NewMultiHeadAttention: got 3 heads and a width of 4, want heads of equal size", func() {
			nn.NewMultiHeadAttention(key, 3, 4)
		}},
		{"want [positions, width]: graph.VMap adds a batch axis", func() {
			nn.NewMultiHeadAttention(key, 1, 3).Apply(x)
		}},
		{"nn.Dropout: got the rate 1.5, want one from 0 to 1", func() { nn.Dropout(key, x, 1.5) }},
		{"nn.Dropout: got a rate of type int", func() { nn.Dropout(key, x, 1) }},
		{"nn.Orthogonal: got the shape f32[3], want at least the axes [in, out]", func() {
			nn.Orthogonal(1)(key, x.Shape())
		}},
		{"nn.VarianceScaling: got the shape f32[3]", func() { nn.LecunNormal(key, x.Shape()) }},
		{`nn.VarianceScaling: mode "x"`, func() {
			nn.VarianceScaling(1, "x", nn.NormalDraws)(key, graph.ShapeOf(f32, 2, 2))
		}},
		{`nn.VarianceScaling: distribution "x"`, func() {
			nn.VarianceScaling(1, nn.FanIn, "x")(key, graph.ShapeOf(f32, 2, 2))
		}},
		{"nn.MSE: got f32[3] and f32[2], want equal dims", func() { nn.MSE(x, graph.Zeros(graph.ShapeOf(f32, 2))) }},
		{"nn.Huber: got delta = 0", func() { nn.Huber(x, x, 0) }},
		{"nn.CrossEntropy: logits are f32[3], the label is f32[3]", func() { nn.CrossEntropy(x, x) }},
		{`nn.Activation: got "x", want one of elu`, func() { nn.Activation("x").Apply(x) }},
		{`nn.Pool: kind "mean"`, func() {
			nn.Pool{Kind: "mean", Window: []int{1}}.Apply(graph.Zeros(graph.ShapeOf(f32, 2, 2)))
		}},
		{"nn.GlobalPool: x is f32[3], want [spatial…, features]", func() { nn.GlobalPool{Kind: "max"}.Apply(x) }},
		{"nn.Sequential: layer 1 is nil", func() { nn.Sequential{nn.Flatten{}, nil}.Apply(x) }},
	}
	for _, c := range cases {
		t.Run(c.want, func(t *testing.T) {
			err := graph.Try(c.f)
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, "nn_test.go:", "the user's line")
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// It learns: exclusive or by gradient descent in a loop, all on the reference interpreter.
func TestLearnsXor(t *testing.T) {
	x := graph.Float32s([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2)
	y := graph.Int32s([]int32{0, 1, 1, 0})
	loss := func(m nn.MLP, _ graph.None) *graph.Array {
		return graph.VMap2(func(x, y *graph.Array) *graph.Array {
			return nn.CrossEntropy(m.Apply(x), y)
		})(x, y).Mean()
	}
	out := eval(t, func(key random.Key) []*graph.Array {
		_, losses := graph.Scan(func(m nn.MLP, _ graph.None) (nn.MLP, *graph.Array) {
			l, d := graph.ValueAndGrad2(loss)(m, graph.None{})
			return graph.MapTree2(func(p, g *graph.Array) *graph.Array {
				return p.Sub(g.Mul(1.0))
			}, m, d), l
		}, nn.NewMLP(key, []int{2, 8, 2}, nn.Hidden("tanh")), graph.None{}, graph.Length(100))
		return []*graph.Array{losses}
	}, random.New(1))
	curve := floats(t, out[0])
	require.Greater(t, curve[0], .5)
	require.Less(t, curve[99], .1)
}
