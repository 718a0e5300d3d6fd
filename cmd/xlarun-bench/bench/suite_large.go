package bench

import (
	"context"
	"fmt"

	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// largeSize is a population of perceptrons with two hidden layers on CartPole.
type largeSize struct{ population, hidden, steps int }

func (s largeSize) String() string {
	return fmt.Sprintf("%d x mlp:%d,%d x %d", s.population, s.hidden, s.hidden, s.steps)
}

func (s largeSize) config(strategy string) evolve.Config {
	c := cartPole(s.population, s.hidden)
	c.Strategy, c.Steps, c.Target = strategy, s.steps, "0"
	return c
}

// lowRankSize is what the speed of low rank is measured with.
var lowRankSize = largeSize{1024, 256, 500}

func largeWorkloads(Options) []Workload {
	memory := func(name, what string, megabytes int, c evolve.Config) Workload {
		return Workload{Name: name, Open: rulePlan(c),
			What: fmt.Sprintf("%s; peak memory: at most %d MB above the workload open", what, megabytes)}
	}
	inference := func(name string, lanes int) Workload {
		return Workload{Name: name, Explicit: true,
			What: fmt.Sprintf("as many forward passes of one network as %s, %d lanes at once", lowRankSize, lanes),
			Open: func(_ context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
				return newInference(b, lowRankSize, o.Devices, lanes)
			}}
	}
	openes := memory("openes-1m", "OpenES, 256 members of 1 M parameters, noise drawn again by tile", 250,
		func() evolve.Config {
			c := largeSize{256, 1000, 10}.config("openes")
			c.Memory = settings.Bytes(160 << 20)
			return c
		}())
	low := memory("low-rank-100m", "eggroll with sgd, 16 members of 100 M parameters on one device", 1500,
		func() evolve.Config {
			c := largeSize{16, 9990, 5}.config("eggroll").With("strategy.optimizer", "sgd")
			c.Devices = 1 // the mean is on every device
			return c
		}())
	return []Workload{
		{Name: "low-rank", What: "a generation of eggroll, " + lowRankSize.String(), Open: rulePlan(lowRankSize.config(
			"eggroll")), Peers: []Peer{
			{Name: "openes", Workload: "low-rank-openes"},
			{Name: "inference-64", Workload: "inference-64", Limit: true},
			{Name: "inference-512", Workload: "inference-512", Limit: true}}},
		explicit(Workload{Name: "low-rank-openes", What: "a generation of OpenES, " + lowRankSize.String(),
			Open: rulePlan(lowRankSize.config("openes"))}),
		inference("inference-64", 64), inference("inference-512", 512),
		openes, low,
	}
}

// rulePlan runs generations by the plan of the rule: one that is tuned may differ from run to run.
func rulePlan(c evolve.Config) openRunner {
	return func(ctx context.Context, h *host, b xlabridge.Backend, o Options) (*Runner, error) {
		o.Tune = plan.TuneOff
		return generations(c)(ctx, h, b, o)
	}
}
