package command

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/xlabridge"
)

// counted is a backend that counts how often it is closed.
type counted struct {
	*xlabridge.Reference
	closed int
	err    error // of Close
}

func (c *counted) Close() error { c.closed++; return c.err }

// The backend on which study best --member repeated the trials of pbt stayed open, beside that of the run
// which then evaluated their members. A GPU's memory is enough for one.
func TestMakerClosesItsBackends(t *testing.T) {
	m := newMaker(&cli.App{}, "spec.toml")
	require.NoError(t, m.close(), "none is open")
	wrong := errors.New("wrong")
	first, second := &counted{err: wrong}, &counted{}
	m.backends[console.BackendFlags{Backend: "cpu"}] = first
	m.backends[console.BackendFlags{Backend: "cuda"}] = second
	require.ErrorIs(t, m.close(), wrong)
	require.NoError(t, m.close(), "each is closed once")
	assert.Equal(t, []int{1, 1}, []int{first.closed, second.closed})
}
