package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"xlarun/internal/long"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/runfolder/disktest"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
)

// counting is a kind of run that only counts, as often and as fast as a test wants. It is not registered: the command
// line of other tests does not know it.
type counting struct {
	run.Common
	Steps int `set:"steps" min:"1" max:"1000000000" help:"steps"`

	step func(n int64) error // called before each step
	at   int64
}

func countingKind(step func(n int64) error) run.Kind {
	return run.Kind{Name: "counting", Version: 3, Unit: "step", Round: "step", New: func() run.Experiment {
		return &counting{Steps: 12, step: step}
	}}
}

func (c *counting) Job() *run.Job {
	return &run.Job{Title: "counting", Last: int64(c.Steps), Board: func() []run.DisplayRow { return nil },
		Start: func(context.Context, xlabridge.Backend) (run.Run, error) { return c, nil },
		Setup: "ten figures", Purpose: "counting"}
}
func (c *counting) Describe() *run.Capabilities { return &run.Capabilities{Files: c.Files} }
func (c *counting) Profile() run.Profile {
	return run.Profile{Devices: 1, Cache: cache.Off}
}
func (c *counting) Close() error                                      { return nil }
func (c *counting) Restore(ctx context.Context, s run.Snapshot) error { c.at = s.Step; return nil }
func (c *counting) Files(run.Snapshot, bool) ([]run.File, error) {
	return []run.File{{Name: "sum.json", JSON: c.at * (c.at + 1) / 2}}, nil
}
func (c *counting) Snapshot(ctx context.Context) (run.Snapshot, error) {
	return run.Snapshot{Step: c.at, Arrays: map[string]*graph.Array{"at": graph.Of(int32(c.at)),
		"rest": graph.Of(make([]float32, 64))}}, nil
}

func (c *counting) Step(context.Context) (run.Metrics, error) {
	if c.step != nil {
		if err := c.step(c.at + 1); err != nil {
			return run.Metrics{}, err
		}
	}
	c.at++
	m := run.Metrics{Step: c.at, Work: 1}
	for i := range 10 {
		m.Values = append(m.Values, run.Value{Name: "figure_" + strconv.Itoa(i), Number: math.Sin(float64(c.at)) *
			math.Pow(10, float64(i))})
	}
	return m, nil
}

// count runs, or goes on with, a counting run on a disk, and gives the status and what was said.
type count struct {
	disk   runfolder.Disk
	out    string // its folder
	resume string
	args   map[string]string
	step   func(n int64) error
	ctx    context.Context
	stdout *buffer
	writer interface{ Write([]byte) (int, error) } // instead of stdout
}

func (c *count) run(t *testing.T) error {
	t.Helper()
	if c.ctx == nil {
		c.ctx = context.Background()
	}
	c.stdout = &buffer{}
	a := &App{Streams: Streams{In: strings.NewReader(""), Out: c.stdout, Err: c.stdout}, disk: c.disk, now: time.Now,
		OpenBackend: func(context.Context, console.BackendFlags, console.Listener) (xlabridge.Backend, error) {
			return &xlabridge.Reference{}, nil
		}}
	if c.writer != nil {
		a.Out = c.writer
	}
	values := map[string]string{"checkpoint-every": "3"}
	for name, text := range c.args {
		values[name] = text
	}
	task, err := (&flagValues{values: values}).resolve(countingKind(c.step), "", nil)
	require.NoError(t, err)
	flags := &console.LogFlags{}
	flags.Add(pflag.NewFlagSet("", pflag.ContinueOnError))
	s, err := a.newScreen(flags)
	require.NoError(t, err)
	return a.runTask(c.ctx, task, ownFlags{out: c.out, resume: c.resume}, nil, s)
}

