package policy

import (
	"math"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/graphtest"
	"xlarun/graph/nn"
	"xlarun/graph/random"
	"xlarun/rollout/policy/genome"
	"xlarun/rollout/settings"
)

var observation = envs.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{3}, DType: graph.Float32}

// floats returns the numbers of an array.
var floats = graphtest.Floats

// act returns the head's action for a policy's first output.
func act(p Policy, h Head, params any, x *graph.Array) *graph.Array {
	_, out := p.Act(params, p.Start(params), x, random.New(0))
	return h.Action(out.Action)
}

// byHand is the forward pass in plain Go, with tanh between the layers.
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
			p, h, err := Make(spec, nil, observation, unbounded)
			require.NoError(t, err)
			require.Equal(t, outputs, h.Size())
			params := p.Init(random.New(1)).(Params)
			for i := range params.Layers { // biases are zero at first
				b := params.Layers[i].B
				params.Layers[i].B = random.Normal(random.New(int64(i)), b.Shape())
			}
			n := 0
			for _, leaf := range graph.Leaves(params) {
				n += leaf.Size()
			}
			size, err := Size(p)
			require.NoError(t, err)
			require.Equal(t, n, size)
			want := byHand(t, params, []float64{float64(x[0]), float64(x[1]), float64(x[2])})
			require.InDeltaSlice(t, want, floats(t, act(p, h, params, graph.Float32s(x))), 1e-5)
			prepared := p.Traits().Prepared.Prepare(params)
			require.InDeltaSlice(t, want, floats(t, act(p, h, prepared, graph.Float32s(x))), 1e-5)
		}
	}
}

// Prepared rows of weights are whole vector registers, except in a narrow last layer, which is transposed.
func TestPrepareFillsRegisters(t *testing.T) {
	p, _, err := Make("mlp:5,32,17", nil, observation, envs.Discrete{N: 4})
	require.NoError(t, err)
	got := p.Traits().Prepared.Prepare(p.Init(random.New(1))).(Prepared)
	require.Len(t, got.Hidden, 3)
	whole := func(n int) int { return (n + register - 1) / register * register }
	for i, dims := range [][]int{{3, whole(5)}, {whole(5), 32}, {32, whole(17)}} {
		require.Equal(t, dims, got.Hidden[i].W.W.Dims())
		require.Equal(t, dims[1:], got.Hidden[i].B.Dims())
	}
	require.Equal(t, []int{4, whole(17)}, got.Last.W.W.Dims())
	require.Equal(t, []int{4}, got.Last.B.Dims())
}

func TestInitScales(t *testing.T) {
	p, _, err := Make("mlp:400,100", nil, observation, envs.Discrete{N: 2})
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
		{[]float32{1, 2}, 1}, {[]float32{2, 1}, 0}, {[]float32{1, 1}, 0}, {[]float32{0, 3, 3, 1}, 1},
		{[]float32{-1, -2, 0}, 2},
		{[]float32{5}, 0}, {many, fewActions + 1},
	} {
		h, err := HeadOf(envs.Discrete{N: len(c.outputs)})
		require.NoError(t, err)
		a := h.Action(graph.Float32s(c.outputs))
		require.True(t, a.Shape().Equal(graph.ShapeOf(graph.Int32)))
		require.Equal(t, []float64{c.want}, floats(t, a))
	}
}

