package plan

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Batches divide the episodes. Narrow networks play one episode after the other on a CPU.
func TestEpisodeBatch(t *testing.T) {
	for _, c := range []struct{ episodes, bytes, want int }{
		{1, 1000, 1}, {2, 1000, 1}, {16, 1000, 1}, {16, wideMember - 1, 1}, {1, wideMember, 1}, {2, wideMember, 1},
		{3, wideMember, 1}, {4, wideMember, 4}, {7, wideMember, 7}, {11, wideMember, 1}, {12, wideMember, 6},
		{16, wideMember, 8}, {100, wideMember, 5}, {1 << 20, 1 << 30, 8},
	} {
		assert.Equal(t, c.want, EpisodeBatch(c.episodes, c.bytes, false), "%+v", c)
		assert.Equal(t, c.episodes, EpisodeBatch(c.episodes, c.bytes, true), "%+v", c)
	}
	for episodes, want := range map[int][]int{1: {1}, 3: {1}, 4: {1, 4}, 12: {1, 4}, 16: {1, 4, 8, 16}} {
		assert.Equal(t, want, EpisodeBatches(episodes))
	}
}
