package bench

import (
	"context"
	"strconv"

	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// iterationName is the workload of an iteration of selfplay.
const iterationName = "selfplay-iteration"

// iterationCount is the number of iterations of one repeat.
const iterationCount = 5

// iteration is selfplay by its defaults with fewer games, without evaluations.
func iteration() selfplay.Config {
	c := selfplay.DefaultConfig()
	c.NumIterations, c.NumEpisodes, c.ArenaEvery = 1_000_000, 64, 0
	return c
}

// timeIteration times iterations, which have no peer here: bench selfplay has the parts of one beside mctx and JAX.
func timeIteration(ctx context.Context, b *bench, name string) ([]row, error) {
	return b.timeSlices(ctx, name, slicedIterations(iteration()), iterationCount)
}

// slicedIterations makes iterations of an experiment a slice.
func slicedIterations(c selfplay.Config) func(ctx context.Context, b *bench) (*slicedWork, error) {
	return func(ctx context.Context, b *bench) (*slicedWork, error) {
		c := c
		c.Devices = b.flags.Devices
		args := []string{"selfplay", "--num-iterations", "1", "--num-episodes", strconv.Itoa(c.NumEpisodes), "--arena-every", "0", "--devices", strconv.Itoa(c.Devices), "--out", "none"}
		return b.sliced(ctx, args, wideCalibrator, func(backend xlabridge.Backend) (stepper, error) {
			if b.newIterations != nil {
				return b.newIterations(backend, c)
			}
			return selfplay.New(backend, c)
		})
	}
}
