package settings_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	. "xlarun/rollout/settings"
)

// common is embedded in all.
type common struct {
	Seed   int64 `set:"seed" program:"no" help:"seed"`
	Memory Bytes `set:"memory" program:"no" resume:"any" min:"1" zero:"what is free"`
}

// all has a setting of each type.
type all struct {
	common
	Switch bool      `set:"switch"`
	Count  int       `set:"count" min:"1" max:"64" help:"things to count"`
	Every  int       `set:"every" min:"3" zero:"never"`
	Part   float64   `set:"part" min:"0" max:"1"`
	Rate   float64   `set:"rate" program:"no" above:"0"`
	Sigma  Number    `set:"sigma" above:"0" help:"noise"`
	Kind   string    `set:"kind" oneof:"alpha,beta"`
	Target string    `set:"target" number:"" wants:"a goal"`
	Sizes  []int     `set:"sizes" args:"" min:"1" max:"9"`
	Parts  []float64 `set:"parts" above:"0" max:"1"`
	Own    int       // no setting
	hidden int       `set:"hidden"`
}

func defaults() *all {
	return &all{common: common{Seed: 3}, Count: 2, Part: .5, Rate: 1, Sigma: Num(.1), Kind: "alpha", Target: "auto",
		Sizes: []int{4, 4}, Parts: []float64{1}}
}

func TestFields(t *testing.T) {
	type row struct{ name, kind, value, wants string }
	var got []row
	for _, f := range Fields(defaults()) {
		got = append(got, row{f.Name, f.Type, f.Default, f.Wants})
		require.Equal(t, f.Name == "sigma", f.Traced)
		require.Equal(t, f.Name == "memory", f.MayChange())
		require.Equal(t, f.Name == "sizes", f.IsArgument())
		if f.Name == "count" {
			require.Equal(t, "things to count", f.Help, "blank fields continue a tag")
		}
	}
	require.Equal(t, []row{
		{"seed", "int", "3", "a whole number"},
		{"memory", "bytes", "", "a number of bytes such as 2G, 500M or 1.5GiB from 1 on, 0 for what is free"},
		{"switch", "bool", "false", "true or false"},
		{"count", "int", "2", "a whole number from 1 to 64"},
		{"every", "int", "0", "a whole number from 3 on, 0 for never"},
		{"part", "number", "0.5", "a number from 0 to 1"},
		{"rate", "number", "1", "a number above 0"},
		{"sigma", "number", "0.1", "a number above 0 that a float32 holds"},
		{"kind", "text", "alpha", "one of alpha, beta"},
		{"target", "text", "auto", "a goal"},
		{"sizes", "ints", "4,4", "whole numbers between commas from 1 to 9"},
		{"parts", "numbers", "1", "numbers between commas above 0, at most 1"},
	}, got)
	require.Nil(t, Fields(all{}), "no pointer")
	require.Nil(t, Fields(nil))
	require.Nil(t, Fields((*all)(nil)))
	require.Panics(t, func() {
		Fields(&struct {
			X complex128 `set:"x"`
		}{})
	})
	require.PanicsWithValue(t, "settings: struct { X int \"set:\\\"x\\\"\"; _ struct {} \"help:\\\"more\\\"\" } has "+
		"a blank field with the tag help:\"more\": write that into the tag of the field before it", func() {
		Fields(&struct {
			X int      `set:"x"`
			_ struct{} `help:"more"`
		}{})
	})
	require.Panics(t, func() { // a bound that is none is a mistake in the program
		_ = Check(&struct {
			X int `set:"x" min:"few"`
		}{})
	})
}

