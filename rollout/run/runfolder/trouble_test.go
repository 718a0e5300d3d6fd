package runfolder_test

import (
	"bytes"
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/graph/safetensors"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/runfolder/disktest"
)

// notes collects notices.
type notes struct {
	mu    sync.Mutex
	lines []string
	told  chan string
}

func newNotes() *notes { return &notes{told: make(chan string, 100)} }

func (n *notes) add(line string) {
	n.mu.Lock()
	n.lines = append(n.lines, line)
	n.mu.Unlock()
	n.told <- line
}

// The disk has room for n bytes, and more only when the user was told: for every n the run ends as if nothing had been.
func TestFullDisk(t *testing.T) {
	want := undisturbed(t)
	for room := int64(len(config)); room < 12_000; room += 97 {
		disk := newDisk(t)
		w := &walk{disk: disk}
		waits := 0
		w.notice = func(line string) {
			switch {
			case strings.HasPrefix(line, "the disk is full: "):
				require.Regexp(
					t, `^the disk is full: /runs/walk/\S+ wants [1-9]\d* bytes; the run waits until there is room$`,
					line)
				waits++
				disk.SetRoom(0)
			default:
				require.Regexp(t, `^there is room on the disk again: /runs/walk/\S+ is written$`, line)
				waits--
			}
		}
		disk.SetRoom(room)
		require.NoError(t, w.run(), "room for %d bytes", room)
		requireSame(t, want, result(t, disk), "room for %d bytes", room)
		require.Zero(t, waits, "one line when it waits, one when it goes on")
		require.LessOrEqual(t, len(w.notices), 4, "the logs and a checkpoint may wait one after the other")
		if room == int64(len(config)) {
			require.NotEmpty(t, w.notices)
		}
	}
}

// The message has the bytes that a file wants, although the disk took nothing.
func TestFullDiskTellsTheBytesWanted(t *testing.T) {
	disk, n := newDisk(t), newNotes()
	f, err := runfolder.Create(runDir, runfolder.Options{Disk: disk, Notice: n.add})
	require.NoError(t, err)
	disk.SetRoom(10)
	done := make(chan error, 1)
	go func() { done <- f.WriteArrays("best.safetensors", graph.Of(make([]float32, 1000)), nil) }()
	line := <-n.told
	disk.SetRoom(0)
	require.NoError(t, <-done)
	data, err := disk.ReadFile(runDir + "/best.safetensors")
	require.NoError(t, err)
	require.Equal(t, "the disk is full: /runs/walk/best.safetensors wants "+strconv.Itoa(len(data))+
		" bytes; the run waits until there is room", line)
	require.NoError(t, f.Close())
}

// An interrupted run does not wait for room: what waits, and what comes, fails with a sentence; nothing is
// half-written.
func TestStopWaiting(t *testing.T) {
	disk, n := newDisk(t), newNotes()
	f, err := runfolder.Create(runDir, runfolder.Options{Disk: disk, Notice: n.add})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", []byte(config)))
	l, err := f.NewLogger("step", 0, 0)
	require.NoError(t, err)
	disk.SetRoom(1)
	done := make(chan error, 1)
	go func() { done <- f.Write("picture", make([]byte, 1000)) }()
	require.Equal(t, "the disk is full: /runs/walk/picture wants 1000 bytes; the run waits until there is room",
		<-n.told)
	f.StopWaiting()
	err = <-done
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.EqualError(t, err, "/runs/walk/picture cannot be written: it wants 1000 bytes, and the disk is full: no "+
		"space left on device")
	l.Log(runfolder.Row{Step: 1})
	_, err = f.SaveCheckpoint(runfolder.Checkpoint{Step: 1, Arrays: map[string]*graph.Array{"x": graph.Of(1.)}})
	require.ErrorContains(t, err, "the checkpoint of step 1: ")
	require.ErrorContains(t, err, "and the disk is full: no space left on device")
	require.ErrorContains(t, l.Close(), "the run's logs in /runs/walk cannot be written: it wants ")
	require.NoError(t, f.Close())
	root, err := disk.OpenRoot(runDir)
	require.NoError(t, err)
	entries, err := root.ReadDir(".")
	require.NoError(t, err)
	for _, e := range entries {
		require.NotContains(t, []string{"picture", ".xlarun-unfinished"}, e.Name())
	}
}

