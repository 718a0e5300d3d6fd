package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run/runfolder"
)

// unused is dir, or dir with a number behind it where that exists already.
func unused(dir string) string {
	name := dir
	for i := 2; console.Exists(name); i++ {
		name = fmt.Sprintf("%s-%d", dir, i)
	}
	return name
}

// newFolder makes a run's folder, dir, or where that is "" one of its own that ends with title.
func (a *App) newFolder(dir, title string, o runfolder.Options) (*runfolder.Folder, error) {
	if dir == "" {
		dir = unused(filepath.Join("runs", a.now().Format("20060102-150405")+"-"+title))
	}
	folder, err := runfolder.Create(dir, o)
	if err != nil {
		return nil, console.BadInput("--out %s cannot be written: %w; name another folder, or --out none for no folder",
			dir, err)
	}
	return folder, nil
}

// reopen opens the folder of the run that is to go on, with its newest checkpoint.
func (s *session) reopen(o ownFlags, options runfolder.Options) error {
	folder, err := runfolder.Open(o.resume, options)
	if err != nil {
		return console.BadInput("--resume %s cannot go on: %w", o.resume, err)
	}
	c, skipped, err := folder.Newest()
	if errors.Is(err, runfolder.ErrNoCheckpoint) {
		_ = folder.Close()
		return console.BadInput("--resume %s: %w; start it anew with --config %s", o.resume, err,
			filepath.Join(o.resume, "config.toml"))
	}
	if err == nil && (c.Kind != s.Name || c.Format != s.Version) {
		err = fmt.Errorf("its state is of version %d of %s, this xlarun (%s) has version %d of %s: go on with the "+
			"xlarun that wrote it (%s)", c.Format, c.Kind,
			console.Version(), s.Version, s.Name, c.Info[infoProgram])
	}
	if err == nil {
		s.before = s.atCheckpoint(c.Config)
		if err := s.unchanged(c, o.resume); err != nil {
			_ = folder.Close()
			return err
		}
	}
	if err == nil && c.Step > s.Last() {
		_ = folder.Close()
		return console.BadInput("--resume %s: its state is of %s %d, and %s ends the run at %d: give more", o.resume,
			s.Unit, c.Step, s.lengthFlag(), s.Last())
	}
	if err != nil {
		_ = folder.Close()
		return fmt.Errorf("--resume %s: %s", o.resume, strings.Join(append(skipped, err.Error()), "; "))
	}
	s.folder, s.resumed, s.skipped = folder, &c, skipped
	return nil
}

// resumeLogs takes the logs up where the checkpoint left them.
func (s *session) resumeLogs() error {
	for _, line := range s.skipped {
		s.Notice(line)
	}
	if s.notice != "" {
		s.Notice(s.notice)
	}
	held := *s.resumed
	held.Config = s.text
	round, _ := strconv.ParseInt(s.resumed.Info[infoRound], 10, 64)
	done, over := false, false
	if s.sameGoal() {
		done, over = s.resumed.Info[infoDone] == "true", s.resumed.Info[infoDone] == stalled
	}
	s.checkpointAt, s.checkpointed = time.Now(), s.resumed.Step
	s.update(func(x *state) {
		x.held, x.round = &held, round
		x.last.Step, x.last.Done, x.last.Stalled = s.resumed.Step, done, over
	})
	if err := s.openLogs(s.resumed.Step); err != nil {
		return err
	}
	return s.lastRow()
}

// lastRow takes the metrics of the last round from the log, for what is said of a run that has nothing left to do.
func (s *session) lastRow() error {
	var row map[string]*float64
	if err := json.Unmarshal(s.logger.LastRow(), &row); err != nil {
		return fmt.Errorf("%s: %w", s.folder.Path("metrics.jsonl"), err)
	}
	s.update(func(now *state) {
		for name, x := range row {
			if name != s.Unit {
				now.values[name] = math.NaN()
				if x != nil {
					now.values[name] = *x
				}
			}
		}
	})
	return nil
}

// atCheckpoint are the settings that the run had when a checkpoint with that config was written, nil where this program
// cannot read them.
func (s *session) atCheckpoint(config string) *task {
	if config == s.text {
		return s.task
	}
	file, err := parseConfig("the checkpoint's config", []byte(config))
	if err != nil {
		return nil
	}
	before, err := (&flagValues{}).resolve(s.Kind, "", file)
	if err != nil {
		return nil
	}
	return before
}

// unchanged refuses to go on with other settings than those that the state came from: the run's config may have been
// edited.
func (s *session) unchanged(c runfolder.Checkpoint, dir string) error {
	if s.before == nil {
		return nil
	}
	was, now := s.before.all(), s.all()
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if x, ok := now[name]; !ok || was[name].Text() != x.Text() && !s.before.mayChange(x) {
			got := "no " + name
			if ok {
				got = name + " " + x.Text()
			}
			return console.BadInput("--resume %s: its config.toml has %s, but the run was at %s in %s %d, as its "+
				"checkpoint says: put that back, or start another run with --config %s", dir, got,
				was[name].Text(), s.Unit, c.Step, filepath.Join(dir, "config.toml"))
		}
	}
	return nil
}

// lengthFlag is the flag that says how long a run of the task is, with its value.
func (t *task) lengthFlag() string {
	all := t.all()
	for _, name := range []string{t.Unit + "s", "num-" + t.Unit + "s", "steps"} {
		if f, ok := all[name]; ok {
			return "--" + name + " " + f.Text()
		}
	}
	return "--" + t.Unit + "s"
}

// sameGoal tells whether the run goes on with the goal that its checkpoint was made with.
func (s *session) sameGoal() bool {
	if s.before == nil {
		return false
	}
	was := s.before.all()
	for name, now := range s.all() {
		if now.IsGoal() && was[name].Text() != now.Text() {
			return false
		}
	}
	return true
}