// The action is legal for all outputs, and it is the best legal one.
func TestIllegalActionsAreNotChosen(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	wide := func(n int, at map[int]float32) []float32 {
		x := make([]float32, n)
		for i, v := range at {
			x[i] = v
		}
		return x
	}
	for _, c := range []struct {
		number  int
		what    string
		outputs []float32
		legal   []float32
		want    float64
	}{
		{1, "the largest is illegal", []float32{1, 5, 2}, []float32{1, 0, 1}, 2},
		{2, "all legal", []float32{1, 5, 2}, []float32{1, 1, 1}, 1},
		{3, "one legal", []float32{9, 5, -2}, []float32{0, 0, 1}, 2},
		{4, "no output is a number", []float32{nan, nan, nan}, []float32{0, 0, 1}, 2},
		{5, "the legal one is -Inf", []float32{0, 1, -inf}, []float32{0, 0, 1}, 2},
		{6, "the illegal one is +Inf", []float32{inf, 1, 0}, []float32{0, 1, 1}, 1},
		{7, "NaN beside a number", []float32{3, nan, -7}, []float32{0, 1, 1}, 2},
		{8, "equal ones", []float32{4, 4, 4}, []float32{0, 1, 1}, 1},
		{9, "many actions", wide(20, map[int]float32{3: 5, 18: 1}), wide(20, map[int]float32{18: 1, 19: 1}), 18},
		{10, "many, and no numbers", wide(20, map[int]float32{0: nan, 19: nan}), wide(20, map[int]float32{19: 1}), 19},
	} {
		h, err := HeadOf(envs.Discrete{N: len(c.outputs)})
		require.NoError(t, err)
		legal := graph.Float32s(c.legal).Gt(0)
		require.Equal(t, []float64{c.want}, floats(t, h.Action(Legal(graph.Float32s(c.outputs), legal))), "case %d: %s",
			c.number, c.what)
	}
}

func TestBoxActionsStayInside(t *testing.T) {
	h, err := HeadOf(envs.Box{Low: []float64{-2, 0, -math.MaxFloat32}, High: []float64{2, 1, math.MaxFloat32},
		Dims: []int{3}, DType: graph.Float32})
	require.NoError(t, err)
	a := floats(t, h.Action(graph.Float32s([]float32{100, 0, 7})))
	require.InDeltaSlice(t, []float64{2, .5, 7}, a, 1e-6)
	h, err = HeadOf(envs.Box{Low: []float64{-1}, High: []float64{3}, Dims: []int{2, 1}, DType: graph.Float32})
	require.NoError(t, err)
	out := h.Action(graph.Float32s([]float32{-100, 0}))
	require.Equal(t, []int{2, 1}, out.Dims())
	require.InDeltaSlice(t, []float64{-1, 1}, floats(t, out), 1e-6)
}