// left is what of a run must not differ, by name. The checkpoint before the last may be missing: a run goes on if it
// cannot write one.
func left(t *testing.T, disk *disktest.Memory, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{"config.toml", "metrics.jsonl", "sum.json", "checkpoints/000009.safetensors",
		"checkpoints/000012.safetensors"} {
		text, err := disk.ReadFile(dir + "/" + name)
		if name == "checkpoints/000009.safetensors" && err != nil {
			continue
		}
		require.NoError(t, err, name)
		files[name] = string(text)
	}
	return files
}

// requireLeft holds what a run left after a call of the disk failed against what a run without failures left.
func requireLeft(t *testing.T, want, got map[string]string, at int) {
	t.Helper()
	for name, text := range got {
		require.Equal(t, want[name], text, "%s after call %d", name, at)
	}
}

func memoryDisk(t *testing.T) *disktest.Memory {
	t.Helper()
	disk := disktest.NewMemory()
	require.NoError(t, disk.Mkdir("/runs"))
	return disk
}

// Each call of the disk fails in turn, once, for ever or every so often: the command ends with a sentence, or well, and
// a run that goes on from what is left ends as one that nothing happened to. In the short form a call fails in one of
// these ways.
func TestCommandOnAFailingDisk(t *testing.T) {
	whole := memoryDisk(t)
	calls := &disktest.Faulty{Disk: whole}
	require.NoError(t, (&count{disk: calls, out: "/runs/a"}).run(t))
	want, n := left(t, whole, "/runs/a"), len(calls.Calls())
	require.Greater(t, n, 100)
	for _, c := range []struct {
		number int
		what   string
		fail   func(n int) func(disktest.Call) error
	}{
		{1, "once", func(n int) func(disktest.Call) error { return disktest.FailAt(n, syscall.EIO) }},
		{2, "from then on", func(n int) func(disktest.Call) error { return disktest.FailFrom(n, syscall.EIO) }},
		{3, "every so often", func(n int) func(disktest.Call) error {
			return func(c disktest.Call) error {
				if c.N%n == 0 {
					return syscall.EIO
				}
				return nil
			}
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			failed := 0
			first, step := 1, 1
			if !long.On() {
				first, step = c.number, 3
			}
			for at := first; at <= n; at += step {
				disk := memoryDisk(t)
				err := (&count{disk: &disktest.Faulty{Disk: disk, Fail: c.fail(at)}, out: "/runs/a"}).run(t)
				if err != nil {
					failed++
					require.NotEqual(t, StatusInterrupted, console.StatusOf(context.Background(), err), "call %d: %v",
						at, err)
					require.Contains(t, err.Error(), "/runs/a", "call %d", at)
					require.Regexp(t, "input/output error|read-only file system", err.Error(), "call %d", at)
				}
				again := &count{disk: disk, resume: "/runs/a"}
				if err := again.run(t); err != nil {
					require.ErrorAs(t, err, new(console.UsageError), "after call %d", at)
					require.Regexp(t, "start it anew|no such file or directory|holds no run", err.Error(),
						"after call %d", at)
					require.NoError(t, (&count{disk: disk, out: "/runs/b"}).run(t), "after call %d", at)
					requireLeft(t, want, left(t, disk, "/runs/b"), at)
					continue
				}
				requireLeft(t, want, left(t, disk, "/runs/a"), at)
			}
			require.Positive(t, failed)
		})
	}
}

