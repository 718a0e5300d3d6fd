package bench

import (
	"context"

	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
)

// forageCount is the number of generations of one repeat.
const forageCount = 10

// forage is the level by which speed is watched: OpenES on Forage-L1, whose steps cost much beside those of CartPole, with a fixed network.
func forage() evolve.Config {
	c := evolve.DefaultConfig()
	c.Env, c.Strategy, c.Steps = "Forage-L1-v1", "openes", 200
	c.Tune = plan.TuneQuick
	c.Population, c.Policy = 1024, "mlp:32,32"
	return c
}

// timeForage times whole generations of forage, which has no peer.
func timeForage(ctx context.Context, b *bench, name string) ([]row, error) {
	line, err := b.inTurn(name, "", func() (float64, error) { return b.generationSeconds(ctx, forage(), forageCount) }, nil)
	return []row{line}, err
}
