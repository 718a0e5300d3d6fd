package ppo

import (
	"xlarun/envs"
	"xlarun/rollout/policy"
	"xlarun/rollout/settings"
)

// runner are settings of MuJoCo's tasks, for a million steps. They began as those of CleanRL's ppo_continuous_action.py
// (2,048 steps, 10 epochs of minibatches of 64, 3e-4): more environments cost little here, and with the larger learning
// rate and minibatches the returns are higher (docs/notes/ppo.md).
var runner = settings.Values{"envs": 64, "horizon": 64, "epochs": 5, "minibatches": 16, "learning-rate": 1e-3,
	"entropy-coef": 0., "normalize-observations": true, "normalize-rewards": true, "steps": 1_000_000}

// tuned are settings for environments that the defaults do not solve, or solve more slowly. The values began as those
// of RL Baselines3 Zoo for PPO (hyperparams/ppo.yml) and were tried with several seeds; examples/README.md has the
// scores. Some have more environments, because these cost little here.
var tuned = map[string]settings.Values{
	// Zoo. All of eight seeds balance the pole in all episodes after 100,000 steps; with the defaults none does.
	"CartPole-v1": {"envs": 8, "horizon": 32, "epochs": 20, "minibatches": 1, "learning-rate": 1e-3, "gamma": .98,
		"lambda": .8, "entropy-coef": 0.},
	// Zoo: normalized, and its lambda. Eight seeds are at -83 after 50,000 steps; with the defaults after 400,000.
	"Acrobot-v1": {"envs": 16, "learning-rate": 1e-3, "lambda": .94, "normalize-observations": true,
		"normalize-rewards": true},
	// Zoo: the larger learning rate and the smaller gamma matter. Normalized, all of three seeds end above -180.
	"Pendulum-v1": {"envs": 16, "epochs": 20, "learning-rate": 1e-3, "gamma": .95, "entropy-coef": 0.,
		"normalize-observations": true, "normalize-rewards": true, "steps": 400_000},
	// Zoo: normalized. The rewards are equal until the goal is found once, so many environments have to find it.
	"MountainCar-v0": {"envs": 64, "epochs": 10, "learning-rate": 1e-3, "lambda": .98,
		"normalize-observations": true, "normalize-rewards": true, "steps": 2_000_000},
	"MountainCarContinuous-v0": {"envs": 16, "horizon": 256, "epochs": 10, "learning-rate": 3e-4, "gamma": .9999,
		"lambda": .9, "entropy-coef": .00429, "normalize-observations": true, "normalize-rewards": true},
	"Gather-v1":      {"envs": 64, "learning-rate": 1e-3, "steps": 1_000_000},
	"HalfCheetah-v5": runner, "Hopper-v5": runner, "Walker2d-v5": runner, "Ant-v5": runner, "Humanoid-v5": runner,
}

// Suggested returns settings for the environment that differ from the defaults: those that are tuned for it, and a CNN
// if its observations are images.
func (c *Config) Suggested() settings.Values {
	values := settings.Values{}
	_ = envs.Try(func() { // a user's environment may panic; the check of the settings says so
		if env, err := envs.Make(c.Env); err == nil && policy.IsImage(env.Spec().Observation) {
			values["policy"] = "cnn"
		}
	})
	for name, value := range tuned[c.Env] {
		values[name] = value
	}
	return values
}