// A disk that fills up lets the run wait, which is said with the file and the bytes, and go on when there is room:
// nothing is lost. An interrupt ends the wait.
func TestCommandOnAFullDisk(t *testing.T) {
	whole := memoryDisk(t)
	require.NoError(t, (&count{disk: whole, out: "/runs/a"}).run(t))
	want := left(t, whole, "/runs/a")
	for room := int64(1); room < 12_000; room += 331 {
		disk := memoryDisk(t)
		disk.SetRoom(room)
		c := &count{disk: disk, out: "/runs/a"}
		waits := make(chan bool, 1)
		w := &watcher{seen: func(line string) {
			if strings.Contains(line, "the disk is full: ") {
				require.Regexp(t, `/runs/a/\S+ wants \d+ bytes; the run waits until there is room`, line)
				disk.SetRoom(0)
				select {
				case waits <- true:
				default:
				}
			}
		}}
		c.writer = w
		require.NoError(t, c.run(t), "room for %d bytes", room)
		require.Equal(t, want, left(t, disk, "/runs/a"), "room for %d bytes", room)
		select {
		case <-waits:
			require.Contains(t, w.String(), "there is room on the disk again")
		default:
			require.Greater(t, room, int64(6000), "the run should have waited")
		}

		// Interrupted while it waits.
		disk = memoryDisk(t)
		disk.SetRoom(room)
		ctx, cancel := context.WithCancel(context.Background())
		c = &count{disk: disk, out: "/runs/a", ctx: ctx, writer: &watcher{seen: func(line string) {
			if strings.Contains(line, "the disk is full: ") {
				cancel()
			}
		}}}
		err := c.run(t)
		full := ctx.Err() != nil
		cancel()
		if !full {
			require.NoError(t, err)
			continue
		}
		require.Equal(t, StatusInterrupted, console.StatusOf(ctx, err), "room for %d bytes: %v", room, err)
		require.ErrorContains(t, err, "and the disk is full: no space left on device", "room for %d bytes", room)
		clauses := strings.Split(err.Error(), "; ")
		slices.Sort(clauses)
		require.Equal(t, slices.Compact(slices.Clone(clauses)), clauses, "each once, in one line")
		require.NotContains(t, err.Error(), "\n")
		disk.SetRoom(0)
		if err := (&count{disk: disk, resume: "/runs/a"}).run(t); err != nil {
			require.Regexp(t, "start it anew|no such file or directory|holds no run", err.Error(), "room for %d bytes",
				room)
			continue
		}
		require.Equal(t, want, left(t, disk, "/runs/a"), "room for %d bytes", room)
	}
}

// watcher is stdout that is looked at line by line.
type watcher struct {
	buffer
	seen func(line string)
}

func (w *watcher) Write(p []byte) (int, error) {
	n, err := w.buffer.Write(p)
	w.seen(string(p))
	return n, err
}

// A disk that does not answer any more, at any call, lets neither the run nor an interrupt of it hang.
func TestInterruptOnAStalledDisk(t *testing.T) {
	t.Parallel() // it waits most of the time
	count1 := &disktest.Faulty{Disk: memoryDisk(t)}
	require.NoError(t, (&count{disk: count1, out: "/runs/a"}).run(t))
	calls := count1.Calls()
	var stalls []int
	for at := 1; at <= len(calls); at += 1 + len(calls)/12 {
		if calls[at-1].Op != "Stat" && at >= 12 { // before the run begins nobody listens yet
			stalls = append(stalls, at)
		}
	}
	// Calls of the run's end: it stalls at first, and is interrupted then. How many calls there are hangs on how rows
	// are written together: a run that ended before the first number gets as far as the next.
	early := len(stalls)
	var reached []int
	for at := len(calls) - 3; at > len(calls)/2; at -= 10 {
		stalls = append(stalls, at)
	}
	for i, at := range stalls {
		late := time.Duration(0)
		var stalled atomic.Bool
		if i >= early {
			late = 50 * time.Millisecond
		}
		disk := memoryDisk(t)
		ctx, cancel := context.WithCancel(context.Background())
		release := make(chan struct{})
		c := &count{disk: &disktest.Faulty{Disk: disk, Fail: func(c disktest.Call) error {
			if c.N >= at {
				stalled.Store(true)
				time.AfterFunc(late, cancel)
				<-release
			}
			return nil
		}}, out: "/runs/a", ctx: ctx, step: func(n int64) error { time.Sleep(time.Millisecond); return nil }}
		err := c.run(t)
		close(release)
		cancel()
		if !stalled.Load() {
			require.NoError(t, err, "call %d", at)
			continue
		}
		require.Equal(t, StatusInterrupted, console.StatusOf(ctx, err), "call %d: %v", at, err)
		require.Regexp(t, "interrupted (before|after|at the end)", err.Error(), "call %d", at)
		if strings.Contains(err.Error(), "what was being written may be missing") {
			require.NotContains(t, err.Error(), "a file that is being written may be missing",
				"that the disk does not answer is said once")
		}
		reached = append(reached, i)
		if i >= early {
			break
		}
	}
	require.Greater(t, len(reached), early/2)
	require.GreaterOrEqual(t, reached[len(reached)-1], early, "no run got as far as the calls of its end")
}

