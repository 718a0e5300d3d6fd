package envs_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/graph"
)

// placed gives the observation a layout.
func placed(l envs.Layout) func(*envs.Spec) {
	return func(s *envs.Spec) {
		box := envs.Symmetric(1)
		box.Layout = &l
		s.Observation = box
	}
}

// What a Spec lacks is said in one sentence.
func TestSpecCheck(t *testing.T) {
	for _, c := range []struct {
		change func(s *envs.Spec)
		want   string
	}{
		{func(*envs.Spec) {}, ""},
		{func(s *envs.Spec) { s.Descriptor = envs.Symmetric(1, 2) }, ""},
		{func(s *envs.Spec) { s.ID = "" }, `the Spec of "": ID: got "", want a name, as "CartPole-v1"`},
		{func(s *envs.Spec) { s.Observation = nil }, `the Spec of "Bare-v0": Observation: got none, want a space`},
		{func(s *envs.Spec) { s.Action = nil }, "Action: got none, want a space"},
		{func(s *envs.Spec) { s.MaxSteps = 0 }, "MaxSteps: got 0, want the step limit of an episode"},
		{func(s *envs.Spec) { s.Players = -1 }, "Players: got -1"},
		{func(s *envs.Spec) { s.Action = envs.Discrete{} }, "Action: got Discrete(0), want 1 choice or more"},
		{func(s *envs.Spec) { s.Action = envs.MultiDiscrete{} }, "Action: got MultiDiscrete([])"},
		{func(s *envs.Spec) { s.Action = envs.MultiDiscrete{N: []int{2, 0}} }, "Action: got MultiDiscrete([2 0])"},
		{func(s *envs.Spec) {
			s.Observation = envs.Box{Dims: []int{2}, DType: graph.Float32}
		}, "Observation: got 0 lower and 0 upper bounds for f32[2], want one for each element"},
		{func(s *envs.Spec) {
			s.Observation = envs.Box{Low: []float64{0}, High: []float64{1, 1}, Dims: []int{2}, DType: graph.Float32}
		}, "got 1 lower and 2 upper bounds"},
		{func(s *envs.Spec) {
			s.Observation = envs.Box{Low: []float64{0}, High: []float64{1}}
		}, "Observation: got a Box without a DType"},
		{func(s *envs.Spec) {
			s.Observation = envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{-1}, DType: graph.Float32}
		}, "got a Box of the dims [-1]"},
		{func(s *envs.Spec) { s.Action = envs.Symmetric(1, -1) }, "Action: got the bounds 1 and -1 of element 1"},
		{func(s *envs.Spec) {
			s.Action = envs.Symmetric(math.NaN())
		}, "Action: got the bounds NaN and NaN of element 0"},
		{func(s *envs.Spec) {
			s.Action, s.LegalMask = envs.Symmetric(1), true
		}, "LegalMask: got true beside the actions Box(-1, 1, [1], f32)"},
		{placed(envs.Layout{Elements: make([]envs.Place, 1), Outputs: make([]envs.Place, 2)}), ""},
		{placed(envs.Layout{}), "Observation: got a Layout of 0 elements, want the places of all 1 elements"},
		{placed(envs.Layout{Elements: []envs.Place{{X: math.NaN()}}}),
			"got the place (NaN, 0) in Elements[0] of the Layout, want coordinates from -1 to 1"},
		{placed(envs.Layout{Elements: []envs.Place{{Sheet: 1}}}),
			"got sheet 1 in Elements[0] of the Layout, want 0 to 0"},
		{placed(envs.Layout{Elements: make([]envs.Place, 1), Outputs: []envs.Place{{Y: 2}, {}}}),
			"got the place (0, 2) in Outputs[0] of the Layout"},
		{placed(envs.Layout{Elements: make([]envs.Place, 1)}),
			"Observation: got a Layout of 0 outputs, want 2: one for each choice, or each element, of the actions " +
				"Discrete(2)"},
		{func(s *envs.Spec) {
			s.Action = envs.MultiDiscrete{N: []int{2, 3}}
			placed(envs.Layout{Elements: make([]envs.Place, 1), Outputs: make([]envs.Place, 5)})(s)
		}, ""},
		{func(s *envs.Spec) {
			s.Action = envs.MultiDiscrete{N: []int{2, 3}}
			placed(envs.Layout{Elements: make([]envs.Place, 1), Outputs: make([]envs.Place, 1)})(s)
		}, "got a Layout of 1 outputs, want 5: one for each choice, or each element, of the actions " +
			"MultiDiscrete([2 3])"},
		{func(s *envs.Spec) {
			s.Action = envs.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{2, 3}, DType: graph.Float32}
			placed(envs.Layout{Elements: make([]envs.Place, 1), Outputs: make([]envs.Place, 2)})(s)
		}, "got a Layout of 2 outputs, want 6: one for each choice"},
		{func(s *envs.Spec) { s.Descriptor.Dims = []int{1} }, "Descriptor: got Box(none, none, [1], "},
	} {
		s := envs.Spec{ID: "Bare-v0", Observation: envs.Symmetric(1), Action: envs.Discrete{N: 2}, MaxSteps: 1}
		c.change(&s)
		err := s.Check()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "\n")
	}
}