// A box with one bound of an element, or impossible bounds, is refused.
func TestBoxesThatCannotBeFilled(t *testing.T) {
	box := func(low, high []float64) envs.Box {
		return envs.Box{Low: low, High: high, Dims: []int{2}, DType: graph.Float32}
	}
	none := envs.Unbounded
	for _, c := range []struct {
		space envs.Box
		want  string
	}{
		{box([]float64{-1, 0}, []float64{1, none}), "of which element 1 has one bound, want both bounds or none: " +
			"leave it unbounded"},
		{box([]float64{-none}, []float64{0}), "of which element 0 has one bound"},
		{box([]float64{0, 0}, []float64{math.Inf(1), 1}), "of which element 0 has one bound"},
		{box(nil, nil), "got the action space Box(none, none, [2], f32), want one that can be filled: got 0 lower " +
			"and 0 upper bounds for f32[2]"},
		{box([]float64{0, 0, 0}, []float64{1, 1, 1}), "got 3 lower and 3 upper bounds for f32[2]"},
	} {
		_, err := HeadOf(c.space)
		require.ErrorContains(t, err, c.want)
		_, err = StochasticOf(c.space)
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := HeadOf(box([]float64{math.Inf(-1), -1}, []float64{math.Inf(1), 1}))
	require.NoError(t, err)
}

// All policies with an activation have the same list of them. All exist, also in the Python package.
func TestActivationsAreOneList(t *testing.T) {
	found := 0
	for _, name := range Names() {
		maker, err := MakerOf(name, nil)
		require.NoError(t, err)
		if _, has := settings.Lookup(maker, "activation"); has {
			found++
			own := reflect.ValueOf(maker).Elem().FieldByName("Between").Interface().(Between)
			require.Contains(t, nn.Activations(), own.Activation, name)
		}
	}
	require.GreaterOrEqual(t, found, 4)
	field, _ := settings.Lookup(&MLPSettings{}, "activation")
	require.Subset(t, nn.Activations(), field.OneOf())
	require.ElementsMatch(t, field.OneOf(), pythonKeys(t, "functions.py", "activations"))
}

// The functions of genomes are those that settings, their help and the Python package name.
func TestFunctionsOfGenomes(t *testing.T) {
	f, _ := settings.Lookup(&GenomeSettings{}, "final-activation")
	require.Equal(t, genome.ActivationNames(), f.OneOf())
	for setting, names := range map[string][]string{"activations": genome.ActivationNames(),
		"aggregations": genome.AggregationNames()} {
		f, _ := settings.Lookup(&GenomeSettings{}, setting)
		require.Contains(t, strings.ReplaceAll(f.Help, "\n", " ")+";", ": "+strings.Join(names, ", ")+";")
		require.ElementsMatch(t, names, pythonKeys(t, "genome.py", setting))
	}
}

// pythonKeys returns the keys of a dictionary in a file of the Python package.
func pythonKeys(t *testing.T, file, name string) (keys []string) {
	text, err := os.ReadFile("../../python/xlarun/" + file)
	require.NoError(t, err)
	table := regexp.MustCompile(`(?s)\n` + name + ` = \{\n.*?\n\}\n`).Find(text)
	for _, m := range regexp.MustCompile(`"(\w+)":`).FindAllSubmatch(table, -1) {
		keys = append(keys, string(m[1]))
	}
	return keys
}

// Zero settings are refused, for every policy with settings.
func TestEmptySettings(t *testing.T) {
	image := envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{5, 5, 1}, DType: graph.Float32}
	for _, name := range Names() {
		maker, err := MakerOf(name, nil)
		require.NoError(t, err)
		if of := reflect.TypeOf(maker); of.Kind() == reflect.Pointer && len(settings.Fields(maker)) > 0 &&
			!strings.HasPrefix(name, "test-") {
			_, err := reflect.New(of.Elem()).Interface().(Maker).Make(image, 2)
			require.ErrorContains(t, err, "policy.", name)
			require.ErrorAs(t, err, new(*settings.Error), name)
		}
	}
	for _, c := range []struct {
		maker Maker
		want  string
	}{
		{&CNNSettings{Channels: []int{4}, Kernel: 3, Padding: "valid", Between: Between{Activation: "relu"}},
			"policy.stride: got 0, want a whole number from 1 to 64"},
		{&BlockMLPSettings{Hidden: []int{8, 8}, Between: Between{Activation: "relu"}, Density: 1, Masks: sharedMasks},
			"policy.block: got 0, want a whole number from 1 to 1024"},
		{gru.settings(0), "policy.units: got 0, want a whole number from 1"},
		{&MLPSettings{Between: Between{Activation: "tahn"}}, `policy.activation: got "tahn", want one of`},
	} {
		_, err := c.maker.Make(image, 2)
		require.ErrorContains(t, err, c.want)
	}
}

func TestDiscreteObservationsAreOneHot(t *testing.T) {
	p, h, err := Make("linear", nil, envs.Discrete{N: 3}, envs.Discrete{N: 2})
	require.NoError(t, err)
	w := graph.Float32s([]float32{0, 1, 5, 4, 0, 9}, 3, 2)
	params := Params{Layers: []nn.Dense{{W: w, B: graph.Float32s([]float32{0, 0})}}}
	for i, want := range []float64{1, 0, 1} {
		require.Equal(t, []float64{want}, floats(t, act(p, h, params, graph.Of(int32(i)))))
	}
}

