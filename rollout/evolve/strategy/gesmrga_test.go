package strategy

import (
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
)

// Children fill the groups in order, however many there are of both.
func TestGroupsOfChildren(t *testing.T) {
	for _, c := range []struct {
		name            string
		groups, members int
		children        []int32
	}{
		{"few", 3, 8, []int32{0, 1, 2, 3, 4, 5, 6, 7}},
		{"one member", 1, 1, []int32{0}},
		{"the root of a large population", 1 << 12, 1 << 24, []int32{0, 1, 1 << 19, 1<<19 + 1, 1<<24 - 1}},
		{"as many groups as children", 1<<24 - 1, 1 << 24, []int32{1, 1 << 12, 1<<23 + 7, 1<<24 - 1}},
	} {
		got, err := graph.Floats(gesmrGroup(graph.Of(c.children), c.groups, graph.Of(int32(c.members))))
		require.NoError(t, err, c.name)
		for i, child := range c.children {
			want := max(0, int64(child)-1) * int64(c.groups) / max(1, int64(c.members)-1)
			require.EqualValues(t, want, got[i], "%s: child %d", c.name, child)
		}
	}
}
