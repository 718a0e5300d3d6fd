package runfolder

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"xlarun/internal/files"
)

// mirrorName is the file of a mirror that says what is in it, and of a run's folder that says which run it is of.
const mirrorName = "mirror.json"

// Store is where a mirror is. Names are as in the run's folder, with slashes. A file appears whole or not at all.
type Store interface {
	// Get opens a file. The error is fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// Put writes a file of a size in bytes.
	Put(ctx context.Context, name string, from io.Reader, size int64) error
	// Remove removes a file, if it is there.
	Remove(ctx context.Context, name string) error
}

// Index says what a mirror holds. The zero value is that of an empty one.
type Index struct {
	Run    string               `json:"run"`              // the same in all folders that the run was ever in
	Holder string               `json:"holder,omitempty"` // the process that writes the mirror
	Ended  bool                 `json:"ended,omitempty"`  // it wrote the mirror for the last time
	Files  map[string]IndexFile `json:"files,omitempty"`
}

// IndexFile is a file as it was in the run's folder when it was copied.
type IndexFile struct {
	Size int64 `json:"size"` // bytes
	Time int64 `json:"time"` // when it was changed, in ns since 1970; 0: it may have changed while it was copied
}

// Step returns the newest step with a checkpoint; false without one.
func (x Index) Step() (step int64, ok bool) {
	names := x.names()
	if len(names) > 0 {
		step, ok = checkpointStep(names[len(names)-1])
	}
	return step, ok
}

// names returns the files in the order in which they are copied: the checkpoints last, the newest at the end. What is
// copied before a checkpoint is as new as it or newer, as in a folder after a kill.
func (x Index) names() []string {
	return slices.SortedFunc(maps.Keys(x.Files), func(a, b string) int {
		stepA, isA := checkpointStep(a)
		stepB, isB := checkpointStep(b)
		switch {
		case isA && isB:
			return cmp.Compare(stepA, stepB)
		case isA:
			return 1
		case isB:
			return -1
		}
		return cmp.Compare(a, b)
	})
}

// ReadIndex reads what a mirror holds. It refuses the files of a run without an index: the folder of a run, or a mirror
// that has lost it.
func ReadIndex(ctx context.Context, from Store) (Index, error) {
	x, err := readIndex(ctx, from, "remove it; if the run's folder is lost, first copy the other files there")
	if err != nil || x.Run != "" {
		return x, err
	}
	in, err := from.Get(ctx, "config.toml")
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if err == nil {
		err = errors.Join(&FolderError{fmt.Errorf("it has the files of a run and no %s: name another place",
			mirrorName)}, in.Close())
	}
	return x, err
}

// readIndex reads an index. The error of a damaged one ends with what to do.
func readIndex(ctx context.Context, from Store, todo string) (x Index, err error) {
	in, err := from.Get(ctx, mirrorName)
	if errors.Is(err, fs.ErrNotExist) {
		return x, nil
	}
	if errors.Is(err, syscall.ENOTDIR) {
		err = &FolderError{err}
	}
	if err != nil {
		return x, err
	}
	err = json.NewDecoder(in).Decode(&x)
	if err == nil && x.Run == "" {
		err = errors.New("it names no run")
	}
	if err := errors.Join(err, in.Close()); err != nil {
		return x, &FolderError{fmt.Errorf("its %s is damaged (%w): %s", mirrorName, err, todo)}
	}
	for name := range x.Files { // they become paths of this machine
		if !mirrors(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
			return x, &FolderError{fmt.Errorf("its %s names the file %q, which no run has", mirrorName, name)}
		}
	}
	return x, nil
}

// mirrors reports whether a file of a run's folder belongs into its mirror. Files that begin with a dot are locks, or
// are being written.
func mirrors(name string) bool {
	return fs.ValidPath(name) && name != mirrorName && !strings.HasPrefix(path.Base(name), ".")
}

// RunOf returns the Run of the index of a folder's mirror; "" if it never had one.
func RunOf(dir string) (string, error) {
	x, err := readIndex(context.Background(), Local(dir), "copy that of its mirror there, or remove it and name a new "+
		"mirror")
	if err != nil {
		err = &FolderError{fmt.Errorf("the run's folder %s: %w", dir, err)}
	}
	return x.Run, err
}

