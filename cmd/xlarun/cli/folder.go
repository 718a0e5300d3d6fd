package cli

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
)

// unused returns dir, with a number after it if that exists already.
func unused(dir string) string {
	name := dir
	for i := 2; console.Exists(name); i++ {
		name = fmt.Sprintf("%s-%d", dir, i)
	}
	return name
}

// newFolder makes a run's folder: dir, or if that is "" a folder in runs/ whose name ends with title.
func (a *App) newFolder(dir, title string, o runfolder.Options) (*runfolder.Folder, error) {
	if dir == "" {
		dir = unused(filepath.Join("runs", a.now().Format("20060102-150405")+"-"+title))
	}
	folder, err := runfolder.Create(dir, o)
	if errors.Is(err, runfolder.ErrHoldsRun) {
		return nil, console.BadInput("--out %s: %w: continue it by --resume %s, or name another folder", dir, err,
			dir)
	}
	if err != nil {
		return nil, console.BadInput("--out %s cannot be written: %w; name another folder, or --out none for no folder",
			dir, err)
	}
	return folder, nil
}

// reopen opens the folder of a run to resume it, with its newest checkpoint. It returns also why newer checkpoints
// cannot be used.
func (t *task) reopen(dir string, options runfolder.Options) (*runfolder.Folder, *runfolder.Checkpoint, []string,
	error) {
	folder, err := runfolder.Open(dir, options)
	if err != nil {
		return nil, nil, nil, console.BadInput("--resume %s cannot go on: %w", dir, err)
	}
	c, skipped, err := folder.Newest()
	anew := "start it anew with --config " + filepath.Join(dir, "config.toml")
	switch {
	case errors.Is(err, runfolder.ErrNoCheckpoint):
		err = console.BadInput("--resume %s: %w; %s", dir, err, anew)
	case err != nil:
		err = fmt.Errorf("--resume %s: %w; %s", dir, err, anew)
	default:
		if err = t.checkResume(&c, dir); err == nil {
			return folder, &c, skipped, nil
		}
	}
	_ = folder.Close()
	return nil, nil, nil, err
}

// holdsCheckpoint reports whether a folder holds a run with a checkpoint, and whether it holds a run.
func holdsCheckpoint(dir string, options runfolder.Options) (checkpoint, holds bool) {
	folder, err := runfolder.Read(dir, options)
	if err != nil {
		return false, false
	}
	defer func() { _ = folder.Close() }()
	_, _, err = folder.Newest()
	return !errors.Is(err, runfolder.ErrNoCheckpoint), true
}

// checkResume refuses a checkpoint with another version, other settings or a step after the last one. If the run now
// has another goal, it removes InfoDone.
func (t *task) checkResume(c *runfolder.Checkpoint, dir string) error {
	if c.Kind != t.Name || c.Format != t.Version {
		return fmt.Errorf("--resume %s: its state is of version %d of %s, this xlarun (%s) has version %d of %s: go "+
			"on with the xlarun that wrote it (%s)", dir, c.Format, c.Kind,
			console.Version(), t.Version, t.Name, c.Info[session.InfoVersion])
	}
	before := t.atCheckpoint(c.Config)
	if err := t.unchanged(before, c, dir); err != nil {
		return err
	}
	if err := t.checkEnds(before, c, dir); err != nil {
		return err
	}
	if !t.sameGoal(before) {
		delete(c.Info, session.InfoDone)
	}
	return nil
}

// atCheckpoint returns the task with the settings in the config of a checkpoint; nil if this program cannot read them.
func (t *task) atCheckpoint(config string) *task {
	if config == t.text {
		return t
	}
	file, err := parseConfig("the checkpoint's config", []byte(config))
	if err != nil {
		return nil
	}
	before, err := t.flags.unstored(t.Kind).resolve(t.Kind, "", file)
	if err != nil {
		return nil
	}
	return before
}

// unchanged refuses settings that differ from those in the checkpoint: the user may have edited the run's config.
func (t *task) unchanged(before *task, c *runfolder.Checkpoint, dir string) error {
	if before == nil {
		return nil
	}
	was, now := before.all(), t.all()
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if x, ok := now[name]; !ok || was[name].Text() != x.Text() && !before.mayChange(x) {
			got := "no " + name
			if ok {
				got = name + " " + x.Text()
			}
			return console.BadInput("--resume %s: its config.toml has %s, but the run was at %s in %s %d, as its "+
				"checkpoint says: put that back, or start another run with --config %s", dir, got,
				was[name].Text(), t.Unit, c.Step, filepath.Join(dir, "config.toml"))
		}
	}
	return nil
}

// checkEnds refuses an end that was not given before, if the run is already past it.
func (t *task) checkEnds(before *task, c *runfolder.Checkpoint, dir string) error {
	done, end := "", ""
	rounds, work := session.Done(c)
	ends := t.ends
	if before != nil && ends.Rounds == before.ends.Rounds {
		ends.Rounds = 0
	}
	if before != nil && ends.Work == before.ends.Work {
		ends.Work = 0
	}
	switch {
	case c.Step > t.job.Last:
		done, end = fmt.Sprintf("is of %s %d", t.Unit, c.Step), fmt.Sprintf("%s %d", t.Unit, t.job.Last)
		if length, ok := t.all()[t.Length]; ok {
			end = fmt.Sprintf("--%s %s", t.Length, length.Text())
		}
	case ends.Rounds > 0 && rounds > ends.Rounds:
		done, end = fmt.Sprintf("has %d %ss", rounds, t.Round), fmt.Sprintf("--rounds %d", ends.Rounds)
	case ends.Work > 0 && work > ends.Work:
		done, end = fmt.Sprintf("has %.0f steps", work), fmt.Sprintf("--total-steps %.0f", ends.Work)
	default:
		return nil
	}
	return console.BadInput("--resume %s: its state %s, and %s ends the run before it: give more", dir, done, end)
}

// sameGoal reports whether the run has the same goal as before.
func (t *task) sameGoal(before *task) bool {
	if before == nil {
		return false
	}
	was := before.all()
	for name, now := range t.all() {
		if now.IsGoal() && was[name].Text() != now.Text() {
			return false
		}
	}
	return true
}
