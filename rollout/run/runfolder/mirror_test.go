package runfolder_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/graph"
	"xlarun/internal/ramdisk"
	"xlarun/rollout/run/runfolder"
)

func init() { ramdisk.Use() }

// mirrored is a run of a folder that keeps one checkpoint.
type mirrored struct {
	*runfolder.Folder
	logger *runfolder.Logger
}

func newMirrored(t *testing.T) *mirrored {
	f, err := runfolder.Create(filepath.Join(t.TempDir(), "run"), runfolder.Options{Keep: 1})
	require.NoError(t, err)
	require.NoError(t, f.Write("config.toml", []byte(config)))
	l, err := f.NewLogger("step", 0, 0)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(l.Close(), f.Close())) })
	return &mirrored{f, l}
}

// save does a step: a row, a member, the state.
func (m *mirrored) save(t *testing.T, step int64) {
	m.logger.Log(runfolder.Row{Step: step, Metrics: []runfolder.Value{{Name: "x", Number: float64(step)}}})
	require.NoError(t, m.Write("best", []byte(strconv.FormatInt(step, 10))))
	_, err := m.SaveCheckpoint(runfolder.Checkpoint{Step: step, Kind: "walk", Config: config,
		Arrays: map[string]*graph.Array{"x": graph.Of(step)}})
	require.NoError(t, err)
}

// goesOn fetches a mirror, and returns the step from which a run goes on there. Its rows and members are no older.
func goesOn(t *testing.T, from runfolder.Store) int64 {
	dir := filepath.Join(t.TempDir(), "there")
	require.NoError(t, runfolder.Fetch(t.Context(), from, dir))
	f, err := runfolder.Open(dir, runfolder.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	c, skipped, err := f.Newest()
	require.NoError(t, err)
	require.Empty(t, skipped)
	l, err := f.NewLogger("step", c.Step, 0)
	require.NoError(t, err)
	require.NoError(t, l.Close())
	best, err := f.ReadFile("best")
	require.NoError(t, err)
	of, err := strconv.ParseInt(string(best), 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, of, c.Step)
	return c.Step
}

func runOf(t *testing.T, dir string) string {
	run, err := runfolder.RunOf(dir)
	require.NoError(t, err)
	return run
}

// killedStore is a store whose process is killed after so many calls.
type killedStore struct {
	runfolder.Local
	calls *int
	put   func() // called before Put; nil: it is not
}

// at is where the store is; after the kill, nowhere.
func (c killedStore) at() runfolder.Local {
	if *c.calls--; *c.calls < 0 {
		return os.DevNull
	}
	return c.Local
}

func (c killedStore) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	return c.at().Get(ctx, name)
}

func (c killedStore) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	if c.put != nil {
		c.put()
	}
	return c.at().Put(ctx, name, from, size)
}

func (c killedStore) Remove(ctx context.Context, name string) error { return c.at().Remove(ctx, name) }

// A copy is killed before each of its calls in turn. The mirror has the state of the copy before it, or the new one,
// and a run goes on from there. The next copy brings it up to date.
func TestMirrorOfKilledCopies(t *testing.T) {
	m := newMirrored(t)
	var after []string // the folder after each step
	for step := range int64(3) {
		m.save(t, step+1)
		after = append(after, filepath.Join(t.TempDir(), "run"))
		require.NoError(t, os.CopyFS(after[step], os.DirFS(m.Dir())))
	}
	w := runfolder.Writer{Run: "a", Holder: "1"}
	for kill := 0; ; kill++ {
		calls, whole := kill, int64(0)
		to := killedStore{Local: runfolder.Local(t.TempDir()), calls: &calls}
		for _, dir := range after {
			if err := w.Copy(t.Context(), dir, to); err != nil {
				require.ErrorIs(t, err, syscall.ENOTDIR)
				break
			}
			whole++
		}
		x, err := runfolder.ReadIndex(t.Context(), to.Local)
		require.NoError(t, err)
		if _, holds := x.Step(); holds {
			step := goesOn(t, to.Local)
			require.GreaterOrEqual(t, step, whole, "killed before call %d", kill)
			require.LessOrEqual(t, step, whole+1)
		} else {
			require.Zero(t, whole)
		}
		require.NoError(t, w.Copy(t.Context(), after[2], to.Local))
		require.EqualValues(t, 3, goesOn(t, to.Local))
		if whole == 3 {
			require.Greater(t, kill, 15)
			break
		}
	}
}