// mark returns the RunOf of a folder, which becomes run if it has none. Of several processes one succeeds.
func mark(ctx context.Context, dir, run string) (string, error) {
	if id, err := RunOf(dir); id != "" || err != nil {
		return id, err
	}
	name := files.Part + rand.Text()
	if err := putJSON(ctx, Local(dir), name, Index{Run: run}); err != nil {
		return "", err
	}
	part, to := Local(dir).path(name), Local(dir).path(mirrorName)
	err := os.Link(part, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		err = os.Remove(part)
	} else { // its file system has no links
		err = os.Rename(part, to)
	}
	if err != nil {
		return "", err
	}
	return RunOf(dir)
}

// FolderError is the error of a folder that its mirror must not replace, or of a mirror that no copy must replace.
type FolderError struct{ error }

func (e *FolderError) Unwrap() error { return e.error }

// ErrorCode is the error's code in a line of JSON.
func (*FolderError) ErrorCode() string { return "bad_input" }

// Newest returns the newest step in a folder with a checkpoint that can be used; false without one. It refuses a folder
// that has or had checkpoints of another run than the mirror, unless that is empty.
func (x Index) Newest(dir string) (step int64, ok bool, err error) {
	run, err := RunOf(dir)
	if err != nil {
		return 0, false, err
	}
	folder, err := Read(dir, Options{})
	if err == nil {
		var c Checkpoint
		c, _, err = folder.Newest()
		step, ok = c.Step, err == nil
		_ = folder.Close()
	}
	bare := errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrNoRun) || errors.Is(err, ErrNoCheckpoint)
	if x.Run != "" && x.Run != run && (run != "" || !bare) {
		return 0, false, &TakenError{fmt.Sprintf("it is the mirror of another run than that in %s: name another "+
			"mirror", dir)}
	}
	return step, ok, nil
}

// Writer is a process that writes a mirror.
type Writer struct {
	Run    string // of its Index, if the folder does not have one yet
	Holder string // of its Index
	After  string // the holder that it takes the mirror from: the run goes on here
	Ended  bool   // this is its last copy
}

// TakenError is the error of a mirror that is of another run, or that another process writes.
type TakenError struct{ text string }

func (e *TakenError) Error() string { return e.text }

// ErrorCode is the error's code in a line of JSON.
func (e *TakenError) ErrorCode() string { return "refused" }

// index reads what the mirror holds, and refuses it if it is not the writer's.
func (w Writer) index(ctx context.Context, to Store) (Index, error) {
	x, err := ReadIndex(ctx, to)
	switch {
	case err != nil || len(x.Files) == 0: // nobody, or a first copy that was cut
	case x.Run != w.Run:
		err = &TakenError{"it is the mirror of another run: name another mirror"}
	case x.Holder != w.Holder && x.Holder != w.After:
		err = &TakenError{"another process writes it: the run goes on there"}
	}
	return x, err
}

// Copy brings the mirror up to a run's folder: it copies files that are new or have changed, then the index, and
// removes older checkpoints. The run may be under way. A folder without a checkpoint is not copied. A copy that is cut
// leaves what the mirror had, with newer rows and members.
func (w Writer) Copy(ctx context.Context, dir string, to Store) error {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	newest, x, err := listed(root)
	if err != nil || newest == nil {
		return err
	}
	defer func() { _ = newest.Close() }()
	if w.Run, err = mark(ctx, dir, w.Run); err != nil {
		return err
	}
	had, err := w.index(ctx, to)
	if err != nil {
		return err
	}
	x.Run, x.Holder, x.Ended = w.Run, w.Holder, w.Ended
	if had.Run == "" { // a copy that is cut leaves files that belong to this run
		if err := putJSON(ctx, to, mirrorName, Index{Run: w.Run, Holder: w.Holder}); err != nil {
			return err
		}
	}
	names := x.names()
	for i, name := range names {
		file := newest
		if i < len(names)-1 {
			file, err = root.Open(filepath.FromSlash(name))
			if errors.Is(err, fs.ErrNotExist) {
				delete(x.Files, name) // the run removed it since
				continue
			}
			if err != nil {
				return err
			}
		}
		x.Files[name], err = put(ctx, to, name, file, had.Files[name])
		if file != newest {
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return err
		}
	}
	if x.Holder == had.Holder && x.Ended == had.Ended && maps.Equal(x.Files, had.Files) {
		return nil
	}
	if _, err := w.index(ctx, to); err != nil { // copying may have taken long
		return err
	}
	if err := putJSON(ctx, to, mirrorName, x); err != nil {
		return err
	}
	for name := range had.Files {
		if _, stays := x.Files[name]; !stays {
			if err := to.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// listed lists the files of a run's folder, and opens the newest checkpoint, which the run may remove meanwhile; nil:
// there is none. The others are listed after it: they are as new.
func listed(root *os.Root) (newest *os.File, x Index, err error) {
	const tries = 10 // a run that is under way may remove what was just listed
	for range tries {
		x.Files = map[string]IndexFile{}
		entries, err := fs.ReadDir(root.FS(), checkpointDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, x, err
		}
		for _, e := range entries {
			if name := path.Join(checkpointDir, e.Name()); mirrors(name) {
				x.Files[name] = IndexFile{}
			}
		}
		if _, ok := x.Step(); !ok {
			return nil, x, nil
		}
		names := x.names()
		newest, err = root.Open(filepath.FromSlash(names[len(names)-1]))
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, x, err
		}
	}
	if newest == nil {
		return nil, x, errors.New("its checkpoints change while they are read")
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case e.IsDir() && name == checkpointDir:
			return fs.SkipDir
		case e.Type().IsRegular() && mirrors(name):
			x.Files[name] = IndexFile{}
		}
		return nil
	})
	if err != nil {
		return nil, x, errors.Join(err, newest.Close())
	}
	return newest, x, nil
}

