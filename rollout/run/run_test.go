package run

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/plan"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

func TestOver(t *testing.T) {
	for _, m := range []Metrics{{Step: 3}, {Step: 4}, {Step: 1, Done: true}, {Step: 1, Stalled: true}} {
		require.True(t, m.Over(3), "%+v", m)
	}
	require.False(t, Metrics{Step: 2}.Over(3))
}

// clashing has a setting with the name of a flag of the session.
type clashing struct {
	Common
	Rounds int `set:"rounds"`
}

// Job returns nil.
func (*clashing) Job() *Job { return nil }

func TestRegister(t *testing.T) {
	before := Kinds()
	t.Cleanup(func() {
		registry.Lock()
		defer registry.Unlock()
		registry.kinds = before
	})
	good := Kind{Name: "walk-2", Unit: "step", Version: 1, New: func() Experiment { return nil }}
	for i, c := range []struct {
		change func(k *Kind)
		want   string
	}{
		{func(k *Kind) { k.Name = "" },
			`run.Register: got the kind "", want a name of small letters, a Unit, a Version from 1 on and a ` +
				`function New`},
		{func(k *Kind) { k.Name = "Walk" }, `got the kind "Walk"`},
		{func(k *Kind) { k.Name = "-walk" }, "want a name"},
		{func(k *Kind) { k.Name = "wa/lk" }, "want a name"},
		{func(k *Kind) { k.Name = "walk\n" }, "want a name"},
		{func(k *Kind) { k.Unit = "" }, "a Unit"},
		{func(k *Kind) { k.Version = 0 }, "a Version from 1 on"},
		{func(k *Kind) { k.New = nil }, "a function New"},
		{func(k *Kind) { k.New = func() Experiment { return &clashing{} } },
			`run.Register: the kind "walk-2" has a setting "rounds", and its command has a flag --rounds of another ` +
				`meaning: give the setting another name`},
	} {
		k := good
		c.change(&k)
		require.ErrorContains(t, Register(k), c.want, "%d", i)
	}
	require.Equal(t, len(before), len(Kinds()), "nothing was registered")

	later := good
	later.Name, later.Round = "zebra", "stripe"
	MustRegister(later)
	require.NoError(t, Register(good))
	require.EqualError(t, Register(good), "run.Register: walk-2 is registered already: choose another name")
	require.Panics(t, func() { MustRegister(good) })
	k, ok := Lookup("walk-2")
	require.True(t, ok)
	require.Equal(t, "step", k.Round, "a round is a unit where nothing is said")
	k, _ = Lookup("zebra")
	require.Equal(t, "stripe", k.Round)
	_, ok = Lookup("walk")
	require.False(t, ok)
	var names []string
	for _, k := range Kinds() {
		names = append(names, k.Name)
	}
	require.True(t, slices.IsSorted(names))
	Kinds()[0].Name = "spoiled"
	require.Equal(t, names[0], Kinds()[0].Name, "the list is a copy")
}

func TestLeafName(t *testing.T) {
	for i, c := range []struct{ path, want string }{
		{".Mean", "mean"}, {".Strategy.LearningRate", "strategy.learning_rate"},
		{".Best.Genome[2].W", "best.genome.2.w"},
		{".StdDev", "std_dev"}, {".RNG", "rng"}, {".RNGKey", "rng_key"}, {".KeyRNG", "key_rng"}, {".X1Y", "x1y"},
		{".A.B", "a.b"}, {"[0][1]", "0.1"},
	} {
		require.Equal(t, c.want, LeafName(c.path), "%d", i)
	}
}

// walk is a Loop as a Run: a number that grows by the inputs' number and by a random one.
type walk struct{ *Loop }

type walkState struct {
	Place struct{ Now, StepSize *graph.Array }
	Turn  *graph.Array
}

