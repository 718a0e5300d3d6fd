package runfolder_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/runfolder/disktest"
)

const (
	lastStep = 30
	runDir   = "/runs/walk"
	config   = "walk = 1\n"
)

// walk is a run: its state is a number that every step changes. It is the least that a command does with a folder.
type walk struct {
	disk    runfolder.Disk
	keep    int // checkpoints
	notices []string
	skipped []string
	after   int64 // the step that it went on from
	lost    error
	atStep  func(step int64) // called before a step
	notice  func(line string)
}

// start begins the run, or goes on with it.
func (w *walk) start() (f *runfolder.Folder, x float64, err error) {
	var mu sync.Mutex
	o := runfolder.Options{Disk: w.disk, Keep: w.keep, Notice: func(line string) {
		mu.Lock()
		defer mu.Unlock()
		w.notices = append(w.notices, line)
		if w.notice != nil {
			w.notice(line)
		}
	}}
	f, err = runfolder.Open(runDir, o)
	if err == nil {
		c, skipped, err := f.Newest()
		w.skipped, w.after = skipped, c.Step
		switch {
		case errors.Is(err, runfolder.ErrNoCheckpoint):
			return f, 1, nil
		case err != nil:
			return nil, 0, errors.Join(err, f.Close())
		}
		x, err = graph.Float(c.Arrays["x"])
		return f, x, err
	}
	if !errors.Is(err, runfolder.ErrNoRun) && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	if f, err = runfolder.Create(runDir, o); err != nil {
		return nil, 0, err
	}
	if err := f.Write("config.toml", []byte(config)); err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, 1, nil
}

// run goes to the last step. The first error ends it.
func (w *walk) run() error {
	f, x, err := w.start()
	if err != nil {
		return err
	}
	err = w.work(f, x)
	w.lost = f.Lost()
	return errors.Join(err, f.Close())
}

func (w *walk) work(f *runfolder.Folder, x float64) (err error) {
	l, err := f.NewLogger("step", w.after, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	const every = 5 // steps between checkpoints
	for step := w.after + 1; step <= lastStep; step++ {
		if w.atStep != nil {
			w.atStep(step)
		}
		x = x*1.25 + 1/float64(step)
		l.Log(runfolder.Row{Step: step, Time: time.Unix(1000+step, 0),
			Metrics: []runfolder.Value{{Name: "x", Number: x}, {Name: "nothing", Number: math.NaN()}},
			Timings: []runfolder.Value{{Name: "seconds", Number: .5}}})
		if step%every != 0 {
			continue
		}
		state := map[string]*graph.Array{"x": graph.Float64s([]float64{x}),
			"half": graph.Of([]float32{float32(x), .5, float32(step)})}
		if err := f.WriteArrays("best.safetensors", state, nil); err != nil {
			return err
		}
		if _, err := f.SaveCheckpoint(runfolder.Checkpoint{Step: step, Kind: "walk", Format: 1, Config: config,
			Info: map[string]string{"count": strconv.FormatInt(7*step, 10)}, Arrays: state}); err != nil {
			return err
		}
	}
	return nil
}

// result is what a finished run left that depends on the config alone.
func result(t *testing.T, disk *disktest.Memory) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"config.toml", "metrics.jsonl", "timings.jsonl", "best.safetensors",
		"checkpoints/000030.safetensors", "checkpoints/000025.safetensors", "checkpoints/000020.safetensors"} {
		data, err := disk.ReadFile(path.Join(runDir, name))
		if !errors.Is(err, fs.ErrNotExist) {
			require.NoError(t, err)
			out[name] = string(data)
		}
	}
	return out
}

// requireSame compares results and names the files that differ.
func requireSame(t *testing.T, want, got map[string]string, format string, args ...any) {
	t.Helper()
	var differ []string
	for name := range want {
		if got[name] != want[name] {
			differ = append(differ, fmt.Sprintf("%s: %d bytes, want %d", name, len(got[name]), len(want[name])))
		}
	}
	require.Empty(t, differ, append([]any{format}, args...)...)
}