// While the disk does not answer, Log returns, the message has the folder's path, and closing gives up in time; when it
// answers, all rows are written.
func TestStalledDisk(t *testing.T) {
	memory := newDisk(t)
	var stalled atomic.Bool
	reached, answer := make(chan struct{}, 1000), make(chan struct{})
	disk := &disktest.Faulty{Disk: memory, Fail: func(c disktest.Call) error {
		if stalled.Load() {
			select {
			case reached <- struct{}{}:
			default:
			}
			<-answer
		}
		return nil
	}}
	f, err := runfolder.Create(runDir, runfolder.Options{Disk: disk})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", []byte(config)))
	l, err := f.NewLogger("step", 0, 0)
	require.NoError(t, err)
	stalled.Store(true)
	const rows = 10_000
	for step := int64(1); step <= rows; step++ {
		l.Log(runfolder.Row{Step: step, Metrics: []runfolder.Value{{Name: "x", Number: 1}}})
	}
	<-reached
	require.Equal(t, runDir, f.Dir())
	saved := make(chan error, 1)
	go func() {
		_, err := f.SaveCheckpoint(runfolder.Checkpoint{Step: rows, Arrays: map[string]*graph.Array{"x": graph.Of(1.)}})
		saved <- err
	}()
	soon := func() context.Context {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		t.Cleanup(cancel)
		return ctx
	}
	require.EqualError(t, l.CloseBefore(soon()), "the disk of /runs/walk does not answer: the last rows of its logs "+
		"may be missing")
	require.EqualError(t, f.CloseBefore(soon()), "the disk of /runs/walk does not answer: a file that is being "+
		"written may be missing, or the old one")
	stalled.Store(false)
	close(answer)
	require.NoError(t, l.Close())
	if err := <-saved; err != nil {
		require.ErrorContains(t, err, "the folder is closed")
	}
	require.NoError(t, f.Close())
	text, err := memory.ReadFile(runDir + "/metrics.jsonl")
	require.NoError(t, err)
	kept := 0
	for step := int64(1); step <= rows; step++ {
		if runfolder.Kept(step) {
			kept++
		}
	}
	require.Equal(t, kept, strings.Count(string(text), "\n"))
}

// realRun is a run under way on the real disk, with its logger.
func realRun(t *testing.T, dir string) (*runfolder.Folder, *runfolder.Logger, *notes) {
	t.Helper()
	n := newNotes()
	f, err := runfolder.Create(dir, runfolder.Options{Notice: n.add})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", []byte(config)))
	l, err := f.NewLogger("step", 0, 0)
	require.NoError(t, err)
	l.Log(runfolder.Row{Step: 1})
	save(t, f, 1)
	return f, l, n
}

func save(t *testing.T, f *runfolder.Folder, step int64) {
	t.Helper()
	_, err := f.SaveCheckpoint(runfolder.Checkpoint{Step: step, Arrays: map[string]*graph.Array{
		"x": graph.Of(float64(step))}})
	require.NoError(t, err)
}