func (w walk) Step(context.Context) (Metrics, error) {
	v, err := w.Numbers()
	if err != nil {
		return Metrics{}, err
	}
	return Metrics{Step: w.Steps(), Values: []Value{{"twice", v[0]}}}, nil
}

func newWalk(t *testing.T, b xlabridge.Backend, devices int) walk {
	t.Helper()
	var first walkState
	first.Place.Now, first.Place.StepSize, first.Turn = graph.Scalar(0), graph.Scalar(1), graph.Of(int32(0))
	l, err := NewLoop(b, LoopOptions{Name: "walk", Purpose: "a walk", Plan: plan.Plan{Devices: devices}}, first,
		graph.Scalar(10), func(s walkState, in *graph.Array) (walkState, *graph.Array) {
			s.Place.StepSize = graph.Add(s.Place.StepSize, random.Uniform(random.FoldIn(random.New(7), s.Turn),
				graph.ShapeOf(graph.Float32), 0, 1))
			s.Place.Now = graph.Add(s.Place.Now, graph.Add(in, s.Place.StepSize))
			s.Turn = graph.Add(s.Turn, 1)
			return s, graph.Mul(s.Place.Now, 2)
		})
	require.NoError(t, err)
	return walk{l}
}

func hosted(t *testing.T, s Snapshot) map[string]float64 {
	t.Helper()
	out := map[string]float64{"step": float64(s.Step)}
	for name, a := range s.Arrays {
		x, err := graph.Float(a)
		require.NoError(t, err)
		out[name] = x
	}
	return out
}

func steps(t *testing.T, r Run, n int) (values []Metrics) {
	t.Helper()
	for range n {
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		values = append(values, m)
	}
	return values
}

