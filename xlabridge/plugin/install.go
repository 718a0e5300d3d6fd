package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"xlarun/xlabridge/fetch"
)

// install returns the pinned plugin of req.Backend, fetching what is missing.
func (s *store) install(ctx context.Context, req Request) (Found, error) {
	backend, err := checkBackend(req.Backend)
	if err != nil {
		return Found{}, err
	}
	pin, support := s.pins.forPlatform(backend, s.goos, s.goarch)
	if pin == nil {
		return Found{}, fetch.Absent(fmt.Errorf("plugin: no %s plugin is pinned for %s/%s: give one with --plugin "+
			"PATH, or use --backend reference",
			backend, s.goos, s.goarch))
	}
	found, missing, damage, err := s.installed(ctx, pin, support)
	if err != nil {
		return Found{}, err
	}
	if len(missing) == 0 {
		return found, nil
	}
	if req.Offline {
		state := "is not installed"
		if damage != nil {
			state = fmt.Sprintf("is damaged (%v)", damage)
		}
		return Found{},
			fetch.Absent(fmt.Errorf("plugin: %s, which the %s backend runs on, %s and downloads are off: %s",
				missing[0].Label(), backend, state, s.advice(pin)))
	}

	unlock, err := s.Lock(ctx, req.Notice)
	if err != nil {
		return Found{}, err
	}
	defer unlock()
	// Whoever held the lock may have been installing this very plugin.
	found, missing, _, err = s.installed(ctx, pin, support)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	p := fetch.Progress{Report: req.Progress}
	for _, w := range missing {
		p.Total += w.Size
	}
	for _, w := range missing {
		if err := s.installWheel(ctx, s.site(pin), w, &p, req.Notice); err != nil {
			if ctx.Err() != nil {
				return Found{}, ctx.Err()
			}
			var local fetch.LocalError
			if errors.As(err, &local) {
				return Found{}, err
			}
			return Found{}, fetch.Absent(fmt.Errorf("plugin: cannot get %s, which the %s backend runs on: %w: %s",
				w.Label(), backend, err, s.advice(pin)))
		}
		p.Base += w.Size
	}
	found, missing, damage, err = s.installed(ctx, pin, support)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("plugin: %s vanished as soon as it was installed in %s (%v): look for a program that clears "+
			"that folder", missing[0].Label(), s.Dir, damage)
	}
	found.Source = SourceInstalled
	return found, err
}

// advice is what a user can do who cannot download.
func (s *store) advice(pin *wheel) string {
	return fmt.Sprintf("run \"xlarun plugin install %s\" with network access (on another machine if need be, then "+
		"copy its folder %s to %s), give a plugin with --plugin PATH, or use --backend reference",
		pin.Backend, filepath.Base(s.site(pin)), s.Dir)
}

// installed describes the plugin as it is in the cache. missing lists the wheels
// that are still to be installed for it to run on this machine, the plugin's
// own first; damage says why the first of them counts as missing although it
// was installed once.
func (s *store) installed(ctx context.Context, pin *wheel,
	support []*wheel) (found Found, missing []*wheel, damage error, err error) {
	site := s.site(pin)
	found = Found{
		Backend: pin.Backend, Source: SourceCache, Name: pin.Name, Version: pin.Version,
		Path: filepath.Join(site, filepath.FromSlash(pin.Library)),
	}
	m, verr := verify(ctx, site, pin)
	if verr != nil {
		missing = append(missing, pin)
		damage = verr
	} else {
		found.SHA256 = m.sha256Of(pin.Library)
	}
	if len(support) > 0 && s.visible(pin.Backend) {
		var absent []*wheel
		for _, w := range support {
			if _, err := verify(ctx, site, w); err != nil {
				absent = append(absent, w)
				if len(missing) == 0 && len(absent) == 1 {
					damage = err
				}
			}
		}
		if len(absent) == 0 {
			s.addCUDALibraries(&found, site)
		} else if libraries, dataDir, ok := s.systemCUDA(s); ok {
			found.setLibraries(libraries, dataDir)
		} else {
			missing = append(missing, absent...)
		}
	}
	if errors.Is(damage, errAbsent) {
		damage = nil
	}
	return found, missing, damage, ctx.Err()
}

// installWheel fetches, checks and unpacks w below site. All work is done in a
// stage beside it; a file enters the site whole, and the manifest, without
// which nothing counts, comes last.
func (s *store) installWheel(ctx context.Context, site string, w *wheel, p *fetch.Progress,
	notice func(string)) (err error) {
	need := w.Size + w.Unpacked
	stage, remove, err := s.Stage(w.Label(), need)
	if err != nil {
		return err
	}
	defer remove()

	file := filepath.Join(stage, w.File)
	var write fetch.WriteError
	if err := fetch.Fetch(ctx, &w.Artefact, file, s.ways(), p, notice); errors.As(err, &write) {
		return s.Writing(need, write)
	} else if err != nil {
		return err
	}
	out := filepath.Join(stage, "unpacked")
	files, extra, err := unpack(ctx, file, w, out)
	switch {
	case errors.As(err, &write):
		return s.Writing(need, write)
	case err != nil:
		return fmt.Errorf("the wheel %s %w", w.File, err)
	}

	// From here to the manifest the wheel is not installed.
	if err := makeWay(s.Dir, manifestPath(site, w)); err != nil {
		return s.Writing(need, err)
	}
	if err := os.Remove(manifestPath(site, w)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s.Writing(need, err)
	}
	names := extra
	for _, f := range files {
		names = append(names, f.Path)
	}
	if err := moveInto(site, out, names); err != nil {
		return s.Writing(need, err)
	}
	m := manifest{Name: w.Name, Version: w.Version, Wheel: w.File, WheelSHA256: w.SHA256, Files: files}
	if err := fetch.WriteJSON(manifestPath(site, w), &m); err != nil {
		return s.Writing(need, err)
	}
	if err := fetch.SyncDir(s.Dir); err != nil {
		return s.Writing(need, err)
	}
	return nil
}

// moveInto renames the files names (with slashes) from one folder into another
// and makes their new names durable.
func moveInto(site, from string, names []string) error {
	dirs := map[string]bool{site: true}
	for _, name := range names {
		local := filepath.FromSlash(name)
		target := filepath.Join(site, local)
		if err := makeWay(filepath.Dir(site), target); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(from, local), target); err != nil {
			return err
		}
		for dir := filepath.Dir(target); len(dir) >= len(site); dir = filepath.Dir(dir) {
			dirs[dir] = true
		}
	}
	for dir := range dirs {
		if err := fetch.SyncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// makeWay removes what below root lies in the way of a file: something else than a folder where the file's folder is to
// be, or a folder where the file is. Below root all names are this package's own.
func makeWay(root, target string) error {
	for dir := filepath.Dir(target); len(dir) > len(root); dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			continue
		}
		if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	if info, err := os.Lstat(target); err == nil && info.IsDir() {
		return os.RemoveAll(target)
	}
	return nil
}
