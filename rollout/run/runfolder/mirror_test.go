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

// killedStore is a store whose process is killed after so many calls.
type killedStore struct {
	runfolder.Local
	calls *int
	put   func(name string) // called before Put; nil: it is not
}

var errCut = errors.New("killed")

func (c killedStore) live() error {
	if *c.calls--; *c.calls < 0 {
		return errCut
	}
	return nil
}

func (c killedStore) Get(ctx context.Context, name string) (io.ReadCloser, error) {
	if err := c.live(); err != nil {
		return nil, err
	}
	return c.Local.Get(ctx, name)
}

func (c killedStore) Put(ctx context.Context, name string, from io.Reader, size int64) error {
	if c.put != nil {
		c.put(name)
	}
	if err := c.live(); err != nil {
		return err
	}
	return c.Local.Put(ctx, name, from, size)
}

func (c killedStore) Remove(ctx context.Context, name string) error {
	if err := c.live(); err != nil {
		return err
	}
	return c.Local.Remove(ctx, name)
}

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
				require.ErrorIs(t, err, errCut)
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

// While a folder is copied its run goes on, and removes the checkpoint that was the newest.
func TestMirrorOfRunUnderWay(t *testing.T) {
	m := newMirrored(t)
	m.save(t, 1)
	calls, step := 1000, int64(1)
	to := killedStore{Local: runfolder.Local(t.TempDir()), calls: &calls, put: func(string) {
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
	require.Equal(t, "a", runfolder.RunOf(m.Dir()))

	there := filepath.Join(t.TempDir(), "there")
	require.NoError(t, runfolder.Fetch(t.Context(), to, there))
	require.Equal(t, "a", runfolder.RunOf(there))
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
	require.Equal(t, "b", runfolder.RunOf(other.Dir()))

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
		require.Equal(t, runfolder.RunOf(same.Dir()), x.Run)
		require.NotEmpty(t, x.Run)
	}
	require.EqualValues(t, 1, goesOn(t, to))

	// The fetched folder is locked while it is written.
	require.ErrorIs(t, runfolder.Fetch(t.Context(), to, m.Dir()), runfolder.ErrLocked)
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
	half := io.MultiReader(strings.NewReader("ne"), iotest.ErrReader(errCut))
	require.ErrorIs(t, to.Put(t.Context(), "a/b", half, 3), errCut)
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