// What a run says at last may be read by nobody: stdout that takes nothing must not keep the state from the disk.
func TestInterruptWhileStdoutIsBlocked(t *testing.T) {
	disk := memoryDisk(t)
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	blocked := &watcher{seen: func(line string) {
		if strings.Contains(line, "step 7:") {
			cancel()
			<-release
		}
	}}
	ended := make(chan error, 1)
	c := &count{disk: disk, out: "/runs/a", ctx: ctx, writer: blocked, args: map[string]string{
		"checkpoint-every": "1h"}}
	go func() { ended <- c.run(t) }()
	<-ctx.Done()
	require.Eventually(t, func() bool {
		_, err := disk.ReadFile("/runs/a/checkpoints/000007.safetensors")
		if err != nil {
			_, err = disk.ReadFile("/runs/a/checkpoints/000001.safetensors")
		}
		rows, _ := disk.ReadFile("/runs/a/metrics.jsonl")
		return err == nil && strings.Count(string(rows), "\n") == 7
	}, time.Minute, time.Millisecond)
	close(release)
	require.ErrorContains(t, <-ended, "interrupted after step 7; the state of step ")
}

// removeAll removes a folder that somebody writes into: what appears meanwhile goes with the next try. It may be called
// in any goroutine.
func removeAll(t *testing.T, dir string) {
	err := os.RemoveAll(dir)
	for range 1000 {
		if err == nil {
			return
		}
		time.Sleep(time.Millisecond)
		err = os.RemoveAll(dir)
	}
	t.Error(err)
}

