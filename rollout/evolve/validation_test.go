package evolve

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// A run that has reached its target goes on until its mean passes the validation. Its mean return
// equals the mean over episodes that are played one by one.
func TestValidation(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Population, c.Steps, c.Target, c.Tune = "linear", 8, 12, "5", "off"
	c.EvalEnvs, c.EvalEvery = 4, 1
	c.ValidationEpisodes, c.ValidationSteps, c.ValidationParam = 3, 30, settings.Pairs{"gravity": "20"}
	validation := func(c Config) (m run.Metrics, mean, spread float64) {
		e := start(t, &xlabridge.Reference{}, c)
		m = steps(t, e, 1)[0]
		s, err := e.Snapshot(t.Context())
		require.NoError(t, err)
		all, err := e.Candidates(s)
		require.NoError(t, err)
		other := c.validated()
		r, err := other.Rollout()
		require.NoError(t, err)
		require.Equal(t, 30, r.Steps)
		key := random.FoldIn(random.FoldIn(random.New(c.Seed), validationKey), 1) // other episodes in each generation
		squares := 0.
		for i := range c.ValidationEpisodes {
			got, err := graph.Eval(r.Episode(all[0].Params, random.FoldIn(key, i)))
			require.NoError(t, err)
			x, err := graph.Float(got.Return)
			require.NoError(t, err)
			mean, squares = mean+x/float64(c.ValidationEpisodes), squares+x*x/float64(c.ValidationEpisodes)
		}
		return m, mean, math.Sqrt((squares - mean*mean) / float64(c.ValidationEpisodes-1))
	}
	c.ValidationTarget = 29.9
	m, mean, spread := validation(c)
	require.False(t, m.Done)
	require.InDelta(t, mean, of(t, m, validationReturn), 1e-4)
	require.InDelta(t, spread, of(t, m, validationError), 1e-4)
	require.Subset(t, c.Measures(), []string{validationReturn, validationError})

	e := start(t, &xlabridge.Reference{}, c)
	require.NotNil(t, judgeOf(e), "it is compiled at the start")
	require.Regexp(t, `; \S+ ± \S+ in the validation, which wants 29.9$`, e.Ending(m))
	m.Values = append(m.Values[:len(m.Values)-2], run.Value{Name: validationReturn, Number: math.Inf(-1)})
	require.Contains(t, e.Ending(m), "; the validation failed: returns of its episodes are not finite")

	require.Positive(t, spread)
	for above, passes := range map[float64]bool{-.01: true, .01: false} { // the mean less its error decides
		c.ValidationTarget = mean - spread + above
		m, _, _ = validation(c)
		require.Equal(t, passes, m.Done)
	}

	c.Target = "12" // which no evaluation reaches, so that there is no validation
	m, _, _ = validation(c)
	require.False(t, m.Done)
	_, held := m.Get(validationReturn)
	require.False(t, held)

	c.Target = "0" // each evaluation has a validation, which ends nothing
	c.ValidationTarget = mean - spread - .01
	m, mean, _ = validation(c)
	require.False(t, m.Done)
	require.InDelta(t, mean, of(t, m, validationReturn), 1e-4)
	c.EvalEvery = 4
	for i, m := range steps(t, start(t, &xlabridge.Reference{}, c), 4) {
		_, held := m.Get(validationReturn)
		require.Equal(t, i != 2, held, "generation %d", i+1)
	}

	for name, change := range map[string]func(c *Config){
		"validation-param":        func(c *Config) { c.ValidationParam = settings.Pairs{"gravit": "1"} },
		"validation-steps":        func(c *Config) { c.ValidationTarget = 0 },
		"no target":               func(c *Config) { c.Target, c.EvalEnvs, c.EvalEvery = "0", 0, 10 },
		"CartPole gives 1 a step": func(c *Config) { c.ValidationTarget = 31 },
		"no float32": func(c *Config) {
			c.ValidationTarget, c.Env, c.Target = 1e300, "Acrobot-v1", "auto"
		},
	} {
		other := c.clone()
		if name == "no float32" {
			other.ValidationParam = nil
		}
		change(&other)
		_, err := other.Start(t.Context(), &xlabridge.Reference{})
		var wrong *settings.Error
		require.ErrorAs(t, err, &wrong, "%s", name)
		require.Contains(t, wrong.Key, "validation", "%s", name)
	}
	for env, most := range map[string]float64{"Pendulum-v1": 0, "MountainCar-v0": -1, "Reacher-misc-v1": 30} {
		other := c.clone()
		other.Env, other.Target, other.ValidationTarget, other.ValidationParam = env, "-2", most+.5, nil
		require.ErrorContains(t, other.checkValidation(), fmt.Sprintf("at most %g, the largest return", most))
		other.ValidationTarget = most - .5
		require.NoError(t, other.checkValidation(), "%s", env)
	}
	other := c.clone()
	other.ValidationSteps, other.ValidationParam = 1000, nil
	require.Contains(t, other.Remark(), "the later ones of --validation-steps 1000 are")
	_, err := c.VectorizedCost()
	require.ErrorContains(t, err, "vectorized searches hold no validations")
}

// The first validation that is not passed is a notice, and the display has its return. While a validation runs, the
// round tells how many of its episodes are done. A search that starts again holds the same compiled validation.
func TestValidationIsShown(t *testing.T) {
	c := DefaultConfig()
	c.Policy, c.Population, c.Steps, c.Target, c.Tune = "linear", 8, 3, "2", "off"
	c.EvalEvery = 1
	c.Strategy, c.Restarts, c.MaxPopulation = "sepcmaes", RestartsIPOP, 16
	c.ValidationTarget, c.ValidationEpisodes, c.ValidationSteps = 200, 5, 200 // the pole never falls within 3 steps
	r, err := New(t.Context(), &xlabridge.Reference{}, c)
	require.NoError(t, err)
	x, again := featureOf[*validation](r), featureOf[*restarting](r)
	first := x.judge
	tell := first.OnProgress
	var told []int
	notices := 0
	for again.count == 0 {
		x.judge.OnProgress = func(done, total int) {
			tell(done, total)
			n, of, name := r.Counter().Done()
			require.Equal(t, []any{int64(done), int64(5), "episodes of the validation"}, []any{n, of, name})
			told = append(told, done)
		}
		m, err := r.Step(t.Context())
		require.NoError(t, err)
		if m.Done {
			t.Fatal("the validation was passed")
		}
		notices += len(m.Notices)
		if len(m.Notices) > 0 {
			require.Contains(t, m.Notices[0], "of the 200 wanted (--validation-target); the run goes on")
		}
		require.Less(t, m.Step, int64(100))
	}
	require.Equal(t, 1, notices)
	require.Equal(t, []int{0, 5, 0, 5}, told[:4])
	require.Same(t, first, x.judge)
	require.Greater(t, again.population, 8)
	_, err = r.Step(t.Context())
	require.NoError(t, err)
	results, err := r.Advance()
	require.NoError(t, err)
	xlabridge.Free(results)
	_, total, _ := r.Counter().Done()
	require.Zero(t, total, "the validation of an earlier generation is not shown in the next one")
	r.config.Env = "none"
	require.Error(t, r.replace(t.Context()))
	require.NoError(t, r.Close())
	_, err = validationScore(first, graph.Of(float32(0)), random.New(0))
	require.ErrorContains(t, err, "closed", "a search that cannot start leaves no validation open")
	rows := c.Board()
	require.Equal(t, "validation", rows[len(rows)-1].Label)
	require.Equal(t, ", target 200", rows[len(rows)-1].Parts[2].Before)
}