func TestBadSpecs(t *testing.T) {
	for _, c := range []struct {
		spec   string
		action envs.Space
		wants  string
	}{
		{"mlpp:16", envs.Discrete{N: 2},
			`policy: got "mlpp:16", want one of ` + strings.Join(Names(), ", ") + `; did you mean mlp?`},
		{"", envs.Discrete{N: 2},
			`policy: got "", want one of ` + strings.Join(Names(), ", ")},
		{"mlp:a", envs.Discrete{N: 2},
			`policy: got "mlp:a", want the hidden layers' sizes, whole numbers from 1 to 16777216 between commas, as ` +
				`in "mlp:16,16"`},
		{"linear:3", envs.Discrete{N: 2},
			`policy: got "linear:3", want "linear": this policy takes nothing after a colon`},
		{"mlp:4", envs.Discrete{N: 0}, `policy: got the action space Discrete(0), want 1 to 16777216 actions`},
	} {
		_, _, err := Make(c.spec, nil, observation, c.action)
		require.EqualError(t, err, c.wants)
		require.IsType(t, &settings.Error{}, err)
	}
	_, err := NewMLP([]int{-1}, "tanh", observation, 2)
	require.EqualError(t, err, "policy: got a hidden layer of -1, want 1 to 16777216")
	_, err = NewMLP(nil, "", envs.Discrete{N: 0}, 2)
	require.EqualError(t, err, "policy: got observations of Discrete(0), 0 inputs, want 1 to 16777216 inputs")
}

func TestActRefusesOthersParameters(t *testing.T) {
	p, h, err := Make("mlp:4", nil, observation, envs.Discrete{N: 2})
	require.NoError(t, err)
	err = graph.Try(func() { act(p, h, 3, graph.Float32s([]float32{0, 0, 0})) })
	require.EqualError(t, err, "*policy.MLP: got parameters of type int, want policy.Params, as Init makes them")
	// The line is that of the method: it was one of traits.go.
	err = graph.Try(func() { Erase(&own{}).Act(3, graph.None{}, nil, random.Key{}) })
	require.Regexp(t, `^policy_test\.go:\d+: \*policy\.own: got parameters of type int, want graph\.None`, err.Error())
}

// own is a policy with settings: a constant action.
type own struct {
	Stateless[graph.None]
	Level settings.Number `set:"level" min:"-1" max:"1" help:"the output"`
	Times int             `set:"times" args:"" min:"1" max:"9" help:"factor"`
}

func (o *own) Make(envs.Space, int) (Policy, error)       { return Erase(o), nil }
func (o *own) Traits() (t Traits[graph.None, graph.None]) { return t }
func (o *own) Init(random.Key) graph.None                 { return graph.None{} }
func (o *own) Act(_, none graph.None, _ *graph.Array, _ random.Key) (graph.None, Output) {
	return none, Output{Action: o.Level.Array().Mul(float32(o.Times)).Reshape(1)}
}

// forgetful learns, and returns a carry of another dtype.
type forgetful struct{ own }

func (f *forgetful) Make(envs.Space, int) (Policy, error) { return Erase(f), nil }
func (f *forgetful) Traits() (t Traits[graph.None, *graph.Array]) {
	t.Learn = f.Learn
	return t
}
func (*forgetful) Start(graph.None) *graph.Array { return graph.Scalar(0) }
func (f *forgetful) Act(_ graph.None, carry, _ *graph.Array, _ random.Key) (*graph.Array, Output) {
	_, out := f.own.Act(graph.None{}, graph.None{}, nil, random.Key{})
	return carry, out
}
func (*forgetful) Learn(carry, _ *graph.Array) *graph.Array { return carry.Convert(graph.Int32) }

// The carry that Learn changes was found by the loop over an episode's steps, which named its own line.
func TestLearnKeepsTheCarry(t *testing.T) {
	_, err := Build(&forgetful{own{Level: settings.Num(0), Times: 1}}, observation, 1)
	require.Regexp(t, `^policy_test\.go:\d+: the policy's Learn: the carry goes in as f32\[\] and comes out as i32`,
		err.Error())
}

