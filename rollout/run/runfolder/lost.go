package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// base returns the folder to write into. It notices that the folder was moved. If the folder was removed or emptied, it
// makes it again at its last path, with the config, and raises life: then the logger writes the logs again.
func (f *Folder) base() (root Root, life int, err error) {
	f.making.Lock()
	defer f.making.Unlock()
	f.mu.Lock()
	root, closed := f.root, f.closed
	f.mu.Unlock()
	switch {
	case f.reading:
		return nil, 0, errReading
	case closed:
		return nil, 0, errClosed
	}
	gone, err := root.Gone()
	if err != nil {
		return nil, 0, err
	}
	if gone {
		if root, err = f.makeAgain(); err != nil {
			return nil, 0, fmt.Errorf("the run's folder was removed, and cannot be made again: %w", err)
		}
	} else if path := root.Path(); path != f.at {
		f.mu.Lock()
		f.at = path
		f.mu.Unlock()
		f.options.Notice(fmt.Sprintf("the run's folder was moved: new files are written to %s", path))
	}
	if f.config != nil {
		if _, err = root.Stat(configName); errors.Is(err, fs.ErrNotExist) {
			err = f.refill(root)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return root, f.life, nil
}

// makeAgain makes a folder that was removed. If something else has its path now, the path gets a number.
func (f *Folder) makeAgain() (Root, error) {
	dir := f.at
	var missing []string
	for i := 2; ; i++ {
		var err error
		if missing, err = f.missing(dir); err != nil {
			return nil, err
		}
		if len(missing) > 0 {
			break
		}
		dir = fmt.Sprintf("%s-%d", f.at, i)
	}
	var made []string
	if err := f.makeDirs(missing, &made); err != nil {
		return nil, err
	}
	root, err := f.disk.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.Lock(); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	f.mu.Lock()
	old := f.root
	f.root, f.at = root, root.Path()
	f.life++
	for name := range f.files {
		f.lost[name] = true
	}
	clear(f.files)
	f.mu.Unlock()
	_ = old.Close()
	f.options.Notice(fmt.Sprintf("the run's folder was removed: %s was made again, with the config, the logs and "+
		"all new files", dir))
	return root, nil
}

// missed finds the files that are missing, and returns their names. Checkpoints do not count unless the whole folder
// was emptied: users may remove them.
func (f *Folder) missed(root Root, emptied bool) (lost []string) {
	f.mu.Lock()
	names := slices.Sorted(maps.Keys(f.files))
	f.mu.Unlock()
	for _, name := range names {
		if _, err := root.Stat(name); errors.Is(err, fs.ErrNotExist) &&
			(emptied || !strings.HasPrefix(name, checkpointDir+"/")) {
			lost = append(lost, name)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range lost {
		delete(f.files, name)
		f.lost[name] = true
	}
	return lost
}

// refill writes the config into a folder that lacks it, and finds out what else is missing.
func (f *Folder) refill(root Root) error {
	_, err := replace(root, configName, func(s *sink) error {
		_, err := s.Write(f.config)
		return err
	})
	if err != nil {
		return err
	}
	lost := f.missed(root, true)
	f.mu.Lock()
	f.files[configName] = true
	delete(f.lost, configName)
	f.mu.Unlock()
	if len(lost) > 0 {
		f.options.Notice(fmt.Sprintf("files in the run's folder %s were removed; its config is written again", f.Dir()))
	}
	return nil
}
