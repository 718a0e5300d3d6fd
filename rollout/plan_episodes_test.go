package rollout_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"xlarun/rollout/plan"
)

// Narrow networks play few episodes one after the other on a CPU. Batches to measure divide the episodes.
func TestPlanEpisodeBatch(t *testing.T) {
	const wideMember = 20 << 10 // from so many bytes on, products of several episodes are faster
	for _, c := range []struct{ episodes, bytes, want int }{
		{1, 1000, 1}, {2, 1000, 1}, {16, 1000, 1}, {31, wideMember - 1, 1}, {1, wideMember, 1}, {2, wideMember, 1},
		{3, wideMember, 1}, {4, wideMember, 4}, {7, wideMember, 7}, {32, 1, 32}, {100, 1, 100},
		{1 << 20, 1 << 30, 1 << 20},
	} {
		assert.Equal(t, c.want, plan.EpisodeBatch(c.episodes, c.bytes, false), "%+v", c)
		assert.Equal(t, c.episodes, plan.EpisodeBatch(c.episodes, c.bytes, true), "%+v", c)
	}
	for episodes, want := range map[int][]int{
		1: {1}, 3: {1}, 4: {1, 4}, 7: {1, 7}, 12: {1, 4, 12}, 64: {1, 4, 16, 64},
	} {
		assert.Equal(t, want, plan.EpisodeBatches(episodes))
	}
}

// An accelerator takes two steps of an episode in an iteration, if their number is even; a CPU takes one.
func TestPlanDefaultUnroll(t *testing.T) {
	for steps, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 499: 1, 500: 2} {
		assert.Equal(t, want, plan.DefaultUnroll(steps, true), "%d steps", steps)
		assert.Equal(t, 1, plan.DefaultUnroll(steps, false), "%d steps", steps)
	}
}
