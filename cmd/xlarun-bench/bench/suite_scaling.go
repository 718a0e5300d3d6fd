package bench

import (
	"context"
	"fmt"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/rollout/evolve"
	"xlarun/rollout/ppo"
	"xlarun/rollout/selfplay"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

func scalingWorkloads(Options) (all []Workload) {
	for _, s := range neurobench.Scaling() {
		all = append(all, Workload{Name: s.Axis + "-" + s.At, Work: s.Work(), Unit: "steps", What: s.What(),
			Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
				return neurobench.OpenPlay(ctx, b, s.Experiment(o.Tune, o.Devices))
			}})
	}
	for _, n := range []int{1 << 10, 1 << 16, 1 << 20} {
		all = append(all, populationWorkload(n))
	}
	for _, n := range []int{64, 256, 1024, 4096} {
		all = append(all, gamesWorkload(n))
	}
	for _, n := range []int{1, 64, 1024} {
		all = append(all, agentsWorkload(n))
	}
	return all
}

// populationWorkload is a generation of OpenES. Its members are never in memory all at once if they do not fit.
func populationWorkload(population int) Workload {
	const steps = 200
	c := evolve.DefaultConfig()
	c.Env, c.Strategy, c.Policy, c.Population, c.Steps = "CartPole-v1", "openes", "mlp:16,16", population, steps
	c.Memory = settings.Bytes(2 << 30)
	return Workload{Name: fmt.Sprintf("generation-%d", population), Work: float64(population) * steps, Unit: "steps",
		What: fmt.Sprintf("a generation of OpenES on CartPole-v1, %d x mlp:16,16, %d steps", population, steps),
		Open: rulePlan(c)}
}

// gamesWorkload plays a number of clique games, all at once.
func gamesWorkload(games int) Workload {
	w := selfplayWorkload(fmt.Sprintf("games-%d", games), fmt.Sprintf("a million simulations: n = 6, k = 3, %d games "+
		"side by side, 50 simulations a move, Gumbel", games), 6, 3, "gumbel", games, selfplay.PhaseGames,
		func(c *selfplay.Config) { c.GameBatchSize = games }, "")
	w.Peers = nil
	return w
}

// agentsWorkload is an update of several agents.
func agentsWorkload(n int) Workload {
	w := ppoWorkload(fmt.Sprintf("agents-%d", n), fmt.Sprintf("%d agents at once, CartPole-v1, 4 environments x 128 "+
		"steps", n), func(c *ppo.Config) { c.Agents = n }, "", "")
	w.Peers = nil
	return w
}