// A fetch is killed before each of its calls in turn, and leaves no folder: there was one without a checkpoint. The
// next fetch goes on with what is there.
func TestFetchesThatAreKilled(t *testing.T) {
	m := newMirrored(t)
	m.save(t, 1)
	require.NoError(t, filepath.WalkDir(m.Dir(), func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) // not just now
	}))
	mirror := runfolder.Local(t.TempDir())
	require.NoError(t, runfolder.Writer{Run: "a", Holder: "1"}.Copy(t.Context(), m.Dir(), mirror))
	fetch := func(dir string, most int) (calls int, err error) {
		calls = most
		err = runfolder.Fetch(t.Context(), killedStore{Local: mirror, calls: &calls}, dir)
		return most - calls, err
	}
	whole, err := fetch(filepath.Join(t.TempDir(), "whole"), 1000)
	require.NoError(t, err)
	const indexes = 2 // each fetch reads the index twice
	require.Greater(t, whole, 3+indexes)
	for kill := range whole {
		dir := filepath.Join(t.TempDir(), "runs", "there") + "/"
		_, err := fetch(dir, kill)
		require.ErrorIs(t, err, syscall.ENOTDIR)
		require.NoDirExists(t, dir)
		again, err := fetch(dir, 1000)
		require.NoError(t, err)
		require.Equal(t, whole-max(kill-indexes, 0), again, "files are not fetched again")
		left, err := os.ReadDir(filepath.Dir(filepath.Clean(dir)))
		require.NoError(t, err)
		require.Len(t, left, 1)
	}
	dir := filepath.Join(t.TempDir(), "none")
	require.ErrorContains(t, runfolder.Fetch(t.Context(), runfolder.Local(t.TempDir()), dir), "it holds no run")
	left, err := os.ReadDir(filepath.Dir(dir))
	require.NoError(t, err)
	require.Empty(t, left)
}

// While a folder is copied its run goes on, and removes the checkpoint that was the newest.
func TestMirrorOfRunUnderWay(t *testing.T) {
	m := newMirrored(t)
	m.save(t, 1)
	calls, step := 1000, int64(1)
	to := killedStore{Local: runfolder.Local(t.TempDir()), calls: &calls, put: func() {
		step++
		m.save(t, step)
	}}
	w := runfolder.Writer{Run: "a", Holder: "1"}
	require.NoError(t, w.Copy(t.Context(), m.Dir(), to))
	require.EqualValues(t, 1, goesOn(t, to.Local))
	require.Greater(t, step, int64(4))

	to.put = nil
	require.NoError(t, w.Copy(t.Context(), m.Dir(), to))
	require.Equal(t, step, goesOn(t, to.Local))
	left, err := os.ReadDir(filepath.Join(string(to.Local), "checkpoints"))
	require.NoError(t, err)
	require.Len(t, left, 1, "older ones are removed")

	require.NoError(t, filepath.WalkDir(m.Dir(), func(path string, _ os.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) // not just now
	}))
	calls = 1000
	require.NoError(t, w.Copy(t.Context(), m.Dir(), to))
	calls = 1 // to read the index: nothing has changed
	require.NoError(t, w.Copy(t.Context(), m.Dir(), to))
}