// newDisk is a disk in memory with the folder that runs are in.
func newDisk(t *testing.T) *disktest.Memory {
	m := disktest.NewMemory()
	require.NoError(t, m.Mkdir(path.Dir(runDir)))
	require.NoError(t, m.SyncDir("/"))
	return m
}

// undisturbed is the result of a run that nothing happened to.
func undisturbed(t *testing.T) map[string]string {
	t.Helper()
	disk := newDisk(t)
	require.NoError(t, (&walk{disk: disk}).run())
	want := result(t, disk)
	require.Len(t, want, 7)
	return want
}

// copyOf is a disk of the same content.
func copyOf(m *disktest.Memory) *disktest.Memory {
	return m.PowerCut(func(n int) int { return n - 1 })
}

var errKilled = errors.New("the process is dead")

// cut is the disk of a run that was killed when it was about to take a step, and to write its row.
func cut(t *testing.T, before int64) *disktest.Memory {
	t.Helper()
	disk := newDisk(t)
	var dead atomic.Bool
	w := &walk{disk: &disktest.Faulty{Disk: disk, Fail: func(disktest.Call) error {
		if dead.Load() {
			return errKilled
		}
		return nil
	}}}
	w.atStep = func(step int64) {
		if step == before {
			dead.Store(true)
		}
	}
	require.ErrorIs(t, w.run(), errKilled)
	disk = copyOf(disk)
	want := undisturbed(t)
	for _, name := range []string{"metrics.jsonl", "timings.jsonl"} { // how far these had got is chance
		n := nthLine([]byte(want[name]), int(before)-1)
		require.NoError(t, disk.WriteFile(path.Join(runDir, name), []byte(want[name][:n+10])))
	}
	return disk
}

// nthLine is the length of the first n lines.
func nthLine(text []byte, n int) int {
	at := 0
	for range n {
		at += bytes.IndexByte(text[at:], '\n') + 1
	}
	return at
}

// Each call of the disk fails in turn, in a run from its beginning and in one that goes on: the run says so, or
// succeeds all the same, and a run that goes on from what is left ends with the bytes of one that nothing happened to.
func TestEveryCallFails(t *testing.T) {
	want := undisturbed(t)
	empty, killed := newDisk(t), cut(t, 18)
	for _, begin := range []struct {
		name string
		disk *disktest.Memory
	}{{"begun", empty}, {"resumed", killed}} {
		count := &disktest.Faulty{Disk: copyOf(begin.disk)}
		require.NoError(t, (&walk{disk: count}).run())
		calls := len(count.Calls())
		require.Greater(t, calls, 150)
		for _, c := range []struct {
			name  string
			fail  func(n int) func(disktest.Call) error
			cause error
		}{
			{"once", func(n int) func(disktest.Call) error { return disktest.FailAt(n, syscall.EIO) }, syscall.EIO},
			{"full", func(n int) func(disktest.Call) error {
				return disktest.FailAt(n, syscall.ENOSPC)
			}, syscall.ENOSPC},
			{"broken", func(n int) func(disktest.Call) error { return disktest.FailFrom(n, syscall.EIO) }, syscall.EIO},
			{"killed", func(n int) func(disktest.Call) error { return disktest.FailFrom(n, errKilled) }, errKilled},
		} {
			t.Run(begin.name+" "+c.name, func(t *testing.T) {
				failed := 0
				for n := 1; n <= calls; n++ {
					disk := copyOf(begin.disk)
					w := &walk{disk: &disktest.Faulty{Disk: disk, Fail: c.fail(n)}}
					if err := w.run(); err != nil {
						failed++
						require.ErrorIs(t, err, c.cause, "call %d", n)
					} else {
						requireSame(t, want, result(t, disk), "call %d", n)
					}
					next := &walk{disk: disk}
					require.NoError(t, next.run(), "after call %d failed", n)
					requireSame(t, want, result(t, disk), "after call %d failed", n)
				}
				require.Positive(t, failed)
			})
		}
	}
}
