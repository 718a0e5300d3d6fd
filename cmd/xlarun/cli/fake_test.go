package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/envs"
	"xlarun/graph"
	"xlarun/graph/random"
	"xlarun/rollout/evolve"
	"xlarun/rollout/policy"
	"xlarun/xlabridge"
)

// fakeEngine is an evolution whose mean return rises by 100 a generation.
type fakeEngine struct {
	config evolve.Config
	done   int
	warmed int
	failAt int                  // the generation that fails
	step   func(generation int) // called before a generation
}

func (e *fakeEngine) Step() (evolve.Metrics, error) {
	e.done++
	if e.step != nil {
		e.step(e.done)
	}
	if e.done == e.failAt {
		return evolve.Metrics{}, errors.New("the device caught fire")
	}
	c := e.config
	return evolve.Metrics{Generation: e.done, BestFitness: 100*float64(e.done) + 7, MeanFitness: 100 * float64(e.done), BestEver: 100*float64(e.done) + 7,
		EnvSteps: int64(e.done) * int64(c.Population) * int64(c.Steps), Seconds: .001}, nil
}

func (e *fakeEngine) Profile() evolve.Profile {
	p := evolve.Profile{TraceSeconds: .01, CompileSeconds: .2, Cache: "hit", Devices: 2, Plan: "2 devices, tiles of 8", PlanSource: evolve.PlanStored}
	if e.config.Tune == evolve.TuneOff {
		p.PlanSource = evolve.PlanStatic
	}
	return p
}

func (e *fakeEngine) Snapshot() (evolve.Snapshot, error) {
	return evolve.Snapshot{Generation: e.done, Arrays: map[string]*graph.Array{"Mean": graph.Float32s([]float32{1, 2, 3})}}, nil
}

func (e *fakeEngine) Best() (any, float64, error) {
	spec := must(envs.Make(e.config.Env)).Spec()
	params, err := graph.Eval(must(policy.Make(e.config.Policy, spec.Observation, spec.Action)).Init(random.New(0)))
	return params, 107, err
}

func (e *fakeEngine) WarmUp() (float64, error) {
	e.warmed++
	if e.failAt < 0 {
		return 0, errors.New("the device caught fire")
	}
	return .002, nil
}

func (e *fakeEngine) Phases(int) ([]evolve.Phase, error) {
	return []evolve.Phase{{Name: "ask", Seconds: .0001, Best: .00009}, {Name: "play", Seconds: .0008, Best: .0007}, {Name: "tell", Seconds: .0002, Best: .0001}}, nil
}

// Program is 1024 turns of a product of 8 x 8 matrices.
func (e *fakeEngine) Program() *graph.Program {
	return must(graph.Trace("generation", func(x *graph.Array) *graph.Array {
		x, _ = graph.Scan(func(x, _ *graph.Array) (*graph.Array, graph.None) { return graph.Dot(x, x), graph.None{} }, x, graph.Iota(1024))
		return x
	}, graph.Zeros(graph.ShapeOf(graph.Float32, 8, 8))))
}

func (e *fakeEngine) CompileInfo() xlabridge.CompileInfo {
	return xlabridge.CompileInfo{Cache: xlabridge.CacheHit, Bytes: 12345}
}

func (e *fakeEngine) MemberAt(tile, lane int) int { return tile + lane }
func (e *fakeEngine) Close() error                { return nil }

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// buffer is a bytes.Buffer for several goroutines: an interrupted command may still be writing.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// bed is a command line in an empty working folder, on a fake backend and engine.
type bed struct {
	*app
	dir      string
	out, err *buffer
	opened   int         // backends
	engine   *fakeEngine // the last one made
	shape    fakeEngine  // what engines are made of
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{dir: t.TempDir(), out: &buffer{}, err: &buffer{}}
	t.Chdir(b.dir)
	t.Setenv("XLARUN_CACHE", filepath.Join(t.TempDir(), "cache"))
	b.app = &app{
		Streams: Streams{In: strings.NewReader(""), Out: b.out, Err: b.err},
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
		tune: func(_ xlabridge.Backend, c evolve.Config) (evolve.Choice, error) {
			if c.Tune != evolve.TuneQuick {
				return evolve.Choice{Plan: "tiles of 8", Source: evolve.PlanStatic}, nil
			}
			return evolve.Choice{Plan: "tiles of 8", Source: evolve.PlanTuned, Seconds: .5,
				Tried: []evolve.TriedPlan{{Plan: "tiles of 16", Seconds: .003}, {Plan: "tiles of 8", Seconds: .002}}}, nil
		},
		now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
	return b
}

func (b *bed) do(args ...string) int { return b.run(context.Background(), args) }

// files lists the working folder.
func (b *bed) files(t *testing.T) []string {
	t.Helper()
	var out []string
	require.NoError(t, filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.dir, path); !d.IsDir() {
			out = append(out, rel)
		}
		return err
	}))
	return out
}

func (b *bed) write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o644))
}
