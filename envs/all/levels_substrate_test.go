package all_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/envs"
	"xlarun/rollout/episode"
)

// An action has the place of the cell that it leads to: what lies there on each sheet decides about the reward.
func TestActionsHaveThePlacesOfCells(t *testing.T) {
	for _, c := range []struct {
		id, params string
		worth      []float64 // of an object on each of the first sheets
	}{{"Forage-L0-v1", "food=0.5", []float64{1}}, {"Forage-L1-v1", "food=0.3,poison=0.3", []float64{1, -1}}} {
		met := map[float64]int{}
		episodes(t, c.id, c.params, 40, func(r *episode.Rollout, rec *episode.Recording) {
			substrate := r.Env.Spec().Observation.(envs.Box).Substrate
			for i := range rec.Length {
				place := substrate.Outputs[int(floats(t, rec.Action(i+1))[0])]
				seen, want := floats(t, r.Env.Observe(rec.State(i), r.Env.DefaultParams())), 0.
				for sheet, worth := range c.worth {
					place.Sheet = sheet
					want += worth * seen[slices.Index(substrate.Elements, place)]
				}
				require.Equal(t, want, rec.Rewards[i])
				met[want]++
			}
		})
		for _, worth := range c.worth {
			require.Greater(t, met[worth], 5)
		}
	}
}
