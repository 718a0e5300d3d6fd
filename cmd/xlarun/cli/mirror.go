package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	to    string // as it was given
	store mirrorStore
	w     runfolder.Writer

	saved  chan struct{} // has an element after a checkpoint
	over   chan struct{} // closed when the run is over
	done   chan struct{} // closed when follow has returned
	failed bool          // the last copy failed
	refuse error         // why the run must not go on
}

// mirrorStore is what a run does with its mirror.
type mirrorStore struct {
	index func(ctx context.Context) (runfolder.Index, error)
	fetch func(ctx context.Context, dir string) error
	copy  func(ctx context.Context, dir string, w runfolder.Writer) error
}

func localMirror(at runfolder.Local) mirrorStore {
	return mirrorStore{
		func(ctx context.Context) (runfolder.Index, error) {
			x, err := runfolder.ReadIndex(ctx, at)
			if err == nil {
				err = at.TryPut()
			}
			return x, err
		},
		func(ctx context.Context, dir string) error { return runfolder.Fetch(ctx, at, dir) },
		func(ctx context.Context, dir string, w runfolder.Writer) error { return w.Copy(ctx, dir, at) },
	}
}

// bucketMirror is a mirror in a bucket. The command copy of another program reads and writes it: this one links no
// client of S3.
func (a *App) bucketMirror(program, at string) mirrorStore {
	do := func(ctx context.Context, args ...string) (x runfolder.Index, err error) {
		text, err := a.output(ctx, program, append([]string{"copy", "--json"}, args...)...)
		if f := (console.Failure{}); err != nil && json.Unmarshal(text, &f) == nil && f.Error != "" {
			_, message, _ := strings.Cut(f.Message, " copy: ") // after the name of the program
			err = console.WithCode(f.Error, "%s", strings.TrimPrefix(message, at+": "))
		}
		if err == nil {
			err = json.Unmarshal(text, &x)
		}
		return x, err
	}
	return mirrorStore{
		func(ctx context.Context) (runfolder.Index, error) { return do(ctx, at) },
		func(ctx context.Context, dir string) error {
			_, err := do(ctx, at, dir)
			return err
		},
		func(ctx context.Context, dir string, w runfolder.Writer) error {
			_, err := do(ctx, dir, at, "--run", w.Run, "--holder", w.Holder, "--after", w.After,
				fmt.Sprint("--ended=", w.Ended))
			return err
		},
	}
}

// refused reports whether the mirror is another run's, or another process writes it.
func refused(err error) bool {
	coded, ok := errors.AsType[console.Coded](err)
	return ok && coded.ErrorCode() == console.CodeRefused
}

// openMirror opens the mirror of --mirror; nil without the flag. If the mirror is newer than the folder of a run that
// is resumed, it is copied there after check, which learns whether the folder has a run. notices say so.
func (a *App) openMirror(ctx context.Context, o ownFlags, check func(has bool) error) (m *mirror, notices []string,
	err error) {
	if o.mirror == "" {
		return nil, nil, nil
	}
	dir := o.resume
	if dir == "" || dir == resumeAuto {
		dir = o.out
	}
	if o.out == "none" {
		return nil, nil, console.BadInput("--mirror got %s, wants a folder of the run beside it: --out none writes "+
			"no files", o.mirror)
	}
	m = &mirror{to: o.mirror, saved: make(chan struct{}, 1), over: make(chan struct{}), done: make(chan struct{})}
	if m.store, err = a.mirrorAt(o.mirror, dir); err != nil {
		return nil, nil, err
	}
	x, err := m.store.index(ctx)
	if err != nil {
		if _, ok := errors.AsType[console.Coded](err); !ok {
			err = console.WithCode(console.CodeNoServer, "it cannot be used: %w", err)
		}
		return nil, nil, fmt.Errorf("--mirror %s: %w", m.to, err)
	}
	m.w = runfolder.Writer{Run: rand.Text(), Holder: rand.Text(), After: x.Holder}
	step, holds := x.Step()
	if holds && o.resume == "" {
		return nil, nil, console.BadInput("--mirror %s: it holds a run already: continue it by --out FOLDER --resume "+
			"auto, or name another mirror", m.to)
	}
	if dir == "" {
		return m, nil, nil
	}
	if holds && !x.Ended {
		notices = []string{fmt.Sprintf("the process that wrote the mirror %s was killed, or still works: then it will "+
			"end, as the run goes on here", m.to)}
	}
	newest, has, err := x.Newest(dir)
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("--mirror %s: %w", m.to, err)
	case !holds || has && newest == step:
		return m, notices, nil
	case has && newest > step:
		return m, append([]string{fmt.Sprintf("%s is newer (step %d) than its mirror %s (step %d): the run goes on "+
			"from the folder", dir, newest, m.to, step)}, notices...), nil
	}
	if err := check(has); err != nil {
		return nil, nil, err
	}
	if err := m.store.fetch(ctx, dir); err != nil {
		return nil, nil, console.WithCode(console.CodeNoServer, "the mirror %s cannot be copied to %s: %w", m.to, dir,
			err)
	}
	text := fmt.Sprintf("step %d was copied from the mirror %s", step, m.to)
	if has {
		text += fmt.Sprintf(", which is newer than %s (step %d)", dir, newest)
	}
	return m, append([]string{text}, notices...), nil
}