// A loop goes on from a snapshot to the byte, also another loop on other devices; WarmUp leaves no trace.
func TestLoop(t *testing.T) {
	client, err := xlabridge.Open(t.Context(), xlabridge.Options{Devices: 2, NoCache: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	for _, b := range []xlabridge.Backend{&xlabridge.Reference{}, client} {
		t.Run(b.Backend(), func(t *testing.T) {
			w := newWalk(t, b, 0)
			defer func() { require.NoError(t, w.Close()) }()
			start, err := w.Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, map[string]float64{"step": 0, "place.now": 0, "place.step_size": 1, "turn": 0},
				hosted(t, start))
			first := steps(t, w, 3)
			middle, err := w.Snapshot(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 3, middle.Step)
			rest := steps(t, w, 2)
			last, err := w.Snapshot(t.Context())
			require.NoError(t, err)

			require.NoError(t, w.Restore(t.Context(), middle))
			require.EqualValues(t, 3, w.Steps())
			require.Equal(t, rest, steps(t, w, 2))
			require.NoError(t, w.Restore(t.Context(), start))
			require.Equal(t, first, steps(t, w, 3))
			seconds, err := WarmUp(t.Context(), w)
			require.NoError(t, err)
			require.GreaterOrEqual(t, seconds, 0.)
			require.Equal(t, rest, steps(t, w, 2))
			now, err := w.Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, hosted(t, last), hosted(t, now))

			state, err := w.State()
			require.NoError(t, err)
			require.EqualValues(t, 5, must(graph.Float(must(xlabridge.ToHost(state.(walkState).Turn)))))
			tree, err := w.Unflatten(last)
			require.NoError(t, err)
			require.EqualValues(t, 5, must(graph.Float(tree.(walkState).Turn)))
			require.Len(t, w.Inputs(), 1)
			require.Equal(t, "walk", w.Compiled().Program.Name)

			p := w.Profile()
			require.Equal(t, 1, p.Devices)
			require.Len(t, p.Programs, 1)
			require.Equal(t, "walk", p.Programs[0].Name)

			if b == client {
				two := newWalk(t, b, 2)
				defer func() { require.NoError(t, two.Close()) }()
				require.Equal(t, 2, two.Profile().Devices)
				require.NoError(t, two.Restore(t.Context(), middle))
				require.Equal(t, rest, steps(t, two, 2))
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A snapshot of other settings is refused, and the loop is as it was.
func TestLoopRefuses(t *testing.T) {
	w := newWalk(t, &xlabridge.Reference{}, 1)
	steps(t, w, 1)
	good, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	for i, c := range []struct {
		change func(a map[string]*graph.Array)
		want   string
	}{
		{func(a map[string]*graph.Array) {
			delete(a, "turn")
		}, `the state has no array "turn" of i32[], as these settings want: restore what the same settings made`},
		{func(a map[string]*graph.Array) { a["turn"] = graph.Int32s([]int32{1}) }, `no array "turn" of i32[]`},
		{func(a map[string]*graph.Array) { a["turn"] = graph.Scalar(1) }, `no array "turn" of i32[]`},
		{func(a map[string]*graph.Array) {
			a["more"] = graph.Scalar(1)
		}, "the state has 4 arrays, these settings want 3"},
		{func(a map[string]*graph.Array) { clear(a) }, "the state has no array"},
	} {
		s := Snapshot{Step: 9, Arrays: map[string]*graph.Array{}}
		for name, a := range good.Arrays {
			s.Arrays[name] = a
		}
		c.change(s.Arrays)
		require.ErrorContains(t, w.Restore(t.Context(), s), c.want, "%d", i)
		_, err := w.Unflatten(s)
		require.ErrorContains(t, err, c.want, "%d", i)
		now, err := w.Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, hosted(t, good), hosted(t, now), "%d", i)
	}
	require.ErrorContains(t, w.Restore(t.Context(), Snapshot{}), "the state has no array")

	// A number that is none is a state like any other.
	nan := Snapshot{Step: 2, Arrays: map[string]*graph.Array{"place.now": graph.Scalar(math.NaN()),
		"place.step_size": graph.Scalar(math.Inf(1)), "turn": graph.Of(int32(-1))}}
	require.NoError(t, w.Restore(t.Context(), nan))
	m, err := w.Step(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 3, m.Step)
	x, ok := m.Get("twice")
	require.True(t, ok && math.IsNaN(x))
	_, ok = m.Get("thrice")
	require.False(t, ok)

	// After Close there is nothing.
	require.NoError(t, w.Close())
	_, err = w.Step(t.Context())
	require.ErrorIs(t, err, ErrGone)
	_, err = w.Snapshot(t.Context())
	require.ErrorIs(t, err, ErrGone)
	_, err = w.State()
	require.ErrorIs(t, err, ErrGone)
	_, err = WarmUp(t.Context(), w)
	require.ErrorIs(t, err, ErrGone)
	require.ErrorIs(t, w.Restore(t.Context(), good), ErrGone)
	require.NoError(t, w.Close(), "a second time")
}

// A round that fails takes the state along; a snapshot brings the run back.
func TestLoopThatFails(t *testing.T) {
	fire := false
	w := newWalk(t, &xlabridge.Reference{Hook: func(*graph.Node, []*graph.Tensor, []*graph.Tensor) error {
		if fire {
			return errors.New("the device caught fire")
		}
		return nil
	}}, 1)
	steps(t, w, 2)
	s, err := w.Snapshot(t.Context())
	require.NoError(t, err)
	want := steps(t, w, 2)
	fire = true
	_, err = w.Step(t.Context())
	require.ErrorContains(t, err, "the device caught fire")
	fire = false
	_, err = w.Step(t.Context())
	require.ErrorIs(t, err, ErrGone)
	_, err = w.Snapshot(t.Context())
	require.ErrorIs(t, err, ErrGone)
	require.NoError(t, w.Restore(t.Context(), s))
	require.Equal(t, want, steps(t, w, 2))
	require.NoError(t, w.Close())

	_, err = NewLoop(&xlabridge.Reference{}, LoopOptions{Name: "bad"}, graph.Scalar(0), graph.None{},
		func(s *graph.Array, _ graph.None) (*graph.Array, graph.None) {
			return graph.Reshape(s, 3), graph.None{}
		})
	require.Error(t, err, "what cannot be traced")
}

// A state whose arrays a snapshot could not tell apart is refused: one of them would be lost.
func TestLoopWantsNamesApart(t *testing.T) {
	type inner struct{ B *graph.Array }
	for _, c := range []struct {
		number int
		state  any
		want   string
	}{
		{1, map[string]any{"W": graph.Scalar(1), "w": graph.Scalar(2)},
			`the state of the program names has two arrays of the name "w" in a snapshot, at ["W"] and at ["w"], want`},
		{2, map[string]any{"a.b": graph.Scalar(1), "a": inner{graph.Scalar(2)}},
			`two arrays of the name "a.b" in a snapshot`},
		{3, struct{ StepSize, Step_size *graph.Array }{graph.Scalar(1), graph.Scalar(2)},
			`two arrays of the name "step_size" in a snapshot, at .StepSize and at .Step_size`},
		{4, map[string]any{"W": graph.Scalar(1), "v": graph.Scalar(2)}, ""},
	} {
		l, err := NewLoop(&xlabridge.Reference{}, LoopOptions{Name: "names"}, c.state, graph.None{},
			func(s any, _ graph.None) (any, graph.None) {
				return s, graph.None{}
			})
		if c.want == "" {
			require.NoError(t, err, "case %d", c.number)
			s, err := l.Snapshot(t.Context())
			require.NoError(t, err)
			require.Len(t, s.Arrays, 2)
			require.NoError(t, l.Close())
			continue
		}
		require.ErrorContains(t, err, c.want, "case %d", c.number)
		require.NotContains(t, err.Error(), "\n", "case %d", c.number)
	}
}

func TestProfile(t *testing.T) {
	var p Profile
	require.Nil(t, p.Fact("x"))
	for _, c := range []Program{{Name: "one", TraceSeconds: 1, CompileSeconds: 2, Cache: cache.Hit, Bytes: 10,
		MemoryBytes: 7},
		{Name: "two", TraceSeconds: 1, CompileSeconds: 3, Cache: cache.Miss, Reason: "none is stored",
			Bytes: 5, MemoryBytes: 9},
		{Name: "three", Cache: cache.Hit, Reason: "later", MemoryBytes: 1}} {
		p.Account(c)
	}
	require.Equal(t, cache.Miss, p.Cache, "one that is not a hit")
	require.Equal(t, "none is stored", p.CacheReason, "the first")
	require.EqualValues(t, 9, p.PeakMemoryBytes, "of the largest")
	require.Equal(t, 15, p.Bytes())
	require.Equal(t, 2., p.TraceSeconds)
	require.Equal(t, 5., p.CompileSeconds)

	p.Choice = plan.Choice{Plan: "tiles of 8", Source: plan.Static, Reason: "the stored plan is damaged"}
	p.Facts = []Fact{{"tile", 8}, {`a "quoted" one`, []int{1}}}
	p.Chosen = map[string]any{"tile": 8}
	require.Equal(t, "the stored plan is damaged; the plan is the rule's", p.PlanNotice())
	require.Equal(t, 8, p.Fact("tile"))
	text, err := json.Marshal(p)
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(text, &got))
	require.EqualValues(t, 8, got["tile"])
	require.Equal(t, "tiles of 8", got["plan"])
	require.Equal(t, []any{1.}, got[`a "quoted" one`])
	require.NotContains(t, got, "Chosen")
	p.Facts = []Fact{{"bad", math.NaN()}}
	_, err = json.Marshal(p)
	require.Error(t, err)
	p.Source, p.Choice.Reason = plan.Tuned, ""
	require.Empty(t, p.PlanNotice())
}