// Folders that are moved and removed while the run works.
func TestFolderThatDoesNotStay(t *testing.T) {
	t.Parallel() // it waits most of the time
	dir := t.TempDir()
	at := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	require.NoError(t, (&count{out: at("whole")}).run(t))
	want := read(t, at("whole", "metrics.jsonl"))
	slow := func(during int64, f func()) func(int64) error {
		return func(n int64) error {
			if n == during {
				f()
			}
			if n > during {
				time.Sleep(200 * time.Millisecond) // the session looks for the folder every 500 ms
			}
			return nil
		}
	}

	// 1: moved: the run follows, says so, and ends well.
	c := &count{out: at("moved")}
	c.step = slow(5, func() { require.NoError(t, os.Rename(at("moved"), at("there"))) })
	require.NoError(t, c.run(t))
	require.Contains(t, c.stdout.String(), "the run's folder was moved: new files are written to "+at("there"))
	require.Contains(t, c.stdout.String(), "run folder: "+at("there")+"\n")
	require.True(t, strings.HasSuffix(c.stdout.String(), "the run is in "+at("there")+"\n"), c.stdout.String())
	require.NoDirExists(t, at("moved"))
	require.Equal(t, want, read(t, at("there", "metrics.jsonl")))
	require.Equal(t, read(t, at("whole", "checkpoints", "000012.safetensors")),
		read(t, at("there", "checkpoints", "000012.safetensors")))

	// 2: removed: it is made again, with all that the run still has, and nothing that stays is missing.
	c = &count{out: at("removed")}
	c.step = slow(4, func() { removeAll(t, at("removed")) })
	require.NoError(t, c.run(t), "older checkpoints would be gone by now, all else is there")
	require.Contains(t, c.stdout.String(), "the run's folder was removed: ")
	require.Equal(t, want, read(t, at("removed", "metrics.jsonl")))
	require.Equal(t, read(t, at("whole", "checkpoints", "000012.safetensors")),
		read(t, at("removed", "checkpoints", "000012.safetensors")))

	// 3: a file of the user's in it was removed along with a checkpoint that should be there.
	c = &count{out: at("lost")}
	c.step = slow(11, func() { removeAll(t, at("lost")) })
	err := c.run(t)
	require.Equal(t, StatusFailed, console.StatusOf(context.Background(), err))
	require.ErrorContains(t, err, "was removed while the run worked: checkpoints/")
	require.Equal(t, want, read(t, at("lost", "metrics.jsonl")))

	// 4: removed, and something else stands in its place: the run goes on beside it.
	c = &count{out: at("taken")}
	c.step = slow(4, func() {
		removeAll(t, at("taken"))
		require.NoError(t, os.Mkdir(at("taken"), 0o755))
		require.NoError(t, os.WriteFile(at("taken", "mine"), nil, 0o644))
	})
	require.NoError(t, c.run(t))
	require.True(t, strings.HasSuffix(c.stdout.String(), "the run is in "+at("taken-2")+"\n"), c.stdout.String())
	require.Equal(t, want, read(t, at("taken-2", "metrics.jsonl")))

	// 5: a run that is under way is not gone on with by another.
	c = &count{out: at("busy")}
	c.step = func(n int64) error {
		if n == 6 {
			err := (&count{resume: at("busy")}).run(t)
			require.ErrorAs(t, err, new(console.UsageError))
			require.ErrorContains(t, err, "another process is writing to it")
		}
		return nil
	}
	require.NoError(t, c.run(t))
}

// A run of any length leaves a bounded folder behind, and its rows are the same at any pace and any cadence of
// checkpoints.
func TestLongRunsStaySmall(t *testing.T) {
	dir := t.TempDir()
	steps, every := "40000", "5000"
	if long.On() {
		steps, every = "5000000", "20000"
	}
	var rounds atomic.Int64
	a := &count{out: filepath.Join(dir, "a"), args: map[string]string{"steps": steps, "checkpoint-every": "20ms",
		"keep": "2"}}
	a.step = func(int64) error { rounds.Add(1); return nil }
	require.NoError(t, a.run(t))
	require.Equal(t, steps, fmt.Sprint(rounds.Load()))
	b := &count{out: filepath.Join(dir, "b"), args: map[string]string{"steps": steps, "checkpoint-every": every,
		"keep": "5"}}
	b.step = func(n int64) error {
		if n%1000 == 0 {
			time.Sleep(time.Millisecond)
		}
		return nil
	}
	require.NoError(t, b.run(t))
	require.Equal(t, read(t, dir, "a", "metrics.jsonl"), read(t, dir, "b", "metrics.jsonl"),
		"rows are thinned by the step alone")
	size, rows := int64(0), 0
	require.NoError(t, filepath.WalkDir(filepath.Join(dir, "a"), func(path string, d os.DirEntry, err error) error {
		if info, infoErr := d.Info(); infoErr == nil && !d.IsDir() {
			size += info.Size()
		}
		return err
	}))
	rows = strings.Count(read(t, dir, "a", "metrics.jsonl"), "\n")
	most := 0 // rows of the longest run there can be
	for octave, from := 0, int64(1); from > 0; octave, from = octave+1, 2*from {
		if from < 8192 {
			if runfolder.Kept(from) {
				most = 4096
			}
			continue
		}
		most += 512
	}
	require.Less(t, size*int64(most)/int64(rows), int64(50<<20), "%d bytes in %d rows; %d rows at most", size, rows,
		most)
	require.Len(t, checkpoints(t, filepath.Join(dir, "a")), 2)
	require.Len(t, checkpoints(t, filepath.Join(dir, "b")), 5)
}

