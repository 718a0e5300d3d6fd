package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run/runfolder"
)

// mirrorEvery is the least time between two copies of a run's folder to its mirror. Tests change it.
var mirrorEvery = time.Minute

// mirror is the mirror of a run, which --mirror names.
type mirror struct {
	app   *App
	to    string // as it was given
	store mirrorStore
	w     runfolder.Writer

	saved  chan struct{} // has an element after a checkpoint
	over   chan struct{} // closed when the run is over
	done   chan struct{} // closed when follow has returned
	ahead  bool          // the last copy failed
	refuse error         // why the run must not go on
}

// mirrorStore is what a run does with its mirror.
type mirrorStore interface {
	index(ctx context.Context) (runfolder.Index, error)
	fetch(ctx context.Context, dir string) error
	copy(ctx context.Context, dir string, w runfolder.Writer) error
}

// localMirror is a mirror in a folder.
type localMirror struct{ runfolder.Local }

func (m localMirror) index(ctx context.Context) (runfolder.Index, error) {
	return runfolder.ReadIndex(ctx, m.Local)
}
func (m localMirror) fetch(ctx context.Context, dir string) error {
	return runfolder.Fetch(ctx, m.Local, dir)
}
func (m localMirror) copy(ctx context.Context, dir string, w runfolder.Writer) error {
	return w.Copy(ctx, dir, m.Local)
}

// bucketMirror is a mirror in a bucket. The program of studies reads and writes it: this one links no client of S3.
type bucketMirror struct {
	app         *App
	program, at string
}

func (m bucketMirror) index(ctx context.Context) (x runfolder.Index, err error) {
	text, err := m.do(ctx, m.at)
	if err == nil {
		err = json.Unmarshal(text, &x)
	}
	return x, err
}
func (m bucketMirror) fetch(ctx context.Context, dir string) error {
	_, err := m.do(ctx, m.at, dir)
	return err
}
func (m bucketMirror) copy(ctx context.Context, dir string, w runfolder.Writer) error {
	_, err := m.do(ctx, dir, m.at, "--run", w.Run, "--holder", w.Holder, "--after", w.After)
	return err
}

// do runs the command copy, and returns its line of JSON.
func (m bucketMirror) do(ctx context.Context, args ...string) ([]byte, error) {
	text, err := m.app.output(ctx, m.program, append([]string{"copy", "--json"}, args...)...)
	if f := (console.Failure{}); err != nil && json.Unmarshal(text, &f) == nil && f.Error != "" {
		_, message, _ := strings.Cut(f.Message, " copy: ") // after the name of the program
		err = codedError{errors.New(strings.TrimPrefix(message, m.at+": ")), f.Error}
	}
	return text, err
}

// codedError is an error with a code of console.
type codedError struct {
	error
	code string
}

func (e codedError) Unwrap() error     { return e.error }
func (e codedError) ErrorCode() string { return e.code }

// refused reports whether a mirror is that of another process.
func refused(err error) bool {
	coded, ok := errors.AsType[console.Coded](err)
	return ok && coded.ErrorCode() == console.CodeRefused
}

// openMirror opens the mirror that --mirror names, and brings the folder of a run that goes on up to it if that is
// newer. It returns lines about that. nil: there is no mirror.
func (a *App) openMirror(ctx context.Context, o ownFlags) (m *mirror, notices []string, err error) {
	if o.mirror == "" {
		return nil, nil, nil
	}
	dir, auto := o.resume, o.resume == resumeAuto
	if dir == "" || auto {
		dir = o.out
	}
	if o.out == "none" {
		return nil, nil, console.BadInput("--mirror got %s, wants a folder of the run beside it: --out none writes "+
			"no files", o.mirror)
	}
	m = &mirror{app: a, to: o.mirror, saved: make(chan struct{}, 1), over: make(chan struct{}),
		done: make(chan struct{})}
	if m.store, err = a.mirrorAt(o.mirror, dir); err != nil {
		return nil, nil, err
	}
	x, err := m.store.index(ctx)
	if err != nil {
		return nil, nil, codedError{fmt.Errorf("the mirror %s cannot be read: %w", m.to, err), console.CodeNoServer}
	}
	m.w = runfolder.Writer{Run: rand.Text(), Holder: rand.Text(), After: x.Holder}
	newest, has := newestCheckpoint(dir)
	step, holds := x.Step()
	switch {
	case !holds:
		return m, nil, nil
	case !has && o.resume == "":
		return nil, nil, console.BadInput("--mirror %s: it holds a run already: continue it by --out FOLDER --resume "+
			"auto, or name another mirror", m.to)
	case has && runfolder.RunOf(dir) != x.Run:
		return nil, nil, console.BadInput("--mirror %s: it is the mirror of another run than that in %s: name another "+
			"mirror", m.to, dir)
	case has && newest > step:
		notices = []string{fmt.Sprintf("%s is newer (step %d) than its mirror %s (step %d): the run goes on from the "+
			"folder", dir, newest, m.to, step)}
	case has && newest == step:
	default:
		if err := m.store.fetch(ctx, dir); err != nil {
			return nil, nil, codedError{fmt.Errorf("the mirror %s cannot be copied to %s: %w", m.to, dir, err),
				console.CodeNoServer}
		}
		text := fmt.Sprintf("step %d was copied from the mirror %s", step, m.to)
		if has {
			text += fmt.Sprintf(", which is newer than %s (step %d)", dir, newest)
		}
		notices = []string{text}
	}
	return m, notices, nil
}

