package bench

import "slices"

// Goal is what a row is to reach. 0: nothing.
type Goal struct {
	Ratio   float64 `json:"goal,omitempty"`           // the peer's time by the clock over ours, at least
	CPU     float64 `json:"processor_goal,omitempty"` // the same in CPU time
	Compile float64 `json:"compile_goal,omitempty"`   // the same of the time to trace and compile
	Seconds float64 `json:"seconds_goal,omitempty"`   // ours, at most
}

// goals are the goals of rows, SUITE/ROW. SUITE/* is the goal of all rows of a suite that have none of their own. They
// are no fields of workloads: most workloads are made by functions over names and sizes, which would each take a goal
// for each of their peers. TestGoals finds a key without a row.
var goals = map[string]Goal{
	"evolve/rollouts-small-gymnax": {Ratio: 5, Compile: 1}, "evolve/rollouts-wide-gymnax": {Ratio: 3.3, Compile: 1},
	"evolve/rollouts-wide-C": {Ratio: .95}, "evolve/generation-small": {Ratio: 20, Compile: 1.5},
	"evolve/generation-wide": {Ratio: 12, Compile: 1.5}, "evolve/episodes": {Ratio: 2},
	"evolve/start-warm": {Ratio: 60}, "evolve/start-cold": {Ratio: 5}, "evolve/sparse": {Ratio: 3.3},

	"ppo/ppo-cartpole": {Ratio: 3, CPU: 1.5}, "ppo/ppo-agents": {Ratio: 6}, "ppo/ppo-breakout": {Ratio: 3},
	"ppo/ppo-gather": {Ratio: 3}, "ppo/ppo-gather-valid": {Ratio: 3},

	"selfplay/selfplay-6-gumbel": {Ratio: 6}, "selfplay/selfplay-6-puct": {Ratio: 10},
	"selfplay/selfplay-14-gumbel": {Ratio: 10}, "selfplay/selfplay-step": {Ratio: 5},
	"selfplay/selfplay-batch-32": {Ratio: 10}, "selfplay/selfplay-batch-64": {Ratio: 10},
	"selfplay/selfplay-batch-256": {Ratio: 10}, "selfplay/selfplay-batch-512": {Ratio: 10},

	"grad/mlp": {Ratio: 1.3}, "grad/cnn": {Ratio: 2.5}, "grad/gru": {Ratio: 2.5}, "grad/cnn-scan": {Ratio: 5},
	"grad/mlp-start-warm": {Ratio: 12}, "grad/cnn-start-warm": {Ratio: 8}, "grad/gru-start-warm": {Ratio: 8},
	"grad/cnn-scan-start-warm": {Ratio: 40},

	"half/dot-512-bf16": {Ratio: 1}, "half/dot-1024-bf16": {Ratio: 1}, "half/dot-2048-bf16": {Ratio: 1},
	"half/mlp-bf16": {Ratio: 1}, "half/cnn-bf16": {Ratio: 1}, "half/ppo-gather-bf16": {Ratio: 1},

	"spiking/members-spyx": {Ratio: 20}, "spiking/members-jax": {Ratio: 3}, "spiking/members-brainpy": {Ratio: 20},
	"spiking/batches-spyx": {Ratio: 10}, "spiking/batches-jax": {Ratio: 1.5},
	"spiking/batches-brainpy": {Ratio: 1.5}, "spiking/gradient-spyx": {Ratio: 4}, "spiking/gradient-jax": {Ratio: 4},
	"spiking/gradient-brainpy": {Ratio: 4}, "spiking/forage": {Ratio: 3}, "spiking/dynamics-mechanistic": {Ratio: 1.5},

	"neuro/cartpole": {Ratio: 8, CPU: 5, Compile: 1}, "neuro/acrobot": {Ratio: 8, CPU: 5, Compile: 1},
	"neuro/mountaincar": {Ratio: 8, CPU: 5}, "neuro/pendulum": {Ratio: 8, CPU: 5}, "neuro/cmaes": {Ratio: 6},
	"neuro/cmaes-1000": {Ratio: 4}, "neuro/openes": {Ratio: 12}, "neuro/breakout": {Ratio: 10},
	"neuro/gru": {Ratio: 10}, "neuro/forage": {Ratio: 10},

	"qd/arm": {Ratio: 8}, "qd/rastrigin": {Ratio: 4}, "qd/cartpole-256": {Ratio: 6}, "qd/cartpole-1024": {Ratio: 6},
	"qd/start-rastrigin": {Ratio: 20}, "qd/start-cartpole-256": {Ratio: 20}, "qd/cells-10000": {Ratio: 1 / 1.5},
	"qd/cells-100000": {Ratio: 1 / 1.5},

	"neat/xor-1000": {Ratio: 15}, "neat/xor-10000-small": {Ratio: 15}, "neat/xor-10000": {Ratio: 15},
	"neat/cartpole": {Ratio: 50}, "neat/cartpole-genome": {Ratio: .25},

	"large/low-rank-openes": {Ratio: 4}, "large/low-rank-inference-64": {Ratio: .88},
	"large/low-rank-inference-512": {Ratio: .88},

	"study/trials": {Ratio: 60}, "study/lanes": {Seconds: 1. / 40_000}, "study/workers": {Ratio: 1.95},
	"study/cartpole-threads": {Ratio: 4},

	"python/ask-tell-program": {Ratio: 1 / 1.3}, "python/vector-1024-SyncVectorEnv": {Ratio: 20},
	"python/vector-4096-SyncVectorEnv": {Ratio: 20}, "python/vector-4096-envpool": {Ratio: 1},

	"machines/two-200-one-200": {Ratio: 1.95}, "machines/two-20-one-20": {Ratio: 1.7},
	"machines/model-1024": {Ratio: .9},

	"generic/*": {Ratio: .95},
}

// meanGoals are the geometric means that the ratios of all rows of a suite are to reach.
var meanGoals = map[string]float64{"generic": 2}

// goalOf returns the goal of a row.
func goalOf(suite, row string) Goal {
	if g, ok := goals[suite+"/"+row]; ok {
		return g
	}
	return goals[suite+"/*"]
}

// below names what does not reach the goal, among what is known: numbers are 0 where they are not.
func (g Goal) below(ratio, cpu, compile, seconds float64) (names []string) {
	for _, x := range []struct {
		name      string
		got, goal float64
	}{{"ratio", ratio, g.Ratio}, {"CPU", cpu, g.CPU}, {"compiling", compile, g.Compile},
		{"seconds", -seconds, -g.Seconds}} {
		if x.got != 0 && x.goal != 0 && x.got < x.goal {
			names = append(names, x.name)
		}
	}
	return names
}

// marked is a cell of the table with a goal, which says where it is not reached.
func (r row) marked(goal, name string) string {
	if slices.Contains(r.Below, name) {
		return goal + " below"
	}
	return goal
}
