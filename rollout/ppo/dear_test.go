package ppo

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// Episodes that are begun only where one has ended are those that are begun beforehand for all steps: with memory and drawn parameters, to the byte.
func TestDearBeginnings(t *testing.T) {
	b := open(t)
	for env, dear := range map[string]bool{"CartPole-v1": false, "Gather-v1": true} {
		c := small(func(c *Config) { c.Env = env })
		g, err := c.program()
		require.NoError(t, err)
		require.Equal(t, dear, g.collect.dear, env)
		c.Agents = 2
		g, err = c.program()
		require.NoError(t, err)
		require.False(t, g.collect.dear, "of several agents no branch is alone")
	}
	c := small(func(c *Config) { c.EnvParam = map[string]string{"gravity": "9..11", "max-steps": "7"} })
	var all [2]map[string][]byte
	for i, dear := range []bool{false, true} {
		g, err := c.program()
		require.NoError(t, err)
		g.collect.dear = dear
		r, err := newTraining(b, c, g, c.Purpose())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, r.Close()) })
		steps(t, r, 3)
		s, err := r.Snapshot()
		require.NoError(t, err)
		all[i] = map[string][]byte{}
		for name, a := range s.Arrays {
			all[i][name] = hostBytes(t, a)
		}
	}
	require.NotEmpty(t, all[0])
	for name, want := range all[0] {
		require.True(t, bytes.Equal(want, all[1][name]), name)
	}
}