// Settings of a type are described once. Values are those of each struct, and what a struct that embeds another one
// adds to its tags is its own.
func TestFieldsOfSeveral(t *testing.T) {
	type rare struct {
		common `advanced:"" needs:"kind=a"`
		Kind   string `set:"kind"`
	}
	a, b, c := common{Seed: 1}, common{Seed: 2}, rare{common{Seed: 3}, "x"}
	for range 2 {
		for i, ptr := range []any{&a, &b, &c, &c.common} {
			f, ok := Lookup(ptr, "seed")
			require.True(t, ok)
			require.Equal(t, fmt.Sprint([]int64{a.Seed, b.Seed, c.Seed, c.Seed}[i]), f.Default)
			require.Equal(t, f, Fields(ptr)[0])
			require.Equal(t, i == 2, f.Advanced)
			_, _, missing := f.Needs(Fields(ptr))
			require.Equal(t, i == 2, missing)
			require.NoError(t, f.Set(int64(10+i)))
		}
		require.Equal(t, []int64{10, 11, 13}, []int64{a.Seed, b.Seed, c.Seed})
	}
}

// Texts and values set every type. A wrong value does not change the setting, and the error has the possible values.
// The tag advanced of an embedded struct counts for all of its settings.
func TestAdvanced(t *testing.T) {
	type rare struct {
		common
		Tile int `set:"tile"`
	}
	type more struct {
		Usual int `set:"usual"`
		rare  `advanced:""`
		Other int `set:"other"`
		Late  int `set:"late" advanced:""`
	}
	got := map[string]bool{}
	for _, f := range Fields(&more{}) {
		got[f.Name] = f.Advanced
	}
	require.Equal(t, map[string]bool{"usual": false, "seed": true, "memory": true, "tile": true, "other": false,
		"late": true}, got)
}

func TestSet(t *testing.T) {
	for i, c := range []struct {
		name  string
		value any
		want  any    // as Value gives it; nil: refused
		text  string // as Text gives it, or of the error
	}{
		{"seed", "0x10", int64(16), "16"},
		{"seed", "010", int64(10), "10"},
		{"seed", int64(math.MinInt64), int64(math.MinInt64), "-9223372036854775808"},
		{"seed", "9223372036854775808", nil, `seed: got "9223372036854775808", want a whole number from ` +
			`-9223372036854775808 to 9223372036854775807`},
		{"seed", "-99999999999999999999", nil, "to 9223372036854775807"},
		{"count", "99999999999999999999", nil, `count: got "99999999999999999999", want a whole number from 1 to `},
		{"seed", 1.5, nil, "seed: got 1.5, want a whole number"},
		{"seed", 2., nil, "seed: got 2, want a whole number"},
		{"seed", true, nil, "seed: got true"},
		{"seed", nil, nil, "seed: got <nil>"},
		{"seed", "", nil, `seed: got "", want`},
		{"memory", "2G", "2000000000", "2000000000"},
		{"memory", "1.5GiB", "1610612736", "1610612736"},
		{"memory", 7, "7", "7"},
		{"memory", "", "", ""},
		{"memory", "many", nil, `memory: got "many"`},
		{"memory", 2e9, nil, "memory: got 2e+09"},
		{"memory", "1e30G", nil, `memory: got "1e30G"`},
		{"switch", "true", true, "true"},
		{"switch", true, true, "true"},
		{"switch", "1", true, "true"},
		{"switch", "yes", nil, `switch: got "yes", want true or false`},
		{"switch", 1, nil, "switch: got 1"},
		{"count", 5, int64(5), "5"},
		{"part", "1e-3", .001, "0.001"},
		{"part", 1, 1., "1"},
		{"part", float32(.5), .5, "0.5"},
		{"part", "half", nil, `part: got "half", want a number from 0 to 1`},
		{"part", nil, nil, "part: got <nil>"},
		{"sigma", "0.25", .25, "0.25"},
		{"sigma", int64(2), 2., "2"},
		{"sigma", []any{1}, nil, "sigma: got [1]"},
		{"kind", "beta", "beta", "beta"},
		{"kind", 3, nil, "kind: got 3, want one of alpha, beta"},
		{"target", 150., "150", "150"},
		{"target", 3, "3", "3"},
		{"target", false, nil, "target: got false, want a goal"},
		{"sizes", "3, 4,5", []int{3, 4, 5}, "3,4,5"},
		{"sizes", "", []int(nil), ""},
		{"sizes", 7, []int{7}, "7"},
		{"sizes", []any{int64(1), int64(2)}, []int{1, 2}, "1,2"},
		{"sizes", []any{1.5}, nil, `sizes: got "1.5"`},
		{"sizes", "3,,4", nil, `sizes: got "3,,4", want whole numbers`},
		{"sizes", true, nil, "sizes: got true"},
		{"parts", "0.1,1", []float64{.1, 1}, "0.1,1"},
		{"parts", []any{.1, int64(1)}, []float64{.1, 1}, "0.1,1"},
		{"parts", []float64{1. / 3, 1e-300}, []float64{1. / 3, 1e-300}, "0.3333333333333333,1e-300"},
		{"parts", .5, []float64{.5}, "0.5"},
		{"parts", "x", nil, `parts: got "x"`},
	} {
		s := defaults()
		f, ok := Lookup(s, c.name)
		require.True(t, ok)
		before := f.Text()
		err := f.Set(c.value)
		if c.want == nil {
			require.ErrorContains(t, err, c.text, "%d", i)
			require.ErrorAs(t, err, new(*Error), "%d", i)
			require.Equal(t, before, f.Text(), "%d", i)
			continue
		}
		require.NoError(t, err, "%d", i)
		require.Equal(t, c.want, f.Value(), "%d", i)
		require.Equal(t, c.text, f.Text(), "%d", i)
		again, _ := Lookup(defaults(), c.name) // the text is read back as the same value
		require.NoError(t, again.Set(f.Text()), "%d", i)
		require.Equal(t, f.Value(), again.Value(), "%d", i)
	}
	_, ok := Lookup(defaults(), "hidden")
	require.False(t, ok, "no exported field")
	err := Wrong("env", strings.Repeat("é", 50000), "less")
	require.Less(t, len(err.Error()), 400, "a long text is not shown whole")
}

