package episode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/envs/classic"
	"xlarun/graph/random"
	"xlarun/internal/long"
	"xlarun/internal/quantity"
	"xlarun/rollout/plan"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
	"xlarun/xlabridge/xlatest"
)

func TestEvalResult(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		number                   int
		what                     string
		returns, lengths         []float64
		mean, std, error, length float64
		failed, full             int // full: of 5 steps
	}{
		{1, "numbers", []float64{1, 2, 6}, []float64{4, 5, 9}, 3, math.Sqrt(7), math.Sqrt(7. / 3), 6, 0, 1},
		{2, "one: its spread is not known", []float64{-5}, []float64{7}, -5, nan, nan, 7, 0, 0},
		{3, "what is no number is left out", []float64{1, nan, 3}, []float64{4, 5, 8}, 2, math.Sqrt2, 1, 6, 1, 0},
		{4, "and what is infinite", []float64{inf, 1, 3, -inf}, []float64{1, 4, 8, 1}, 2, math.Sqrt2, 1, 6, 2, 0},
		{5, "nothing but failures", []float64{inf, nan}, []float64{4, 5}, -inf, nan, nan, 0, 2, 0},
		{6, "one beside a failure", []float64{nan, 2}, []float64{4, 5}, 2, nan, nan, 5, 1, 1},
	} {
		r := resultOf(c.returns, c.lengths, 5)
		for i, pair := range [][2]float64{{c.std, r.Std}, {c.error, r.Error}, {c.length, r.Length}} {
			require.Equal(t, math.IsNaN(pair[0]), math.IsNaN(pair[1]), "case %d: %s: %d", c.number, c.what, i)
			if !math.IsNaN(pair[0]) {
				require.InDelta(t, pair[0], pair[1], 1e-12, "case %d: %s: %d", c.number, c.what, i)
			}
		}
		require.Equal(t, c.mean, r.Mean, "case %d: %s", c.number, c.what)
		require.Equal(t, c.failed, r.Failed, "case %d: %s", c.number, c.what)
		require.Equal(t, c.full, r.Full, "case %d: %s", c.number, c.what)
		none := 0
		for _, x := range r.Return {
			require.False(t, math.IsInf(x, 0), "case %d: %s", c.number, c.what)
			if math.IsNaN(x) {
				none++
			}
		}
		require.Equal(t, c.failed, none, "case %d: %s", c.number, c.what)
	}
}

// An evaluation of many steps takes several calls of the program, tells how far it is, and is the same.
func TestEvaluationInBatches(t *testing.T) {
	env := envs.Erase(classic.CartPole{})
	p, head, err := policy.Make("linear", nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(t, err)
	r := &Rollout{Env: env, Policy: p, Head: head, Steps: 4, Episodes: 1}
	members := []any{p.Init(random.New(1)), p.Init(random.New(2)), p.Init(random.New(3))}
	play := func() (all [][]EvalResult, done []int) {
		e, err := NewActingEvaluator(&xlabridge.Reference{}, r, members[0], 2, 37, math.MaxInt, "a test")
		require.NoError(t, err)
		defer func() { require.NoError(t, e.Close()) }()
		require.True(t, e.Fits(members[1]))
		require.False(t, e.Fits(p))
		e.OnProgress = func(n, total int) {
			require.Equal(t, 37, total)
			done = append(done, n)
		}
		all, err = e.PlayAll(members, random.New(5))
		require.NoError(t, err)
		return all, done
	}
	want, once := play()
	require.Equal(t, []int{0, 0, 37}, once, "three members, two at a time")
	defer func(steps int) { mostBatchSteps = steps }(mostBatchSteps)
	mostBatchSteps = 1
	got, often := play()
	require.Equal(t, []int{0, 0, 16, 16, 32, 32, 37}, often)
	require.Equal(t, want, got)
	require.Len(t, got, 3)
	require.Len(t, got[0][0].Return, 37)
}

// The batches of an evaluation are dealt to the devices, the last one to one of them. Once one device played all, while
// the others were idle.
func TestEvaluationOnDevices(t *testing.T) {
	env := envs.Erase(classic.CartPole{})
	p, head, err := policy.Make("linear", nil, env.Spec().Observation, env.Spec().Action)
	require.NoError(t, err)
	members := []any{p.Init(random.New(1)), p.Init(random.New(2)), p.Init(random.New(3))}
	play := func(devices, episodes int) (*ActingEvaluator, [][]EvalResult) {
		r := &Rollout{Env: env, Policy: p, Head: head, Steps: 30, Episodes: 1, Plan: plan.Plan{Devices: devices}}
		e, err := NewActingEvaluator(xlatest.Open(t, devices), r, members[0], 2, episodes, math.MaxInt, "a test")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, e.Close()) })
		all, err := e.PlayAll(members, random.New(5))
		require.NoError(t, err)
		return e, all
	}
	_, want := play(1, 37)
	require.NotEqual(t, want[0], want[1])
	e, got := play(2, 37)
	require.Equal(t, []int{1, 19, 2}, []int{e.members, e.batch, e.Program().Program.Replicas})
	require.Equal(t, want, got)
	if long.On() {
		_, got := play(4, 37)
		require.Equal(t, want, got)
	}
	for episodes, batch := range map[int]int{1: 1, 31: 31, 32: 16, 100: 50, 128: 64, 129: 33, 9_999: 64} {
		require.Equal(t, batch, batchOf(1, episodes, 100, true), "%d episodes", episodes)
	}
}