// mirrorAt returns the mirror at a URL or in a folder, for the run in dir.
func (a *App) mirrorAt(at, dir string) (m mirrorStore, err error) {
	if u, err := url.Parse(at); err == nil && u.Scheme != "" {
		switch {
		case strings.HasPrefix(at, "s3://") && u.Host != "":
			program, err := a.programOf("copy", "--mirror "+at)
			return a.bucketMirror(program, at), err
		case u.Scheme == "file" && u.Host == "" && u.Path != "":
			at = u.Path
		default:
			return m, console.BadInput("--mirror got %s, wants a folder, file:///FOLDER or s3://BUCKET/PREFIX", at)
		}
	}
	of, err := realPath(dir)
	if err == nil {
		at, err = realPath(at)
	}
	if err == nil && dir != "" && (at == of || strings.HasPrefix(at, of+string(filepath.Separator))) {
		err = console.BadInput("--mirror got %s, which is in the folder of the run: name another folder", at)
	}
	return localMirror(runfolder.Local(at)), err
}

// realPath returns an absolute path, without symbolic links as far as it exists.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) && path != filepath.Dir(path) {
		real, err = realPath(filepath.Dir(path))
		real = filepath.Join(real, filepath.Base(path))
	}
	return real, err
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
		for again := true; again; again = m.failed {
			err := m.store.copy(ctx, folder.Dir(), m.w)
			switch {
			case ctx.Err() != nil:
				return
			case refused(err):
				m.refuse = err
				stop()
				return
			case err != nil && !m.failed:
				notice(fmt.Sprintf("the mirror %s cannot be written: %v; the run goes on, and tries again every %v",
					m.to, err, mirrorEvery))
			case err == nil && m.failed:
				notice(fmt.Sprintf("the mirror %s is up to date again", m.to))
			}
			m.failed = err != nil
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
	if m.refuse != nil {
		return console.WithCode(console.CodeRefused, "the run in %s has ended, as the mirror %s is not its own any "+
			"more: %w", dir, m.to, m.refuse)
	}
	m.w.Ended = true
	err := runfolder.Before(over, func() error { return m.store.copy(over, dir, m.w) },
		func() error { return errors.New("there was no time left") })
	if err == nil {
		return nil
	}
	if refused(err) {
		return console.WithCode(console.CodeRefused, "the mirror %s lacks the end of the run in %s, as it is not its "+
			"own any more: %w", m.to, dir, err)
	}
	return console.WithCode(console.CodeNoServer, "the mirror %s is behind the run in %s: %w; --resume %s --mirror %s "+
		"copies what it lacks", m.to, dir, err, dir, m.to)
}
