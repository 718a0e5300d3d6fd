package cli

import (
	"cmp"
	"reflect"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/rollout/sparse"
	"xlarun/xlabridge"
)

// sparseWarmable is an experiment of the sparse command, with its data.
type sparseWarmable struct{ e *sparseExperiment }

func (w sparseWarmable) on() console.BackendFlags { return w.e.BackendFlags }
func (w sparseWarmable) source() string           { return w.e.source }
func (w sparseWarmable) purpose() string          { return w.e.purpose() }

func (w sparseWarmable) same(other warmable) bool {
	x, ok := other.(sparseWarmable)
	return ok && w.e.data == x.e.data && reflect.DeepEqual(w.e.config.Programs(), x.e.config.Programs())
}

// tune chooses the method.
func (w sparseWarmable) tune(_ *app, b xlabridge.Backend) (evolve.Choice, error) {
	c, err := sparse.Tune(b, w.e.config, w.e.pictures)
	choice := evolve.Choice{Plan: c.Method, Source: c.Source, Reason: c.Reason, Seconds: c.Seconds}
	for _, m := range c.Tried {
		choice.Tried = append(choice.Tried, evolve.TriedPlan{Plan: m.Method, Seconds: m.Seconds})
	}
	return choice, sparseError(err)
}

// compile makes all programs of a run, by the method that tune stored.
func (w sparseWarmable) compile(_ *app, b xlabridge.Backend, t *warmupTask) (warmed, error) {
	c := w.e.config
	if c.Tune != evolve.TuneOff {
		c.Tune = evolve.TuneAuto
	}
	p, err := sparse.New(b, c, w.e.pictures)
	if err != nil {
		return nil, sparseError(err)
	}
	r := p.Profile()
	t.Cache, t.TraceSeconds, t.CompileSeconds, t.PredictedMemory = r.Cache, r.TraceSeconds, r.CompileSeconds, r.PeakMemoryBytes
	for _, x := range p.Programs() {
		t.Bytes += x.Bytes
		t.Reason = cmp.Or(t.Reason, x.Reason)
	}
	t.runs(r.Method, r.MethodSource, r.MethodReason)
	return p, nil
}
