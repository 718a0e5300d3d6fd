package cli

import (
	"errors"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/xlabridge"
)

// evolveWarmable is an experiment of the evolve command.
type evolveWarmable struct{ e *experiment }

func (w evolveWarmable) on() console.BackendFlags { return w.e.BackendFlags }
func (w evolveWarmable) source() string           { return w.e.source }
func (w evolveWarmable) purpose() string          { return w.e.config.Purpose() }

func (w evolveWarmable) same(other warmable) bool {
	x, ok := other.(evolveWarmable)
	return ok && shape(w.e.config) == shape(x.e.config)
}

// shape is the config less what a change of does not compile another program.
func shape(c evolve.Config) evolve.Config {
	c.Seed, c.Generations, c.LearningRate, c.Sigma, c.SigmaDecay, c.StdLearningRate = 0, 0, 0, 0, 0, 0
	return c
}

func (w evolveWarmable) tune(a *app, b xlabridge.Backend) (evolve.Choice, error) {
	c, err := a.tune(b, w.e.config)
	return c, experimentError(err)
}

// compile finds the plan that tune stored.
func (w evolveWarmable) compile(a *app, b xlabridge.Backend, t *warmupTask) (warmed, error) {
	c := w.e.config
	if c.Tune != evolve.TuneOff {
		c.Tune = evolve.TuneAuto
	}
	e, err := a.newEngine(b, c)
	if err != nil {
		return nil, experimentError(err)
	}
	p := e.Profile()
	t.Cache, t.Reason, t.TraceSeconds, t.CompileSeconds, t.PredictedMemory = p.Cache, p.CacheReason, p.TraceSeconds, p.CompileSeconds, p.PeakMemoryBytes
	t.Bytes = e.CompileInfo().Bytes
	t.runs(p.Plan, p.PlanSource, p.PlanReason)
	return e, nil
}

// experimentError words an error of evolve.New, where it is one of the config, with the flag's name.
func experimentError(err error) error {
	if _, ok := errors.AsType[*evolve.ConfigError](err); ok {
		return configError(err)
	}
	return err
}