// A folder that is moved is written to where it is.
func TestMovedFolder(t *testing.T) {
	base := t.TempDir()
	f, l, n := realRun(t, filepath.Join(base, "run"))
	moved := filepath.Join(base, "elsewhere")
	require.NoError(t, os.Rename(filepath.Join(base, "run"), moved))
	require.Equal(t, moved, f.Dir())
	l.Log(runfolder.Row{Step: 2})
	save(t, f, 2)
	require.NoError(t, l.Close())
	require.NoError(t, f.Lost())
	require.NoError(t, f.Close())
	require.Equal(t, moved, f.Dir(), "after the end too")
	require.Equal(t, []string{"the run's folder was moved: new files are written to " + moved}, n.lines)
	require.NoDirExists(t, filepath.Join(base, "run"))
	text, err := os.ReadFile(filepath.Join(moved, "metrics.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "{\"step\":1}\n{\"step\":2}\n", string(text))
	require.FileExists(t, filepath.Join(moved, "checkpoints", "000002.safetensors"))
}

// A folder that is removed is made again; the run can go on from it, and what is gone is said.
func TestRemovedFolder(t *testing.T) {
	for i, c := range []struct {
		what    string
		trouble func(t *testing.T, dir string)
		in      string // the folder made again
		notice  string
		lost    string
	}{
		{"with its parent", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(filepath.Dir(dir)))
		}, "", "the run's folder was removed: ", "checkpoints/000001.safetensors"},
		{"alone", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
		}, "", "the run's folder was removed: ", "checkpoints/000001.safetensors"},
		{"another has its name now", func(t *testing.T, dir string) {
			require.NoError(t, os.RemoveAll(dir))
			require.NoError(t, os.Mkdir(dir, 0o755))
		}, "-2", "the run's folder was removed: ", "checkpoints/000001.safetensors"},
		{"what was in it", func(t *testing.T, dir string) {
			for _, name := range []string{"config.toml", "metrics.jsonl", "timings.jsonl", "checkpoints"} {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			}
		}, "", "files in the run's folder ", "checkpoints/000001.safetensors"},
		{"a log", func(t *testing.T, dir string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "metrics.jsonl")))
		}, "", "", ""},
		{"moved, and then removed", func(t *testing.T, dir string) {
			require.NoError(t, os.Rename(dir, dir+"x"))
			require.NoError(t, os.RemoveAll(dir+"x"))
		}, "", "the run's folder was removed: ", "checkpoints/000001.safetensors"},
	} {
		base := t.TempDir()
		dir := filepath.Join(base, "runs", "walk")
		f, l, n := realRun(t, dir)
		require.NoError(t, f.Write("best", []byte("1")))
		c.trouble(t, dir)
		l.Log(runfolder.Row{Step: 2})
		save(t, f, 2)
		require.NoError(t, f.Write("best", []byte("2")))
		require.NoError(t, l.Close(), "%d: %s", i+1, c.what)
		lost := f.Lost()
		if c.lost == "" {
			require.NoError(t, lost)
			require.Empty(t, n.lines)
		} else {
			require.EqualError(t, lost, "the run's folder "+dir+
				", or what was in it, was removed while the run worked: "+c.lost+" cannot be recovered", "%d: %s", i+1,
				c.what)
			require.Len(t, n.lines, 1, "%d: %s", i+1, c.what)
			require.True(t, strings.HasPrefix(n.lines[0], c.notice), n.lines[0])
		}
		require.NoError(t, f.Close())
		require.Equal(t, dir+c.in, f.Dir())
		text, err := os.ReadFile(filepath.Join(dir+c.in, "metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, "{\"step\":1}\n{\"step\":2}\n", string(text), "%d: %s", i+1, c.what)
		// The run goes on from there.
		f, err = runfolder.Open(dir+c.in, runfolder.Options{})
		require.NoError(t, err)
		at, _, err := f.Newest()
		require.NoError(t, err)
		require.EqualValues(t, 2, at.Step)
		l, err = f.NewLogger("step", at.Step, 0)
		require.NoError(t, err)
		require.NoError(t, l.Close())
		require.NoError(t, f.Close())
	}
}

// The folder is removed before each call of the disk in turn. Whatever the moment, the run ends well, says so, and one
// that goes on from what it left ends with the same bytes.
func TestFolderIsRemovedAtAnyCall(t *testing.T) {
	want := undisturbed(t)
	count := &disktest.Faulty{Disk: newDisk(t)}
	require.NoError(t, (&walk{disk: count}).run())
	opened := 0
	for n, c := range count.Calls() {
		if c.Op == "File.WriteAt" && path.Base(c.Name) == "metrics.jsonl" && opened == 0 {
			opened = n // from here on the run is under way
		}
	}
	for n := opened; n < len(count.Calls()); n++ {
		disk := newDisk(t)
		var removed, looked atomic.Bool
		w := &walk{disk: &disktest.Faulty{Disk: disk, Fail: func(c disktest.Call) error {
			if c.Op == "Gone" && removed.Load() {
				looked.Store(true)
			}
			if c.N >= n && removed.CompareAndSwap(false, true) {
				return disk.RemoveAll(runDir)
			}
			return nil
		}}}
		require.NoError(t, w.run(), "call %d", n)
		if !looked.Load() {
			continue // it was removed when the run had seen to it that all is there
		}
		got := result(t, disk)
		if len(got) < len(want) { // what was kept then, and would be still
			require.Error(t, w.lost, "call %d", n)
		} else {
			require.NoError(t, w.lost, "call %d", n)
			requireSame(t, want, got, "call %d", n)
		}
		for _, name := range []string{"config.toml", "metrics.jsonl", "timings.jsonl"} {
			require.Equal(t, want[name], got[name], "call %d: %s", n, name)
		}
		next := &walk{disk: disk}
		require.NoError(t, next.run(), "call %d", n)
		final := "checkpoints/000030.safetensors"
		require.Equal(t, want[final], result(t, disk)[final], "call %d", n)
	}
}

// One process writes to a run; others read it.
func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	f, l, _ := realRun(t, dir)
	_, err := runfolder.Open(dir, runfolder.Options{})
	require.ErrorIs(t, err, runfolder.ErrLocked)
	require.EqualError(t, err, "another process is writing to it: wait until that has ended, or stop it")
	reader, err := runfolder.Read(dir, runfolder.Options{})
	require.NoError(t, err)
	c, _, err := reader.Newest()
	require.NoError(t, err)
	require.EqualValues(t, 1, c.Step)
	require.NoError(t, reader.Close())
	require.NoError(t, l.Close())
	require.NoError(t, f.Close())
	f, err = runfolder.Open(dir, runfolder.Options{})
	require.NoError(t, err)
	require.NoError(t, f.Close())

	empty := t.TempDir() // made, not begun
	f, err = runfolder.Create(empty, runfolder.Options{})
	require.NoError(t, err)
	_, err = runfolder.Create(empty, runfolder.Options{})
	require.ErrorIs(t, err, runfolder.ErrLocked)
	require.DirExists(t, empty)
	f.Abandon()
}