// faulty is a policy with Traits that cannot be used.
type faulty struct {
	own
	traits Traits[graph.None, graph.None]
}

func (f *faulty) Make(envs.Space, int) (Policy, error)       { return Erase(f), nil }
func (f *faulty) Traits() (t Traits[graph.None, graph.None]) { return f.traits }

func TestFaultyTraits(t *testing.T) {
	type traits = Traits[graph.None, graph.None]
	report := func(graph.None) *graph.Array { return graph.Zeros(graph.ShapeOf(graph.Float32, 1)) }
	for want, traits := range map[string]traits{
		"Prepared has no functions: make it with FormOf": {Prepared: &Form{}},
		`got the name "Rate (Hz)" in Reports ["Rate (Hz)"], want different`: {
			Reports: []string{"Rate (Hz)"}, Report: report},
		`got the name "rate" in Reports ["rate" "rate"]`: {
			Reports: []string{"rate", "rate"}, Report: report},
		"got 1 names in Reports and a function Report: false, want both or none": {Reports: []string{"rate"}},
		"got 0 names in Reports and a function Report: true":                     {Report: report},
		"Report returned f32[1], want f32[2], a number for each of Reports": {
			Reports: []string{"a", "b"}, Report: report},
	} {
		_, err := Build(&faulty{own{Level: settings.Num(0), Times: 1}, traits}, observation, 1)
		require.ErrorContains(t, err, "the policy's Traits: "+want)
		require.Regexp(t, `^policy_test\.go:\d+: `, err.Error())
	}
}

func TestRegister(t *testing.T) {
	maker := &own{Level: settings.Num(.5), Times: 1}
	if !slices.Contains(Names(), "test-own") { // not with go test -count=2, again
		MustRegister("test-own", maker)
	}
	require.Contains(t, Names(), "test-own")
	unbounded := envs.Box{Low: []float64{-math.MaxFloat32}, High: []float64{math.MaxFloat32}, Dims: []int{1},
		DType: graph.Float32}
	for _, c := range []struct {
		spec string
		own  settings.Values
		want float64
	}{{"test-own", nil, .5}, {"test-own:3", nil, 1.5}, {"test-own", settings.Values{"times": 2, "level": "-0.25"},
		-.5}} {
		p, h, err := Make(c.spec, c.own, observation, unbounded)
		require.NoError(t, err)
		x := graph.Float32s([]float32{0, 0, 0})
		require.Equal(t, []float64{c.want}, floats(t, act(p, h, p.Init(random.New(0)), x)))
	}
	for _, c := range []struct {
		spec string
		own  settings.Values
		want string
	}{
		{"test-own", settings.Values{"level": 2},
			"policy.level: got 2, want a number from -1 to 1 that a float32 holds"},
		{"test-own", settings.Values{"levle": 2}, "policy.levle: got a value, want one of the settings that the " +
			"policy test-own has: policy.level, policy.times; did you mean policy.level?"},
		{"test-own:3", settings.Values{"times": 2},
			`policy.times: got 2, want it either here or after the colon of "test-own:3", not both`},
		{"test-own:30", nil, `policy: got "test-own:30", want a whole number from 1 to 9, as in "test-own:1"`},
		{"linear", settings.Values{"level": 2}, "policy.level: got a value, want nothing: the policy linear has no " +
			"settings, leave it out"},
	} {
		_, _, err := Make(c.spec, c.own, observation, unbounded)
		require.EqualError(t, err, c.want)
	}
	require.PanicsWithError(t, "policy.Register: test-own is registered already: choose another name", func() {
		MustRegister("test-own", maker)
	})
	require.Panics(t, func() { MustRegister[Maker]("nothing", nil) })
}
