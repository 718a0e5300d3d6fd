package display

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lines of lists fit the terminal. What is no terminal gets them whole.
func TestCut(t *testing.T) {
	for _, c := range []struct {
		text, want string
		width      int
		style      Style
	}{
		{"program  generation", "program  generation", 0, Style{}},
		{"program  generation", "program  generation", 19, Style{}},
		{"program  generation", "program  gen…", 13, Style{Unicode: true, Color: true}},
		{"program  generation", "program  gen~", 13, Style{}},
		{"", "", 1, Style{}},
	} {
		require.Equal(t, c.want, Cut(c.text, c.width, c.style))
	}
	require.Zero(t, Width(&bytes.Buffer{}, func(string) string { return "xterm" }))
}
