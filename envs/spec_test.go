package envs

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

func TestSpecCheck(t *testing.T) {
	box := func(low, high []float64, dims ...int) Box {
		return Box{Low: low, High: high, Dims: dims, DType: graph.Float32}
	}
	well := Spec{ID: "A-v0", Observation: box([]float64{0}, []float64{1}, 2), Action: Discrete{2}, MaxSteps: 1}
	require.NoError(t, well.Check())
	for name, c := range map[string]struct {
		change func(s *Spec)
		want   string
	}{
		"id":          {func(s *Spec) { s.ID = "" }, `envs: the Spec got no ID, wants "Name-vN"`},
		"steps":       {func(s *Spec) { s.MaxSteps = -1 }, "envs: A-v0: the Spec got MaxSteps -1"},
		"players":     {func(s *Spec) { s.Players = -1 }, "-1 Players"},
		"observation": {func(s *Spec) { s.Observation = nil }, "got none as Observation, wants a Discrete, a MultiDiscrete or a Box"},
		"action":      {func(s *Spec) { s.Action = nil }, "got none as Action"},
		"no bounds":   {func(s *Spec) { s.Action = Box{Dims: []int{2}, DType: graph.Float32} }, "got Box(no bound, no bound, [2], f32) as Action, wants as many lower as upper bounds, 2 or a single one"},
		"few bounds":  {func(s *Spec) { s.Observation = box([]float64{0, 0}, []float64{1}, 2) }, "as many lower as upper bounds"},
		"crossed":     {func(s *Spec) { s.Observation = box([]float64{2}, []float64{1}) }, "lower bounds that are at most the upper ones"},
		"NaN":         {func(s *Spec) { s.Observation = box([]float64{math.NaN()}, []float64{1}) }, "lower bounds that are at most the upper ones"},
		"empty":       {func(s *Spec) { s.Observation = box([]float64{0}, []float64{1}, 0) }, "dimensions of 1 or more"},
		"no type":     {func(s *Spec) { s.Observation = Box{Low: []float64{0}, High: []float64{1}} }, "wants a DType"},
		"no choice":   {func(s *Spec) { s.Action = MultiDiscrete{} }, "one choice or more"},
		"no action":   {func(s *Spec) { s.Action = MultiDiscrete{[]int{2, 0}} }, "1 or more of each choice"},
		"discrete":    {func(s *Spec) { s.Action = Discrete{} }, "got Discrete(0) as Action, wants 1 or more of them"},
	} {
		s := well
		c.change(&s)
		require.ErrorContains(t, s.Check(), c.want, name)
	}
}
