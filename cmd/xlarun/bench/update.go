package bench

import (
	"context"
	"strconv"

	"xlarun/rollout/ppo"
	"xlarun/xlabridge"
)

// updateName is the workload of an update of ppo.
const updateName = "ppo-update"

// updateCount is the number of updates of one repeat.
const updateCount = 50

// update is ppo by its defaults on CartPole, of more steps than any figure takes, so that the learning rate hardly falls.
func update() ppo.Config {
	c := ppo.DefaultConfig()
	c.Steps, c.Target = 1<<30, "0"
	return c
}

// timeUpdate times updates, which have no peer here: bench ppo has whole trainings beside JAX.
func timeUpdate(ctx context.Context, b *bench, name string) ([]row, error) {
	return b.timeSlices(ctx, name, slicedUpdates(update()), updateCount)
}

// slicedUpdates makes updates of an experiment a slice.
func slicedUpdates(c ppo.Config) func(ctx context.Context, b *bench) (*slicedWork, error) {
	args := []string{"ppo", c.Env, "--policy", c.Policy, "--steps", strconv.Itoa(c.Envs * c.Horizon), "--target", "0", "--judge", "1", "--out", "none"}
	return func(ctx context.Context, b *bench) (*slicedWork, error) {
		// Most of an update of these sizes is one core's work: it is measured beside a calibration on one thread.
		return b.sliced(ctx, args, smallCalibrator, func(backend xlabridge.Backend) (stepper, error) {
			if b.newUpdates != nil {
				return b.newUpdates(backend, c)
			}
			return ppo.New(backend, c)
		})
	}
}
