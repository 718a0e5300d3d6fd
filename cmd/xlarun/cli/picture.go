package cli

import (
	"xlarun/cmd/xlarun/play"
	"xlarun/rollout/episode"
	"xlarun/xlabridge"
)

// picture is a GIF of a member playing an episode of the seed, of at most so many frames (0: one a step); nil where the
// environment cannot be drawn. `xlarun play --seed` shows the same episode.
func picture(b xlabridge.Backend, r *episode.Rollout, params any, seed int64, frames int) ([]byte, error) {
	return play.Picture(b, r, params, seed, frames)
}
