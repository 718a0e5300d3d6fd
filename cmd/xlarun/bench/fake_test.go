package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// fakeEngine is an evolution that only counts.
type fakeEngine struct {
	config evolve.Config
	done   int
	step   func(generation int) // called before a generation
}

func (e *fakeEngine) Step() (run.Metrics, error) {
	e.done++
	if e.step != nil {
		e.step(e.done)
	}
	return run.Metrics{Step: int64(e.done)}, nil
}

func (e *fakeEngine) Phases(int) ([]run.Phase, error) {
	return []run.Phase{{Name: "ask", Seconds: .0001, Best: .00009}, {Name: "play", Seconds: .0008, Best: .0007}}, nil
}

func (e *fakeEngine) Profile() run.Profile { return run.Profile{Devices: 2} }
func (e *fakeEngine) Close() error         { return nil }

// bed is a command line that has only bench, in an empty working folder, on the interpreter and a fake engine.
type bed struct {
	*host
	out, err *bytes.Buffer
	opened   int         // backends
	engine   *fakeEngine // the last one made
	shape    fakeEngine  // what engines are made of
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{out: new(bytes.Buffer), err: new(bytes.Buffer)}
	t.Chdir(t.TempDir())
	t.Setenv("XLARUN_CACHE", filepath.Join(t.TempDir(), "cache"))
	b.host = &host{
		Streams: console.Streams{In: strings.NewReader(""), Out: b.out, Err: b.err},
		openBackend: func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
			b.opened++
			return &xlabridge.Reference{}, nil
		},
		newEngine: func(_ xlabridge.Backend, c evolve.Config) (engine, error) {
			e := b.shape
			e.config = c
			b.engine = &e
			return b.engine, nil
		},
		newUpdates:    func(xlabridge.Backend, ppo.Config) (stepper, error) { e := b.shape; return &e, nil },
		newIterations: func(xlabridge.Backend, selfplay.Config) (stepper, error) { e := b.shape; return &e, nil },
		now:           func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	return b
}

// do runs bench with these arguments.
func (b *bed) do(args ...string) int { return do(b.Streams, command(b.host), args...) }

func do(s console.Streams, bench *cobra.Command, args ...string) int {
	root := &cobra.Command{Use: "xlarun"}
	root.AddCommand(bench)
	return console.Run(context.Background(), root, append([]string{"bench"}, args...), s)
}

// result is the last line that bench printed.
func (b *bed) result(t *testing.T) map[string]any {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(b.out.String()), "\n")
	var v map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &v), "%s", lines[len(lines)-1])
	return v
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