// newestCheckpoint returns the step of the newest checkpoint in a folder that can be used; false without one.
func newestCheckpoint(dir string) (step int64, ok bool) {
	if dir == "" {
		return 0, false
	}
	folder, err := runfolder.Read(dir, runfolder.Options{})
	if err != nil {
		return 0, false
	}
	defer func() { _ = folder.Close() }()
	c, _, err := folder.Newest()
	return c.Step, err == nil
}

// mirrorAt returns the mirror at a URL or in a folder, for the run in dir.
func (a *App) mirrorAt(at, dir string) (mirrorStore, error) {
	u, err := url.Parse(at)
	scheme := ""
	if err == nil {
		scheme = u.Scheme
	}
	switch {
	case scheme == "s3" && u.Host != "":
		program, err := a.programOf("copy", studyProgram)
		if errors.As(err, new(console.UsageError)) {
			err = console.BadInput("--mirror %s: %w", at, err)
		}
		return bucketMirror{a, program, at}, err
	case scheme == "file" && u.Host == "" && u.Path != "":
		at = u.Path
	case strings.Contains(at, "://"):
		return nil, console.BadInput("--mirror got %s, wants a folder, file:///FOLDER or s3://BUCKET/PREFIX", at)
	}
	of, err := filepath.Abs(dir)
	if err == nil {
		at, err = filepath.Abs(at)
	}
	if err == nil && dir != "" && (at == of || strings.HasPrefix(at, of+string(filepath.Separator))) {
		err = console.BadInput("--mirror got %s, which is in the folder of the run: name another folder", at)
	}
	return localMirror{runfolder.Local(at)}, err
}

// follow copies the folder after its checkpoints, at most every mirrorEvery. If that fails it says so once, and tries
// again. It calls stop if the run must not go on.
func (m *mirror) follow(ctx context.Context, folder *runfolder.Folder, notice func(string), stop func()) {
	defer close(m.done)
	for {
		select {
		case <-m.saved:
		case <-m.over:
			return
		}
		for failed := true; failed; {
			err := m.store.copy(ctx, folder.Dir(), m.w)
			failed = err != nil
			switch {
			case ctx.Err() != nil:
				return
			case refused(err):
				m.refuse = err
				stop()
				return
			case failed && !m.ahead:
				notice(fmt.Sprintf("the mirror %s cannot be written: %v; the run goes on, and tries again every %v",
					m.to, err, mirrorEvery))
			case !failed && m.ahead:
				notice(fmt.Sprintf("the mirror %s is up to date again", m.to))
			}
			m.ahead = failed
			select {
			case <-time.After(mirrorEvery):
			case <-m.over:
				return
			}
		}
	}
}

// save says that there is a new checkpoint.
func (m *mirror) save() {
	select {
	case m.saved <- struct{}{}:
	default:
	}
}

// end copies what is left of a run in dir that has ended. After the end of ctx it takes less than the grace. The error
// says what the mirror lacks.
func (m *mirror) end(ctx context.Context, dir string) error {
	over, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() {
		grace := console.GraceOf(ctx)
		time.AfterFunc(grace-min(grace/8, time.Second), cancel)
	})
	close(m.over)
	<-m.done
	err := m.refuse
	if err == nil {
		err = runfolder.Before(over, func() error { return m.store.copy(over, dir, m.w) },
			func() error { return errors.New("there was no time left") })
	}
	switch {
	case err == nil:
		return nil
	case refused(err):
		return codedError{fmt.Errorf("the run in %s has ended, as the mirror %s is not its own any more: %w", dir, m.to,
			err), console.CodeRefused}
	}
	return codedError{fmt.Errorf("the mirror %s is behind the run in %s: %w; the same command copies what it lacks",
		m.to, dir, err), console.CodeNoServer}
}