// tick is the time in which a file may change twice without another time in its folder.
const tick = 20 * time.Millisecond

// put copies a file unless it is as it was, and returns what the index has of it.
func put(ctx context.Context, to Store, name string, file *os.File, was IndexFile) (IndexFile, error) {
	info, err := file.Stat()
	if err != nil {
		return was, err
	}
	now := IndexFile{info.Size(), info.ModTime().UnixNano()}
	if now == was {
		return was, nil
	}
	if time.Since(info.ModTime()) < tick {
		now.Time = 0
	}
	return now, to.Put(ctx, name, io.NewSectionReader(file, 0, now.Size), now.Size)
}

func putJSON(ctx context.Context, to Store, name string, x Index) error {
	text, err := json.Marshal(x)
	if err != nil {
		return err
	}
	text = append(text, '\n')
	return to.Put(ctx, name, strings.NewReader(string(text)), int64(len(text)))
}

// Fetch brings a run's folder up to its mirror. If there is no folder it appears as a whole: it is under another name,
// beside it, while it is fetched. Fetch refuses a folder that is newer, or of another run. If both have the same step
// it fetches only what is missing: the folder may have more rows. Files that were fetched before it was cut are not
// fetched again.
func Fetch(ctx context.Context, from Store, dir string) error {
	x, err := ReadIndex(ctx, from)
	if _, holds := x.Step(); err == nil && !holds {
		err = errors.New("it holds no run")
	}
	if err != nil {
		return err
	}
	dir = filepath.Clean(dir) // a slash at its end would put the parts into the folder itself
	to := dir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		to = filepath.Join(filepath.Dir(dir), fmt.Sprintf("%s%s-%.4x", files.Part, filepath.Base(dir),
			sha256.Sum256([]byte(x.Run))))
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	root, err := OSDisk().OpenRoot(to)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	if err := root.Lock(); err != nil {
		return err
	}
	const tries = 3 // the mirror may get newer meanwhile, and lose older checkpoints
	for range tries {
		if err = fetch(ctx, from, to); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err == nil && to != dir {
		err = os.Rename(to, dir)
	}
	return err
}

func fetch(ctx context.Context, from Store, dir string) error {
	x, err := ReadIndex(ctx, from)
	if err != nil {
		return err
	}
	step, _ := x.Step()
	newest, has, err := x.Newest(dir)
	if err != nil {
		return err
	}
	if has && newest > step {
		return &FolderError{fmt.Errorf("%s is newer (step %d) than its mirror (step %d): name another folder", dir,
			newest, step)}
	}
	if err := putJSON(ctx, Local(dir), mirrorName, Index{Run: x.Run}); err != nil {
		return err
	}
	for _, name := range x.names() {
		file, at := x.Files[name], filepath.Join(dir, filepath.FromSlash(name))
		info, err := os.Stat(at)
		if err == nil && (has && newest == step || file == IndexFile{info.Size(), info.ModTime().UnixNano()}) {
			continue
		}
		in, err := from.Get(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w; the same command copies the rest", name, err)
		}
		err = Local(dir).Put(ctx, name, in, -1)
		if err := errors.Join(err, in.Close()); err != nil {
			return fmt.Errorf("%s: %w; the same command copies the rest", name, err)
		}
		if file.Time != 0 { // so that it is not copied back
			if err := os.Chtimes(at, time.Time{}, time.Unix(0, file.Time)); err != nil {
				return err
			}
		}
	}
	return nil
}