var errFire = errors.New("the device caught fire")

// An error of the run itself, on a disk that fails too, is what the sentence begins with.
func TestCausesComeFirst(t *testing.T) {
	disk := memoryDisk(t)
	broken := atomic.Bool{}
	c := &count{disk: &disktest.Faulty{Disk: disk, Fail: func(disktest.Call) error {
		if broken.Load() {
			return syscall.EIO
		}
		return nil
	}}, out: "/runs/a", step: func(n int64) error {
		if n == 8 {
			broken.Store(true)
			return errFire
		}
		return nil
	}}
	err := c.run(t)
	require.ErrorIs(t, err, errFire)
	require.True(t, strings.HasPrefix(err.Error(), "step 8: the device caught fire"), err.Error())
	require.ErrorContains(t, err, "input/output error")
}

// Checkpoints come when they were asked for, also by a run that goes on, and as many stay.
func TestCheckpointsAsAsked(t *testing.T) {
	for _, c := range []struct {
		number      int
		every, keep string
		want        string // of steps 1 to 12
		wants       string // the sentence, where the values are refused
	}{
		{1, "5", "3", "1 5 10 12", ""},
		{2, "5", "1000000", "1 5 10 12", ""},
		{3, "12", "9", "1 12", ""},
		{4, "1000000000000", "9", "1 12", ""},
		{5, "1h", "9", "1 12", ""},
		{6, "1", "2", "11 12", ""},
		{7, "1ns", "1", "12", ""},
		{8, "0", "3", "", `"0", wants a time such as 10s or 5m, or a number of generations`},
		{9, "-1", "3", "", `"-1", wants a time`},
		{10, "0s", "3", "", `"0s", wants a time`},
		{11, "1e3", "3", "", `"1e3", wants a time`},
		{12, "", "3", "", `"", wants a time`},
		{13, "often", "3", "", `"often", wants a time`},
		{14, "99999999999999999999", "3", "", `"99999999999999999999", wants a time`},
		{15, "5", "0", "", "0, wants a whole number from 1 to 1000000"},
		{16, "5", "many", "", `"many", wants a whole number`},
	} {
		args := map[string]string{"checkpoint-every": c.every, "keep": c.keep}
		if c.wants != "" {
			_, err := (&flagValues{values: args}).resolve(countingKind(nil), "", nil)
			require.ErrorAs(t, err, new(console.UsageError), "%d", c.number)
			require.ErrorContains(t, err, c.wants, "%d", c.number)
			continue
		}
		dir := t.TempDir()
		require.NoError(t, (&count{out: filepath.Join(dir, "a"), args: args}).run(t))
		steps := func() string {
			var out []string
			for _, name := range checkpoints(t, filepath.Join(dir, "a")) {
				out = append(out, strings.TrimLeft(strings.TrimSuffix(filepath.Base(name), ".safetensors"), "0"))
			}
			if n := must(strconv.Atoi(c.keep)); n == 3 { // the oldest of four is gone
				out = append([]string{"1"}, out...)
			}
			return strings.Join(out, " ")
		}
		require.Equal(t, c.want, steps(), "%d", c.number)
	}

	// 17: a run that goes on writes those that it would have written.
	dir := t.TempDir()
	args := map[string]string{"checkpoint-every": "4", "keep": "9"}
	c := &count{out: filepath.Join(dir, "a"), args: args, step: func(n int64) error {
		if n == 7 {
			return errFire
		}
		return nil
	}}
	require.ErrorIs(t, c.run(t), errFire)
	left := checkpoints(t, filepath.Join(dir, "a"))
	require.NoError(t, (&count{resume: filepath.Join(dir, "a"), args: args}).run(t))
	require.Equal(t, append(left, "000008.safetensors", "000012.safetensors"), checkpoints(t, filepath.Join(dir, "a")))
}