func TestCheck(t *testing.T) {
	require.NoError(t, Check(defaults()))
	for i, c := range []struct {
		change func(s *all)
		want   string // "" for right
	}{
		{func(s *all) { s.Count = 64 }, ""},
		{func(s *all) { s.Count = 65 }, "count: got 65, want a whole number from 1 to 64"},
		{func(s *all) { s.Count = 0 }, "count: got 0"},
		{func(s *all) { s.Every = 0 }, ""},
		{func(s *all) { s.Every = 2 }, "every: got 2, want a whole number from 3 on, 0 for never"},
		{func(s *all) { s.Part = 0 }, ""},
		{func(s *all) { s.Part = math.Copysign(0, -1) }, ""},
		{func(s *all) { s.Part = -1e-300 }, "part: got -1e-300"},
		{func(s *all) { s.Part = math.NaN() }, "part: got NaN"},
		{func(s *all) { s.Rate = 0 }, "rate: got 0, want a number above 0"},
		{func(s *all) { s.Rate = math.Inf(1) }, "rate: got +Inf"},
		{func(s *all) { s.Rate = math.SmallestNonzeroFloat64 }, ""},
		{func(s *all) { s.Sigma = Num(1e-60) }, "sigma: got 1e-60, want a number above 0 that a float32 holds"},
		{func(s *all) { s.Sigma = Num(math.SmallestNonzeroFloat32) }, ""},
		{func(s *all) { s.Sigma = Num(math.MaxFloat32) }, ""},
		{func(s *all) { s.Sigma = Num(1e39) }, "sigma: got 1e+39"},
		{func(s *all) { s.Sigma = Num(math.NaN()) }, "sigma: got NaN"},
		{func(s *all) { s.Kind = "" }, `kind: got "", want one of alpha, beta`},
		{func(s *all) { s.Kind = "alfa" }, `kind: got "alfa", want one of alpha, beta; did you mean alpha?`},
		{func(s *all) { s.Kind = "alpha,beta" }, `kind: got "alpha,beta"`},
		{func(s *all) { s.Sizes = nil }, ""},
		{func(s *all) { s.Sizes = []int{1, 10} }, "sizes: got 1,10"},
		{func(s *all) { s.Parts = []float64{1, math.NaN()} }, "parts: got 1,NaN"},
		{func(s *all) { s.Parts = []float64{0} }, "parts: got 0"},
		{func(s *all) { s.Memory = -5 }, "memory: got -5"},
		{func(s *all) { s.Memory = 0 }, ""},
	} {
		s := defaults()
		c.change(s)
		err := Check(s)
		if c.want == "" {
			require.NoError(t, err, "%d", i)
			continue
		}
		var e *Error
		require.ErrorAs(t, err, &e, "%d", i)
		require.ErrorContains(t, err, c.want, "%d", i)
	}
}

