package cli

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/runfolder"
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
func (a *app) newFolder(dir, title string, o runfolder.Options) (*runfolder.Folder, error) {
	if dir == "" {
		dir = unused(filepath.Join("runs", a.now().Format("20060102-150405")+"-"+title))
	}
	folder, err := runfolder.Create(dir, o)
	if err != nil {
		return nil, console.BadInput("--out %s cannot be written: %w; name another folder, or --out none for no folder", dir, err)
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
		return console.BadInput("--resume %s: %w; start it anew with --config %s", o.resume, err, filepath.Join(o.resume, "config.toml"))
	}
	if err == nil && (c.Kind != s.Name || c.Format != s.Version) {
		err = fmt.Errorf("its state is of version %d of %s, this xlarun (%s) has version %d of %s: go on with the xlarun that wrote it (%s)", c.Format, c.Kind,
			console.Version(), s.Version, s.Name, c.Info[infoProgram])
	}
	if err == nil && c.Step > s.Last() {
		_ = folder.Close()
		return console.BadInput("--resume %s: its state is of %s %d, and --%ss wants %d at most: give more", o.resume, s.Unit, c.Step, s.Unit, s.Last())
	}
	if err != nil {
		_ = folder.Close()
		return fmt.Errorf("--resume %s: %s", o.resume, strings.Join(append(skipped, err.Error()), "; "))
	}
	s.folder, s.resumed, s.skipped = folder, &c, skipped
	return nil
}

// goOn takes the logs up where the checkpoint left them.
func (s *session) goOn() error {
	for _, line := range s.skipped {
		s.Notice(line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	held := *s.resumed
	held.Config = s.text
	s.held, s.last.Step = &held, s.resumed.Step
	s.round, _ = strconv.ParseInt(s.resumed.Info[infoRound], 10, 64)
	s.last.Done = s.resumed.Info[infoDone] == "true" && s.resumed.Config == s.text // another goal may not be reached
	if err := s.folder.Write("config.toml", []byte(s.text)); err != nil {
		return err
	}
	var err error
	s.logger, err = s.folder.NewLogger(s.Unit, s.resumed.Step)
	return err
}
