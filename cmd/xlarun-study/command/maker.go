package command

import (
	"context"
	"errors"
	"io"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
	"xlarun/xlabridge"
)

// maker makes runs of settings, with one backend of each kind kept open.
type maker struct {
	*cli.App
	path     string // of the spec, for errors
	backends map[console.BackendFlags]xlabridge.Backend
	on       map[run.Experiment]console.BackendFlags
}

func newMaker(a *cli.App, path string) *maker {
	return &maker{App: a, path: path, backends: map[console.BackendFlags]xlabridge.Backend{},
		on: map[run.Experiment]console.BackendFlags{}}
}

// Resolve implements studies.Runs. Plans are not measured, so that a trial gives the same wherever it runs.
func (m *maker) Resolve(kind string, values map[string]any) (run.Experiment, error) {
	e, on, err := m.App.Resolve(kind, m.path, values)
	if err != nil {
		return nil, err
	}
	clear(m.on) // only the newest is asked for
	m.on[e] = on
	return e, nil
}

// Backend implements studies.Runs.
func (m *maker) Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error) {
	on := m.on[e]
	if b, ok := m.backends[on]; ok {
		return b, nil
	}
	b, err := m.OpenBackend(ctx, on, console.Notices{Writer: io.Discard})
	if err == nil {
		m.backends[on] = b
	}
	return b, err
}

// close closes the backends.
func (m *maker) close() (err error) {
	for on, b := range m.backends {
		err = errors.Join(err, b.Close())
		delete(m.backends, on)
	}
	return err
}