// A mirror has one writer: a run that goes on elsewhere takes it, and the one before it and other runs are refused.
func TestMirrorHasOneWriter(t *testing.T) {
	m := newMirrored(t)
	to := runfolder.Local(t.TempDir())
	first := runfolder.Writer{Run: "a", Holder: "1"}
	require.NoError(t, first.Copy(t.Context(), m.Dir(), to))
	x, err := runfolder.ReadIndex(t.Context(), to)
	require.NoError(t, err)
	require.Zero(t, x, "a folder without a checkpoint is not copied")
	m.save(t, 1)
	require.NoError(t, first.Copy(t.Context(), m.Dir(), to))
	require.Equal(t, "a", runOf(t, m.Dir()))

	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, runfolder.Fetch(t.Context(), to, there))
	require.Equal(t, "a", runOf(t, there))
	second := runfolder.Writer{Run: "a", Holder: "2", After: "1"}
	require.NoError(t, second.Copy(t.Context(), there, to))
	m.save(t, 2)
	for _, w := range []runfolder.Writer{first, {Holder: "3"}, {Holder: "3", After: "1"}} {
		err := w.Copy(t.Context(), m.Dir(), to)
		require.ErrorAs(t, err, new(*runfolder.TakenError), "%v", w)
	}
	other := newMirrored(t)
	other.save(t, 1)
	for _, w := range []runfolder.Writer{{Run: "b", Holder: "2"}, {Run: "b", Holder: "3", After: "2"}} {
		err := w.Copy(t.Context(), other.Dir(), to)
		require.ErrorAs(t, err, new(*runfolder.TakenError), "%v", w)
	}
	require.Equal(t, "b", runOf(t, other.Dir()))

	// Processes that copy one folder at a time agree which run it is of.
	same, done := newMirrored(t), make(chan error)
	same.save(t, 1)
	mirrors := t.TempDir()
	at := func(id int) runfolder.Local { return runfolder.Local(filepath.Join(mirrors, strconv.Itoa(id))) }
	for id := range 4 {
		go func() {
			w := runfolder.Writer{Run: strconv.Itoa(id), Holder: "5"}
			done <- w.Copy(t.Context(), same.Dir(), at(id))
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	for id := range 4 {
		x, err := runfolder.ReadIndex(t.Context(), at(id))
		require.NoError(t, err)
		require.Equal(t, runOf(t, same.Dir()), x.Run)
		require.NotEmpty(t, x.Run)
	}
	require.EqualValues(t, 1, goesOn(t, to))

	// The fetched folder is locked while it is written.
	require.ErrorIs(t, runfolder.Fetch(t.Context(), to, m.Dir()), runfolder.ErrLocked)
}

// A mirror replaces a folder only if that is an older one of its run. At the same step it adds what is missing.
func TestMirrorOfNewerFolder(t *testing.T) {
	m := newMirrored(t)
	m.save(t, 1)
	to := runfolder.Local(t.TempDir())
	require.NoError(t, runfolder.Writer{Run: "a", Holder: "1"}.Copy(t.Context(), m.Dir(), to))
	folder := func(id string) string {
		dir := filepath.Join(t.TempDir(), "there")
		require.NoError(t, os.CopyFS(dir, os.DirFS(m.Dir())))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "metrics.jsonl"), []byte("more"), 0o644))
		require.NoError(t, os.Remove(filepath.Join(dir, "best")))
		require.NoError(t, os.Remove(filepath.Join(dir, "mirror.json")))
		if id != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "mirror.json"), []byte(id), 0o644))
		}
		return dir
	}
	same := folder(`{"run": "a"}`)
	require.NoError(t, runfolder.Fetch(t.Context(), to, same))
	require.FileExists(t, filepath.Join(same, "best"))
	m.save(t, 2)
	damaged := folder(`{"run": "a"}`)
	require.NoError(t, os.WriteFile(filepath.Join(damaged, "checkpoints", "000002.safetensors"), nil, 0o644))
	require.NoError(t, runfolder.Fetch(t.Context(), to, damaged), "its checkpoint cannot be used")

	bare := filepath.Join(t.TempDir(), "bare")
	require.NoError(t, os.Mkdir(bare, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bare, "mirror.json"), []byte(`{"run": "b"}`), 0o644))
	const other, broken = "is the mirror of another run than that in", "its mirror.json is damaged"
	for _, c := range []struct{ dir, says string }{
		{folder(`{"run": "a"}`), "is newer (step 2) than its mirror (step 1)"},
		{folder(`{"run": "b"}`), other}, {folder(""), other}, {bare, other},
		{folder(`{"ru`), broken}, {folder(`{}`), broken},
	} {
		err := runfolder.Fetch(t.Context(), to, c.dir)
		if c.says == other {
			require.ErrorAs(t, err, new(*runfolder.TakenError))
		} else {
			require.ErrorAs(t, err, new(*runfolder.FolderError))
		}
		require.ErrorContains(t, err, c.says)
		require.NoFileExists(t, filepath.Join(c.dir, "best"))
		if c.dir == bare {
			continue
		}
		text, err := os.ReadFile(filepath.Join(c.dir, "metrics.jsonl"))
		require.NoError(t, err)
		require.Equal(t, "more", string(text))
	}
	text, err := os.ReadFile(filepath.Join(same, "metrics.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "more", string(text))

	// A damaged index of either is no other run's, and no index without a run is written.
	empty := runfolder.Local(t.TempDir())
	for _, text := range []string{"", "{", "{}"} {
		err := runfolder.Writer{Run: "c", Holder: "1"}.Copy(t.Context(), folder(text+" "), empty)
		require.ErrorContains(t, err, "copy that of its mirror there, or remove it and name a new mirror")
		require.NoFileExists(t, filepath.Join(string(empty), "mirror.json"))
		require.NoError(t, to.Put(t.Context(), "mirror.json", strings.NewReader(text), -1))
		_, err = runfolder.ReadIndex(t.Context(), to)
		require.ErrorContains(t, err, "its mirror.json is damaged (")
		require.ErrorContains(t, err, "): remove it; if the run's folder is lost, first copy the other files")
	}
}

// An index cannot name files outside of a run's folder.
func TestMirrorOfOtherFiles(t *testing.T) {
	to := runfolder.Local(t.TempDir())
	for _, name := range []string{"../x", "/x", "a/../../x", ".lock", "a/.b", "mirror.json", ""} {
		text := fmt.Sprintf(`{"run": "a", "files": {"checkpoints/000001.safetensors": {}, %q: {}}}`, name)
		require.NoError(t, to.Put(t.Context(), "mirror.json", strings.NewReader(text), -1))
		err := runfolder.Fetch(t.Context(), to, filepath.Join(t.TempDir(), "run"))
		require.ErrorContains(t, err, fmt.Sprintf("names the file %q, which no run has", name))
	}
}

// A file of which a part was written is not there.
func TestLocalPut(t *testing.T) {
	to := runfolder.Local(t.TempDir())
	require.NoError(t, to.Put(t.Context(), "a/b", strings.NewReader("old"), 3))
	half := io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(io.ErrUnexpectedEOF))
	require.ErrorIs(t, to.Put(t.Context(), "a/b", half, 3), io.ErrUnexpectedEOF)
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, to.Put(ended, "a/b", strings.NewReader("new"), 3), context.Canceled)
	text, err := os.ReadFile(filepath.Join(string(to), "a", "b"))
	require.NoError(t, err)
	require.Equal(t, "old", string(text))
	left, err := os.ReadDir(filepath.Join(string(to), "a"))
	require.NoError(t, err)
	require.Len(t, left, 1)
}