func TestApply(t *testing.T) {
	s := defaults()
	require.NoError(t, Values{"count": "7", "sigma": 2, "sizes": []int{1}}.Apply(s, "the box", "box."))
	require.Equal(t, 7, s.Count)
	require.Equal(t, 2., s.Sigma.Value)
	require.Equal(t, []int{1}, s.Sizes)
	for i, c := range []struct {
		values Values
		want   string
	}{
		{Values{"count": "x"}, `box.count: got "x", want a whole number from 1 to 64`},
		{Values{"count": 99}, "box.count: got 99"},
		{Values{"coumt": 9}, "box.coumt: got a value, want one of the settings that the box has: box.seed, box.memory"},
		{Values{"coumt": 9}, "; did you mean box.count?"},
		{Values{"": 9}, "box.: got a value"},
	} {
		require.ErrorContains(t, c.values.Apply(defaults(), "the box", "box."), c.want, "%d", i)
	}
	require.ErrorContains(t, Values{"x": 1}.Apply(&struct{}{}, "the box", "box."), "box.x: got a value, want "+
		"nothing: the box has no settings, leave it out")
	require.NoError(t, Values(nil).Apply(&struct{}{}, "the box", ""))
}

func TestValues(t *testing.T) {
	var none Values
	one := none.With("a.x", 1)
	two := one.With("b.x", 2)
	require.Nil(t, none)
	require.Equal(t, Values{"a.x": 1}, one, "With makes a copy")
	require.Equal(t, Values{"x": 2}, two.Under("b."))
	require.Empty(t, Values{"a.": 1}.Under("a."), "no name is left")
	text, err := json.Marshal(two)
	require.NoError(t, err)
	require.JSONEq(t, `{"a.x":1,"b.x":2}`, string(text))
}

