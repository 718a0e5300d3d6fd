package long

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each file is in one of the parts, wherever the checkout is.
func TestParts(t *testing.T) {
	counts := make([]int, 10)
	for i := range 1000 {
		in := 0
		for n := range counts {
			text := fmt.Sprintf("%d/10", n+1)
			yes := part(text, fmt.Sprintf("/home/me/xlarun/graph/f%d_test.go", i))
			require.Equal(t, yes, part(text, fmt.Sprintf("xlarun/graph/f%d_test.go", i)))
			if yes {
				in++
				counts[n]++
			}
		}
		require.Equal(t, 1, in)
	}
	for _, c := range counts {
		require.InDelta(t, 100, c, 40)
	}
	for _, bad := range []string{"yes", "0/10", "11/10", "3/", "3/10 ", "-1/10", "03/10"} {
		require.Panics(t, func() { part(bad, "graph/a_test.go") }, bad)
	}
}

// The file that asks decides, in each of the three functions.
func TestOn(t *testing.T) {
	for text, want := range map[string]bool{"": false, "1": true, "1/1": true} {
		t.Setenv("XLARUN_LONG", text)
		require.Equal(t, want, On())
		require.Equal(t, text == "1", All())
		require.Len(t, Sample([]int{1, 2}, func(int) string { return "" }), map[bool]int{true: 2, false: 1}[want])
	}
	on := 0
	for n := range 7 {
		t.Setenv("XLARUN_LONG", fmt.Sprintf("%d/7", n+1))
		if On() {
			on++
			require.Len(t, Sample([]int{1, 2}, func(int) string { return "" }), 2)
			ran := false
			t.Run("only", func(t *testing.T) {
				Only(t)
				ran = true
			})
			require.True(t, ran)
		}
	}
	require.Equal(t, 1, on)
}