// Results are ranked by their failures first: a member that failed in 56 of 100 episodes was once the best.
func TestCompareResults(t *testing.T) {
	nan := math.NaN()
	of := func(returns ...float64) EvalResult { return resultOf(returns, make([]float64, len(returns)), 5) }
	for i, pair := range [][2]EvalResult{ // the better one first
		{of(-9, -8, -7), of(nan, 100, 100)}, {of(nan, 1, 1), of(nan, nan, 50)}, {of(2, 3), of(2, 2)},
		{of(-9), of(nan)}, {of(nan, 2), of(nan, 1)},
	} {
		require.Equal(t, -1, pair[0].Compare(pair[1]), i)
		require.Equal(t, 1, pair[1].Compare(pair[0]), i)
		require.Zero(t, pair[0].Compare(pair[0]), i)
	}
	require.Equal(t, "2.00 ± 0.58 (1 of 4 episodes failed)", of(1, nan, 2, 3).String())
	require.Equal(t, "-Inf (1 of 1 episode failed)", of(nan).String())
	require.Equal(t, "2", of(2).String())
}

// A target that one evaluation passed by luck ended runs: the mean less its standard error has to reach it.
func TestPasses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for i, c := range []struct {
		score  EvalScore
		target float64
		want   bool
	}{
		{EvalScore{Mean: 45.4, Error: .5}, 45, false}, {EvalScore{Mean: 45.5, Error: .5}, 45, true},
		{EvalScore{Mean: -99, Error: 2}, -100, false}, {EvalScore{Mean: -98, Error: 2}, -100, true},
		{EvalScore{Mean: 500}, 500, true}, {EvalScore{Mean: 499}, 500, false}, // all returns are equal
		{EvalScore{Mean: 500, Error: nan}, 475, true}, {EvalScore{Mean: 470, Error: nan}, 475, false}, // one episode
		{EvalScore{Mean: 500, Failed: 1}, 475, false}, {EvalScore{Mean: inf}, 475, false},
		{EvalScore{Mean: inf, Error: inf}, 475, false}, {EvalScore{Mean: 500}, nan, false},
		{EvalScore{Mean: nan}, 1, false},
	} {
		require.Equal(t, c.want, c.score.Passes(c.target), "case %d", i+1)
	}
}

// A member whose episodes all failed has no mean in its file. It is below all others, and no member without a result.
func TestSavedScore(t *testing.T) {
	s, err := SavedScore(map[string]string{"mean_return": "2", "standard_error": "0.5", "failed_episodes": "1",
		"episodes": "9"})
	require.NoError(t, err)
	require.Equal(t, EvalScore{2, .5, 1, 9}, s)
	all, err := SavedScore(map[string]string{"failed_episodes": "9", "episodes": "9"})
	require.NoError(t, err)
	require.Equal(t, 1, all.Compare(s))
	require.Equal(t, "-Inf (9 of 9 episodes failed)", all.String())
	_, err = SavedScore(map[string]string{"failed_episodes": "0", "kind": "evolve"})
	require.EqualError(t, err, `the member was not evaluated: its "episodes" is "", want a number`)
}

// The median of an even number is the lower one of the two in the middle; episodes that failed are none of them.
func TestEpisodesByReturn(t *testing.T) {
	nan := math.NaN()
	for i, c := range []struct {
		returns             []float64
		worst, median, best int
	}{
		{[]float64{5, 1, 9}, 1, 0, 2}, {[]float64{4, nan, 1, 3, 2}, 2, 4, 0}, {[]float64{7, 7, 7}, 0, 0, 0},
		{[]float64{nan, 3}, 1, 1, 1}, {[]float64{nan, nan}, 0, 0, 0},
	} {
		r := resultOf(c.returns, make([]float64, len(c.returns)), 5)
		require.Equal(t, []int{c.worst, c.median, c.best}, []int{r.Episode(WorstEpisode), r.Episode(MedianEpisode),
			r.Episode(BestEpisode)}, i)
	}
	require.Equal(t, "median of 2", resultOf([]float64{1, 2}, []float64{1, 1}, 5).Caption(MedianEpisode))
	require.Equal(t, "best of 3, 1 failed", resultOf([]float64{1, nan, 2}, []float64{1, 1, 1}, 5).Caption(BestEpisode))
}

// A mean has the decimals of its error. It was once rounded to 3.7 beside an error of 0.0649.
func TestMeanHasTheDigitsOfItsError(t *testing.T) {
	for _, c := range []struct {
		mean, err   float64
		want, error string
	}{
		{3.7123, .0649, "3.712", "0.065"}, {118.34, 9.81, "118.3", "9.8"}, {-1215.6, 43.2, "-1216", "43"},
		{12345.6, 1234.5, "12346", "1234"}, {500, 0, "500", "0"}, {9.35, math.NaN(), "9.35", "NaN"},
		{.25, 1e-9, "0.25", "1e-09"}, {3e10, 2, "3e+10", "2"}, {math.Inf(-1), math.NaN(), "-Inf", "NaN"},
		{math.Copysign(0, -1), 0, "0", "0"}, {-.001, .2, "0.00", "0.20"}, {9.99, .0996, "9.99", "0.10"},
	} {
		value, spread := quantity.Mean(c.mean, c.err)
		require.Equal(t, c.want, value, "%v ± %v", c.mean, c.err)
		require.Equal(t, c.error, spread, "%v ± %v", c.mean, c.err)
	}
}
