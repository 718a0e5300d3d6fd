package policy

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
)

var observation = envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}

func floats(t *testing.T, a *graph.Array) []float64 {
	t.Helper()
	v, err := graph.Floats(a)
	require.NoError(t, err)
	return v
}

// byHand is the forward pass in plain Go: tanh between the layers.
func byHand(t *testing.T, p Params, x []float64) []float64 {
	for l, layer := range p.Layers {
		w, y := floats(t, layer.W), floats(t, layer.B)
		out := len(y)
		for o := range out {
			for i, v := range x {
				y[o] += v * w[i*out+o]
			}
			if l < len(p.Layers)-1 {
				y[o] = math.Tanh(y[o])
			}
		}
		x = y
	}
	return x
}

func TestMLPIsTheSumsByHand(t *testing.T) {
	x := []float32{.3, -.7, .2}
	unbounded := envs.Box{Low: []float64{-math.MaxFloat32}, High: []float64{math.MaxFloat32}, DType: graph.Float32}
	for _, spec := range []string{"linear", "mlp:5", "mlp:4,6", "mlp:16,17"} {
		for _, outputs := range []int{2, 9, 16} { // a narrow last layer, and wide ones
			unbounded.Dims = []int{outputs}
			p, err := Make(spec, observation, unbounded)
			require.NoError(t, err)
			require.Equal(t, spec, p.Spec())
			params := p.Init(random.New(1)).(Params)
			for i := range params.Layers { // biases are zero at first
				b := params.Layers[i].B
				params.Layers[i].B = random.Normal(random.New(int64(i)), b.Shape())
			}
			n := 0
			for _, leaf := range graph.Leaves(params) {
				n += leaf.Size()
			}
			require.Equal(t, n, p.NumParams())
			want := byHand(t, params, []float64{float64(x[0]), float64(x[1]), float64(x[2])})
			require.InDeltaSlice(t, want, floats(t, p.Act(params, graph.Float32s(x))), 1e-5)
			prepared := p.(Preparer).Prepare(params)
			require.InDeltaSlice(t, want, floats(t, p.Act(prepared, graph.Float32s(x))), 1e-5)
		}
	}
}

// Rows of weights are whole vector registers, but for the narrow last layer's, which are read along its inputs.
func TestPrepareFillsRegisters(t *testing.T) {
	p, err := Make("mlp:5,32,17", observation, envs.Discrete{N: 4})
	require.NoError(t, err)
	got := p.(Preparer).Prepare(p.Init(random.New(1))).(Prepared)
	require.Len(t, got.Hidden, 3)
	for i, dims := range [][]int{{3, 16}, {16, 32}, {32, 32}} {
		require.Equal(t, dims, got.Hidden[i].W.Dims())
		require.Equal(t, dims[1:], got.Hidden[i].B.Dims())
	}
	require.Equal(t, []int{4, 32}, got.Last.W.Dims())
	require.Equal(t, []int{4}, got.Last.B.Dims())
}