// Reading makes, changes and locks nothing.
func TestRead(t *testing.T) {
	disk := newDisk(t)
	require.NoError(t, (&walk{disk: disk}).run())
	faulty := &disktest.Faulty{Disk: disk, Fail: func(c disktest.Call) error {
		switch c.Op {
		case "OpenRoot", "Open", "ReadDir", "Stat", "File.Stat", "File.ReadAt", "File.Close", "Close":
			return nil
		}
		return syscall.EROFS
	}}
	f, err := runfolder.Read(runDir, runfolder.Options{Disk: faulty})
	require.NoError(t, err)
	c, skipped, err := f.Newest()
	require.NoError(t, err)
	require.Empty(t, skipped)
	require.Equal(t, runfolder.Checkpoint{Step: 30, Kind: "walk", Format: 1, Config: config, Info: map[string]string{
		"count": "210"}, Arrays: c.Arrays}, c)
	text, err := f.ReadFile("config.toml")
	require.NoError(t, err)
	require.Equal(t, config, string(text))
	text, err = f.ReadFile("best.safetensors")
	require.NoError(t, err)
	best, err := safetensors.New(bytes.NewReader(text), int64(len(text)))
	require.NoError(t, err)
	require.Equal(t, []string{"digest"}, slices.Collect(maps.Keys(best.Metadata())))
	array, err := best.Array("x")
	require.NoError(t, err)
	x, err := graph.Float(array)
	require.NoError(t, err)
	same, err := graph.Float(c.Arrays["x"])
	require.NoError(t, err)
	require.Equal(t, same, x)
	require.EqualError(t, f.Write("x", nil), "/runs/walk/x cannot be written: the folder was opened for reading")
	_, err = f.NewLogger("step", 0, 0)
	require.ErrorContains(t, err, "the folder was opened for reading")
	_, err = f.SaveCheckpoint(c)
	require.ErrorContains(t, err, "the folder was opened for reading")
	require.NoError(t, f.Lost())
	require.NoError(t, f.Close())
}

func TestOpenRefuses(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	fifo := filepath.Join(base, "fifo")
	require.NoError(t, os.Mkdir(fifo, 0o755))
	require.NoError(t, syscall.Mkfifo(filepath.Join(fifo, "config.toml"), 0o644))
	dir := filepath.Join(base, "dir")
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "config.toml"), 0o755))
	outside := filepath.Join(base, "outside")
	require.NoError(t, os.Mkdir(outside, 0o755))
	require.NoError(t, os.Symlink(file, filepath.Join(outside, "config.toml")))
	for i, c := range []struct{ dir, want string }{
		{filepath.Join(base, "none"), "no such file or directory"},
		{file, "not a directory"},
		{t.TempDir(), "it holds no run: there is no config.toml in it"},
		{fifo, "it is not a regular file"},
		{dir, "it is not a regular file"},
		{outside, "path escapes from parent"},
		{"", "no such file or directory"},
	} {
		for _, open := range []func(string, runfolder.Options) (*runfolder.Folder, error){
			runfolder.Open, runfolder.Read} {
			_, err := open(c.dir, runfolder.Options{})
			require.EqualError(t, err, c.want, "%d", i+1)
		}
	}
}

