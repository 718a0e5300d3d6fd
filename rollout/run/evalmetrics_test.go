package run

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

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
			"{eval_episodes 3} {eval_failed 0}]"},
		{1, []float64{1, 3, 0, 0, 0, 0}, "[{eval_return 3} {eval_std_error NaN} {eval_episodes 2} {eval_failed 1}]"},
		{1, []float64{0, 0, 0}, "[{eval_return -Inf} {eval_std_error NaN} {eval_episodes 1} {eval_failed 1}]"},
		// Returns 1, 3 and 5, 7, of which a third one failed.
		{3, []float64{2, 2, 2, 2, 6, 2}, "[{eval_return 4} {eval_std_error 1.2909944487358056} {eval_episodes 6} " +
			"{eval_failed 2}]"},
	} {
		require.Equal(t, x.want, fmt.Sprint(NewEvaluation(x.v, x.episodes).Values()))
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