func TestInitScales(t *testing.T) {
	p, err := Make("mlp:400,100", observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	layers := p.Init(random.New(3)).(Params).Layers
	require.Len(t, layers, 3)
	sum := 0.
	w := floats(t, layers[1].W)
	for _, v := range w {
		sum += v * v
	}
	require.InDelta(t, 1./400, sum/float64(len(w)), 1e-4)
	for _, b := range floats(t, layers[1].B) {
		require.Zero(t, b)
	}
}

func TestDiscreteActionIsTheFirstLargest(t *testing.T) {
	many := make([]float32, fewActions+4)
	many[fewActions+1] = 2
	for _, c := range []struct {
		outputs []float32
		want    float64
	}{
		{[]float32{1, 2}, 1}, {[]float32{2, 1}, 0}, {[]float32{1, 1}, 0}, {[]float32{0, 3, 3, 1}, 1}, {[]float32{-1, -2, 0}, 2},
		{[]float32{5}, 0}, {many, fewActions + 1},
	} {
		h, err := newHead(envs.Discrete{N: len(c.outputs)})
		require.NoError(t, err)
		a := h.action(graph.Float32s(c.outputs))
		require.True(t, a.Shape().Equal(graph.ShapeOf(graph.Int32)))
		require.Equal(t, []float64{c.want}, floats(t, a))
	}
}

func TestBoxActionsStayInside(t *testing.T) {
	h, err := newHead(envs.Box{Low: []float64{-2, 0, -math.MaxFloat32}, High: []float64{2, 1, math.MaxFloat32}, Dims: []int{3}, DType: graph.Float32})
	require.NoError(t, err)
	a := floats(t, h.action(graph.Float32s([]float32{100, 0, 7})))
	require.InDeltaSlice(t, []float64{2, .5, 7}, a, 1e-6)
	h, err = newHead(envs.Box{Low: []float64{-1}, High: []float64{3}, Dims: []int{2, 1}, DType: graph.Float32})
	require.NoError(t, err)
	out := h.action(graph.Float32s([]float32{-100, 0}))
	require.Equal(t, []int{2, 1}, out.Dims())
	require.InDeltaSlice(t, []float64{-1, 1}, floats(t, out), 1e-6)
}

func TestDiscreteObservationsAreOneHot(t *testing.T) {
	p, err := Make("linear", envs.Discrete{N: 3}, envs.Discrete{N: 2})
	require.NoError(t, err)
	require.Equal(t, 3*2+2, p.NumParams())
	w := graph.Float32s([]float32{0, 1, 5, 4, 0, 9}, 3, 2)
	params := Params{Layers: []Dense{{W: w, B: graph.Float32s([]float32{0, 0})}}}
	for i, want := range []float64{1, 0, 1} {
		require.Equal(t, []float64{want}, floats(t, p.Act(params, graph.Of(int32(i)))))
	}
}

func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		spec   string
		action envs.Space
		wants  string
	}{
		{"mlpp:16", envs.Discrete{N: 2}, `policy: got "mlpp:16", want one of linear, mlp; did you mean mlp?`},
		{"", envs.Discrete{N: 2}, `policy: got "", want one of linear, mlp`},
		{"mlp:a", envs.Discrete{N: 2}, `policy: got "mlp:a", want the hidden layers' sizes, whole numbers from 1 to 16777216 between commas, as in "mlp:16,16"`},
		{"linear:3", envs.Discrete{N: 2}, `policy: got "linear:3", want no sizes: "linear", or "mlp:" and sizes`},
		{"mlp:4", envs.Discrete{N: 0}, `policy: got the action space Discrete(0), want 1 to 16777216 actions`},
	} {
		_, err := Make(c.spec, observation, c.action)
		require.EqualError(t, err, c.wants)
		require.IsType(t, &Error{}, err)
	}
	_, err := NewMLP([]int{-1}, observation, envs.Discrete{N: 2})
	require.EqualError(t, err, "policy: got a hidden layer of -1, want 1 to 16777216")
	_, err = NewMLP(nil, envs.Discrete{N: 0}, envs.Discrete{N: 2})
	require.EqualError(t, err, "policy: got observations of Discrete(0), 0 inputs, want 1 to 16777216 inputs")
}

func TestActRefusesOthersParameters(t *testing.T) {
	p, err := Make("mlp:4", observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	err = graph.Try(func() { p.Act(3, graph.Float32s([]float32{0, 0, 0})) })
	require.ErrorContains(t, err, "got parameters of type int, want policy.Params with 2 layers, as Init makes them")
}

func TestRegister(t *testing.T) {
	maker := func(args string, observation, action envs.Space) (Policy, error) {
		return NewMLP([]int{len(args)}, observation, action)
	}
	require.NoError(t, Register("test-own", maker))
	require.Contains(t, Names(), "test-own")
	p, err := Make("test-own:xxxx", observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	require.Equal(t, "mlp:4", p.Spec())
	require.EqualError(t, Register("test-own", maker), "policy.Register: test-own is registered already: choose another name")
	require.ErrorContains(t, Register("a:b", maker), "without colons")
	require.ErrorContains(t, Register("nothing", nil), "a function that makes the policy")
}
