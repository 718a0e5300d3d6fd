package run

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/settings"
)

// The numbers of an evaluation, given those of its members: episodes with finite returns, their mean and the squares.
func TestEvaluation(t *testing.T) {
	for _, x := range []struct {
		episodes int
		v        []float64
		want     string
	}{
		{1, []float64{1, 3, 0, 1, 5, 0, 1, 7, 0}, "[{eval_return 5} {eval_std_error 1.1547005383792515} " +
			"{eval_num_episodes 3} {eval_failed 0}]"},
		{1, []float64{1, 3, 0, 0, 0, 0},
			"[{eval_return 3} {eval_std_error NaN} {eval_num_episodes 2} {eval_failed 1}]"},
		{1, []float64{0, 0, 0}, "[{eval_return -Inf} {eval_std_error NaN} {eval_num_episodes 1} {eval_failed 1}]"},
		// Returns 1, 3 and 5, 7, of which a third one failed.
		{3, []float64{2, 2, 2, 2, 6, 2}, "[{eval_return 4} {eval_std_error 1.2909944487358056} {eval_num_episodes 6} " +
			"{eval_failed 2}]"},
	} {
		require.Equal(t, x.want, fmt.Sprint(EvalValues(NewEvaluation(x.v, x.episodes))))
	}
}

// A run's last line has its newest evaluation with its error beside the target, and says why a mean above the target
// has not passed it. Rows without an evaluation change nothing, and reach no target.
func TestEvaluatedText(t *testing.T) {
	row := func(step int64, done bool, v ...float64) Metrics {
		m := Metrics{Step: step, Done: done}
		if len(v) > 0 {
			m.Values = EvalValues(EvaluationOf(v))
		}
		return m
	}
	none := math.NaN()
	for i, c := range []struct {
		rows   []Metrics
		target float64
		want   string
		passes bool
	}{
		{[]Metrics{row(8, true, 45, 46, 47, 46)}, 45, "eval return 46.00 ± 0.41 of the 45 wanted", true},
		{[]Metrics{row(8, false, 45, 46, 47, 46), row(9, false)}, 45.75,
			"eval return 46.00 ± 0.41 in round 8, less than its error above the target, 45.75", false},
		{[]Metrics{row(8, false, 45, 46, 47, 46)}, 50, "eval return 46.00 ± 0.41, the target is 50", false},
		{[]Metrics{row(8, false, 45, 46, none, 47)}, 40,
			"eval return 46.00 ± 0.58 (1 of 4 episodes failed), the target is 40", false},
		{[]Metrics{row(1, false, 9), row(2, true, 7)}, 7, "eval return 7 of the 7 wanted", true},
		{[]Metrics{row(8, false, 1, 2), row(11, false)}, none, "eval return 1.50 ± 0.50 in round 8", false},
	} {
		var e Evaluated
		for _, m := range c.rows {
			e.Note(m)
		}
		last := c.rows[len(c.rows)-1]
		require.Equal(t, c.want, e.Text("round", last, c.target), "case %d", i+1)
		require.Equal(t, c.passes, EvalReached(last.Number, c.target), "case %d", i+1)
	}
}

// Few steps have some evaluations, and those of more steps are the same. The program has them in the same steps.
func TestEvalDue(t *testing.T) {
	for _, x := range []struct {
		every int
		want  []int64
	}{{10, []int64{1, 2, 4, 8, 10, 20, 30}}, {1, []int64{1, 2, 3, 4, 5, 6, 7, 8}}, {3, []int64{1, 2, 3, 6, 9, 12}},
		{16, []int64{1, 2, 4, 8, 16, 32, 48}}, {1e6, []int64{1, 2, 4, 8, 16, 32, 64}}} {
		due, none := EvalSettings{EvalEnvs: 1, EvalEvery: x.every}, EvalSettings{EvalEvery: x.every}
		last := x.want[len(x.want)-1]
		inProgram, err := graph.Eval(graph.VMap(func(step *graph.Array) *graph.Array {
			return EvalDueIn(step, graph.Scalar(x.every, graph.Int32)).Convert(graph.Int32)
		})(graph.Iota(int(last) + 1)))
		require.NoError(t, err)
		same, err := graph.Floats(inProgram)
		require.NoError(t, err)
		var got []int64
		for step := int64(1); step <= last; step++ {
			if due.EvalDue(step) {
				got = append(got, step)
			}
			require.Equal(t, due.EvalDue(step), same[step] == 1, "every %d, step %d", x.every, step)
			require.False(t, none.EvalDue(step))
		}
		require.Equal(t, x.want, got)
	}
}

// Evaluations are as often as they cost little.
func TestSuggestEval(t *testing.T) {
	for _, x := range []struct{ envs, episodes, want int }{{64, 256, 0}, {64, 2560, 4}, {64, 1 << 20, 1},
		{0, 1 << 20, 0}} {
		values := settings.Values{}
		(&EvalSettings{EvalEnvs: x.envs, EvalEvery: 10}).SuggestEval(values, x.episodes)
		if x.want == 0 {
			require.Empty(t, values)
			continue
		}
		require.Equal(t, settings.Values{"eval-every": x.want}, values)
	}
}