// A bound Number is the input of its name; otherwise it is a constant.
func TestBind(t *testing.T) {
	s := defaults()
	in := Inputs(s, "box.")
	require.Len(t, in, 1)
	p, err := graph.Trace("bind", func(in map[string]*graph.Array) []*graph.Array {
		bound := Bind(s, in, "box.")
		require.True(t, bound.Sigma.Array().IsTraced())
		require.Equal(t, .1, bound.Sigma.Value)
		require.Equal(t, s.Count, bound.Count)
		require.False(t, s.Sigma.Array().IsTraced(), "the original is as it was")
		require.False(t, Bind(s, in, "other.").Sigma.Array().IsTraced())
		return []*graph.Array{bound.Sigma.Array().Mul(2), s.Sigma.Array().Mul(2)}
	}, in)
	require.NoError(t, err)
	out, err := p.Interpret(graph.Leaves(in), nil)
	require.NoError(t, err)
	require.InDelta(t, .2, must(graph.Float(out[0])), 1e-6)
	in["box.sigma"] = graph.Scalar(5)
	out, err = p.Interpret(graph.Leaves(in), nil)
	require.NoError(t, err)
	require.InDelta(t, 10, must(graph.Float(out[0])), 1e-6, "no other program")
	require.InDelta(t, .2, must(graph.Float(out[1])), 1e-6)

	require.Same(t, s, Bind(s, nil, "box."), "nothing to bind")
	require.Equal(t, 3, Bind(3, in, "box."), "no struct of settings")
	require.Nil(t, Bind[any](nil, in, "box."))
	bound := Bind[any](s, in, "box.").(*all)
	require.NotSame(t, s, bound)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// machine is a struct with a part.
type machine struct {
	Engine string `set:"engine"`
	Note   string `set:"note"`
	Parted Values
}

type diesel struct {
	Liters int    `set:"liters" min:"1"`
	Boost  Number `set:"boost"`
	Oil    string `set:"oil" program:"no"`
}

func (m *machine) Parts() []Part {
	return []Part{{Name: "engine", Choices: map[string]any{"diesel": &diesel{Liters: 2, Boost: Num(1)},
		"none": &struct{}{}}}}
}

func (m *machine) Own() *Values { return &m.Parted }

func TestParts(t *testing.T) {
	m := &machine{Engine: "diesel:big", Parted: Values{"engine.liters": "3"}}
	chosen := ChosenParts(m)
	require.Len(t, chosen, 1)
	require.Equal(t, "engine", chosen[0].Name)
	require.Equal(t, "diesel", chosen[0].Choice)
	require.Equal(t, 3, chosen[0].Settings.(*diesel).Liters)
	require.Equal(t, ", engine.liters 3", Unusual(chosen[0], m))
	require.Equal(t, 2, m.Parts()[0].Choices["diesel"].(*diesel).Liters, "the defaults are as they were")

	require.Empty(t, ChosenParts(&machine{Engine: "steam"}), "a choice that there is not is left out")
	require.Empty(t, ChosenParts(defaults()), "no parts")
	require.Len(t, ChosenParts(&machine{Engine: "diesel", Parted: Values{"engine.liters": "x"}}), 1,
		"a value that does not fit is passed over")
}

// Program is equal exactly for experiments with the same programs.
func TestProgram(t *testing.T) {
	base := defaults()
	for i, c := range []struct {
		change func(s *all)
		same   bool
	}{
		{func(s *all) { s.Seed = 9 }, true}, {func(s *all) { s.Memory = 9 }, true}, {func(s *all) { s.Rate = 9 }, true},
		{func(s *all) { s.Sigma = Num(9) }, true},
		{func(s *all) { s.Own = 9 }, true}, {func(s *all) { s.hidden = 9 }, true},
		{func(s *all) { s.Count = 9 }, false}, {func(s *all) { s.Kind = "beta" }, false},
		{func(s *all) { s.Sizes = []int{44} }, false}, {func(s *all) { s.Switch = true }, false},
	} {
		s := defaults()
		c.change(s)
		require.Equal(t, c.same, Program(base) == Program(s), "%d", i)
	}
	with := func(engine, note string, own Values) string { return Program(&machine{engine, note, own}) }
	require.Equal(t, with("diesel", "", nil), with("diesel", "", Values{"engine.boost": 9}), "an input of the program")
	require.Equal(t, with("diesel", "", nil), with("diesel", "", Values{"engine.oil": "black"}))
	require.NotEqual(t, with("diesel", "", nil), with("diesel", "", Values{"engine.liters": 9}))
	require.NotEqual(t, with("diesel", "", nil), with("none", "", nil))
	// 1: a text cannot pass for another setting.
	require.NotEqual(t, with("x;note=y", "", nil), with("x", "y;note=", nil))
}

func TestUnknown(t *testing.T) {
	err := Unknown("env", "CartPol", []string{"Acrobot", "CartPole"})
	require.EqualError(t, err, `env: got "CartPol", want one of Acrobot, CartPole; did you mean CartPole?`)
	require.EqualError(t, Unknown("env", "x", nil), `env: got "x", want one of `)
	require.Equal(t, "env", errors.Join(err).(interface{ Unwrap() []error }).Unwrap()[0].(*Error).Key)
}

// A list that a file names as empty is the one that is not given: JSON has null for both.
func TestEmptyList(t *testing.T) {
	for name, value := range map[string]any{"of a file": []any{}, "of a command line": "",
		"of spaces": " "} {
		c := struct {
			Parts []float64 `set:"parts" help:"numbers"`
		}{[]float64{1}}
		f, _ := Lookup(&c, "parts")
		require.NoError(t, f.Set(value), name)
		require.Nil(t, c.Parts, name)
		require.Nil(t, f.Value(), name)
	}
}
