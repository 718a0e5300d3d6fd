package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/internal/shelltest"
)

// Commands said that a pipe was broken when the reader of their list had seen enough, as head has.
func TestUnreadListsEndQuietly(t *testing.T) {
	s := shelltest.New(t)
	for _, c := range []struct {
		args   string
		status []int
		err    string
	}{
		{"cache list", []int{141}, ""},
		{"cache list --json", []int{141}, ""},
		{"cache verify", []int{141}, ""},
		{"help environments", []int{141}, ""},
		{"help", []int{0, 141}, ""},
		{"evolve --help", []int{0, 141}, ""},
		{"--version", []int{141}, ""},
		{"version", []int{0, 141}, ""},
		{"plugin list", []int{141}, ""},
		{"completion bash", []int{141}, ""},
		{"inspect CartPole-v1 --backend reference", []int{141}, ""},
		// A mistake still gets its message.
		{"cache list --nonsense", []int{2}, "there is no flag --nonsense"},
		{"cache list --nonsense --json", []int{2}, "there is no flag --nonsense"},
	} {
		read, write, err := os.Pipe()
		require.NoError(t, err)
		require.NoError(t, read.Close())
		p := s.Command(strings.Fields(c.args)...)
		p.Stdout = write
		require.NoError(t, p.Start())
		require.NoError(t, write.Close())
		assert.Contains(t, c.status, p.Ended(), c.args)
		if c.err == "" {
			assert.Empty(t, p.Err.String(), c.args)
		} else {
			assert.Contains(t, p.Err.String(), c.err)
		}
	}
}