// A user's share of the disk that is used up is like a full disk, here at one of 20 calls that take room.
func TestQuota(t *testing.T) {
	memory := newDisk(t)
	var begun bool
	random := rand.New(rand.NewPCG(5, 6))
	var mu sync.Mutex
	w := &walk{disk: &disktest.Faulty{Disk: memory, Fail: func(c disktest.Call) error {
		mu.Lock()
		defer mu.Unlock()
		switch c.Op {
		case "File.WriteAt", "File.Sync", "Rename", "Create", "Mkdir":
			if begun = begun || path.Base(c.Name) == "metrics.jsonl"; begun && random.IntN(20) == 0 {
				return syscall.EDQUOT
			}
		}
		return nil
	}}}
	require.NoError(t, w.run())
	require.Greater(t, len(w.notices), 5)
	requireSame(t, undisturbed(t), result(t, memory), "quota")
}

// An interrupt may save a state that is older than the last rows: the run goes on from that, its rows are cut off
// there.
func TestCheckpointBehindTheLogs(t *testing.T) {
	disk := newDisk(t)
	f, err := runfolder.Create(runDir, runfolder.Options{Disk: disk})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", []byte(config)))
	l, err := f.NewLogger("step", 0, 0)
	require.NoError(t, err)
	for step := int64(3); step <= 30; step += 3 { // a run that has a row after every third step
		l.Log(runfolder.Row{Step: step, Round: step / 3})
	}
	save(t, f, 20)
	require.NoError(t, l.Close())
	require.NoError(t, f.Close())
	f, err = runfolder.Open(runDir, runfolder.Options{Disk: disk})
	require.NoError(t, err)
	l, err = f.NewLogger("step", 20, 0)
	require.NoError(t, err)
	l.Log(runfolder.Row{Step: 21, Round: 7})
	save(t, f, 21) // rows that are there are counted with those that were added
	require.NoError(t, l.Close())
	require.NoError(t, f.Close())
	text, err := disk.ReadFile(runDir + "/metrics.jsonl")
	require.NoError(t, err)
	require.Equal(
		t, "{\"step\":3}\n{\"step\":6}\n{\"step\":9}\n{\"step\":12}\n{\"step\":15}\n{\"step\":18}\n{\"step\":21}\n",
		string(text))
	f, err = runfolder.Open(runDir, runfolder.Options{Disk: disk})
	require.NoError(t, err)
	l, err = f.NewLogger("step", 21, 0)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoError(t, f.Close())
}

func TestNewLoggerWantsItsCheckpoint(t *testing.T) {
	f, err := runfolder.Open(runDir, runfolder.Options{Disk: cut(t, 18)})
	require.NoError(t, err)
	_, err = f.NewLogger("step", 12, 0)
	require.EqualError(t, err, "the logs in /runs/walk cannot be opened: there is no checkpoint of step 12 to go "+
		"on from")
	require.NoError(t, f.Close())
}

func TestInfoMayNotHideWhatACheckpointHas(t *testing.T) {
	f, err := runfolder.Create(runDir, runfolder.Options{Disk: newDisk(t)})
	require.NoError(t, err)
	for _, key := range []string{"format", "version", "kind", "kind_format", "step", "config", "rows", "checksum"} {
		_, err = f.SaveCheckpoint(runfolder.Checkpoint{Step: 1, Info: map[string]string{key: "x"}})
		require.EqualError(t, err, "the checkpoint of step 1: its Info has the key \""+key+
			"\", which the checkpoint has itself: rename it")
	}
	_, err = f.SaveCheckpoint(runfolder.Checkpoint{Step: -1})
	require.EqualError(t, err, "the checkpoint of step -1: a step is 0 or more")
	require.NoError(t, f.Close())
}

// One file that was removed while the run worked is missed at its end; a checkpoint may be removed by anybody.
func TestRemovedFileIsMissed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "walk")
	f, l, _ := realRun(t, dir)
	save(t, f, 2)
	require.NoError(t, f.Write("best.gif", []byte("1")))
	require.NoError(t, os.Remove(filepath.Join(dir, "best.gif")))
	require.NoError(t, os.Remove(filepath.Join(dir, "checkpoints", "000001.safetensors")))
	require.NoError(t, l.Close())
	require.ErrorContains(t, f.Lost(), "was removed while the run worked: best.gif cannot be recovered")
	require.NoError(t, f.Close())
}
