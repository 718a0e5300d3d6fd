package settings_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	. "xlarun/rollout/settings"
)

type layers struct {
	Hidden []int   `set:"hidden" args:"" min:"1" max:"64" wants:"sizes between commas" help:"sizes"`
	Gain   float64 `set:"gain" min:"0" help:"factor"`
}

type bare struct {
	Gain float64 `set:"gain" min:"0" help:"factor"`
}

func TestRegistry(t *testing.T) {
	r := NewRegistry[any]("nets", "net", "network")
	require.NoError(t, r.Register("layers", func() any { return &layers{Hidden: []int{8}, Gain: 1} }))
	r.MustRegister("bare", func() any { return &bare{Gain: 2} })
	for _, c := range []struct{ name, want string }{
		{"bare", "nets.Register: bare is registered already: choose another name"},
		{"", `nets.Register: got name "", want one without colons and blanks, and a function that makes the network`},
		{
			"a:b",
			`nets.Register: got name "a:b", want one without colons and blanks, and a function that makes the network`},
		{
			"a b",
			`nets.Register: got name "a b", want one without colons and blanks, and a function that makes the network`},
	} {
		require.EqualError(t, r.Register(c.name, func() any { return &bare{} }), c.want)
	}
	require.ErrorContains(t, r.Register("none", nil), "a function that makes the network")
	require.PanicsWithError(t, "nets.Register: bare is registered already: choose another name", func() {
		r.MustRegister("bare", func() any { return &bare{} })
	})

	require.Equal(t, []string{"bare", "layers"}, r.Names())
	part := r.Part()
	require.Equal(t, "net", part.Name)
	require.Equal(t, map[string]any{"bare": &bare{2}, "layers": &layers{[]int{8}, 1}}, part.Choices)
	_, ok := r.New("nothing")
	require.False(t, ok)

	for _, c := range []struct {
		spec string
		own  Values
		want any
		bad  string
	}{
		{"layers", nil, &layers{[]int{8}, 1}, ""},
		{"layers:4,5", Values{"gain": 3.}, &layers{[]int{4, 5}, 3}, ""},
		{"layers", Values{"hidden": "7"}, &layers{[]int{7}, 1}, ""},
		{"bare", Values{"gain": 0.}, &bare{0}, ""},
		{"layer", nil, nil, `net: got "layer", want one of bare, layers; did you mean layers?`},
		{"", nil, nil, `net: got "", want one of bare, layers`},
		{"bare:4", nil, nil, `net: got "bare:4", want "bare": this network takes nothing after a colon`},
		{"layers:", nil, nil, `net: got "layers:", want sizes between commas, as in "layers:8"`},
		{"layers:65", nil, nil, `net: got "layers:65", want sizes between commas, as in "layers:8"`},
		{"layers:4", Values{"hidden": "5"}, nil,
			`net.hidden: got "5", want it either here or after the colon of "layers:4", not both`},
		{"bare", Values{"gain": -1.}, nil, `net.gain: got -1`},
		{"bare", Values{"hidden": "5"}, nil,
			`net.hidden: got a value, want one of the settings that the network bare has: net.gain`},
	} {
		got, err := r.Choose(c.spec, c.own)
		if c.bad != "" {
			require.ErrorContains(t, err, c.bad, c.spec)
			require.Nil(t, got)
			continue
		}
		require.NoError(t, err, c.spec)
		require.Equal(t, c.want, got, c.spec)
	}
}

// Names are joined as in a sentence, also none and one.
func TestAnyOf(t *testing.T) {
	for want, names := range map[string][]string{"": nil, "a": {"a"}, "a or b": {"a", "b"},
		"a, b or c": {"a", "b", "c"}} {
		require.Equal(t, want, AnyOf(names))
	}
}
