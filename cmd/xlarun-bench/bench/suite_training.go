package bench

import (
	"context"
	"fmt"
	"strings"

	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// million is the number of environment steps, or simulations, whose time is shown.
const million = 1e6

// gather is ppo on Gather-v1 with a convolutional network; padding "" is the policy's own.
func gather(padding string) func(c *ppo.Config) {
	return func(c *ppo.Config) {
		c.Env, c.Shared, c.Policy, c.Envs, c.Horizon = "Gather-v1", true, "cnn:16,32", 64, 128
		c.Parted = c.Parted.With("policy.hidden", 128)
		if padding != "" {
			c.Parted = c.Parted.With("policy.padding", padding)
		}
	}
}

func ppoWorkloads(Options) []Workload {
	return []Workload{
		ppoWorkload("ppo-cartpole", "CartPole-v1, 4 environments x 128 steps", func(*ppo.Config) {},
			"gymnax_ppo.py", "CartPole-v1 102400 4 128 1"),
		ppoWorkload("ppo-agents", "64 agents at once, CartPole-v1", func(c *ppo.Config) { c.Agents = 64 },
			"gymnax_ppo.py", "CartPole-v1 5120 4 128 64"),
		ppoWorkload("ppo-breakout", "MinAtar Breakout, 64 x 128", func(c *ppo.Config) {
			c.Env, c.Envs = "Breakout-MinAtar-v1", 64
		}, "gymnax_ppo.py", "Breakout-MinAtar 81920 64 128 1"),
		ppoWorkload("ppo-gather", "Gather-v1, CNN with SAME padding, 64 x 128; the peer's convolution as products",
			gather("same"), "gridworld_ppo_jax.py", "float32 SAME select matmul"),
		ppoWorkload("ppo-gather-valid", "Gather-v1, CNN with VALID padding, 64 x 128", gather(""),
			"gridworld_ppo_jax.py", "float16 VALID cond matmul"),
		explicit(ppoWorkload("ppo-gather-conv", "as ppo-gather, the peer's convolution as flax has it: takes minutes",
			gather("same"), "gridworld_ppo_jax.py", "float32 SAME select conv")),
	}
}

func explicit(w Workload) Workload {
	w.Explicit = true
	return w
}

// ppoWorkload is updates of a training that is longer than any measurement, so that the learning rate hardly falls.
func ppoWorkload(name, what string, change func(*ppo.Config), script, args string) Workload {
	return Workload{Name: name, What: what, Work: million, Unit: "steps",
		Peers: []Peer{{Name: "jax", Script: script, Args: strings.Fields(args)}},
		Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := ppo.DefaultConfig()
			c.Steps, c.Target, c.EvalEnvs = 1<<30, "0", 0 // peers do not evaluate
			change(&c)
			t, err := ppo.New(b, c)
			if err != nil {
				return nil, err
			}
			return steps(ctx, t, million), nil
		}}
}

func selfplayWorkloads(Options) []Workload {
	all := []Workload{
		selfplayWorkload("selfplay-6-gumbel", "a million simulations: n = 6, k = 3, 64 games side by side, 50 "+
			"simulations a move, Gumbel", 6, 3, "gumbel", 512, selfplay.PhaseGames, nil,
			"search 6 3 64 50 gumbel"),
		selfplayWorkload("selfplay-6-puct", "the same with PUCT", 6, 3, "puct", 512, selfplay.PhaseGames, nil,
			"search 6 3 64 50 puct"),
		selfplayWorkload("selfplay-14-gumbel", "the same with Gumbel, n = 14, k = 4", 14, 4, "gumbel", 128,
			selfplay.PhaseGames, nil, "search 14 4 64 50 gumbel"),
		selfplayWorkload("selfplay-step", "a training step, batch 256, graph network, n = 14", 14, 4, "gumbel", 32,
			selfplay.PhaseTraining, func(c *selfplay.Config) {
				c.Network, c.NumSimulations, c.TrainingBatchSize = "graph:32", 2, 256
			}, "train 14 256 32 3"),
	}
	for _, n := range []int{32, 64, 256, 512} {
		all = append(all, selfplayWorkload(fmt.Sprintf("selfplay-batch-%d", n),
			fmt.Sprintf("a batch of %d prepared, n = 14", n), 14, 4, "gumbel", 32, selfplay.PhaseBatch,
			func(c *selfplay.Config) { c.NumSimulations, c.TrainingBatchSize = 2, n },
			fmt.Sprintf("batch 14 %d", n)))
	}
	iteration := Workload{Name: "selfplay-iteration", What: "an iteration of 64 games by the defaults, no evaluation",
		Explicit: true, Open: func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
			c := selfplay.DefaultConfig()
			c.NumIterations, c.NumEpisodes, c.ArenaEvery = 1_000_000, 64, 0
			t, err := selfplay.New(b, c)
			if err != nil {
				return nil, err
			}
			return steps(ctx, t, 0), nil
		}}
	return append(all, iteration)
}

// phaseRunner times one phase of an iteration of self-play, scaled to the work of a run.
func phaseRunner(phase func(repeats int) ([]run.Phase, error), scale float64, close func() error) *Runner {
	units := 1                            // in a timed call
	r := Runner{Part: true, Close: close} // it also copies the state and warms up
	r.Run = func(n int) (seconds []float64, result float64, err error) {
		phases, err := phase(max(1, n/units))
		if err != nil {
			return nil, 0, err
		}
		units = phases[0].Units
		for _, s := range phases[0].Runs {
			seconds = append(seconds, s*scale)
		}
		return seconds, 0, nil
	}
	return &r
}

// selfplayWorkload is one phase of an iteration. The time of games is the time of a million simulations: ours counts
// those of played moves, the peer's counts all that it computes.
func selfplayWorkload(name, what string, vertices, k int, search string, episodes int, phase string,
	change func(*selfplay.Config), peer string) Workload {
	w := Workload{Name: name, What: what,
		Peers: []Peer{{Name: "jax", Script: "selfplay_jax.py", Args: strings.Fields(peer)}}}
	if phase == selfplay.PhaseGames {
		w.Work, w.Unit = million, "simulations"
	}
	w.Open = func(ctx context.Context, _ *host, b xlabridge.Backend, o Options) (*Runner, error) {
		c := selfplay.DefaultConfig()
		c.ArenaEvery, c.Replay, c.Epochs = 0, 1, settings.Num(1)
		c.Vertices, c.K, c.Search, c.Network = vertices, []int{k}, search, "mlp:64,64"
		c.NumEpisodes, c.GameBatchSize, c.NumSimulations = episodes, 64, 50
		if change != nil {
			change(&c)
		}
		t, err := selfplay.New(b, c)
		if err != nil {
			return nil, err
		}
		m, err := t.Step(ctx) // games to learn from
		if err != nil {
			return nil, err
		}
		scale := 1.
		if phase == selfplay.PhaseGames {
			scale = million / m.Work
		}
		return phaseRunner(func(repeats int) ([]run.Phase, error) { return t.PhasesOf(ctx, repeats, phase) }, scale,
			t.Close), nil
	}
	return w
}
