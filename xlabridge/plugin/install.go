package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"xlarun/xlabridge/fetch"
)

// install returns the pinned plugin of req.Backend, and downloads the wheels that are missing.
func (s *store) install(ctx context.Context, req Request) (Found, error) {
	backend, err := checkBackend(req.Backend)
	if err != nil {
		return Found{}, err
	}
	pin, support, err := s.wheels(backend)
	if err != nil {
		return Found{}, err
	}
	if pin == nil {
		return Found{}, fetch.Absent(fmt.Errorf("plugin: no %s plugin is pinned for %s/%s: give one with --plugin "+
			"PATH, or use --backend reference", backend, s.goos, s.goarch))
	}
	found, missing, damage, err := s.installed(ctx, pin, support, req.Ahead)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	advice := fmt.Sprintf("run \"xlarun plugin install %s\" with network access (on another machine if need be, then "+
		"copy its folder %s to %s), ", backend, filepath.Base(s.site(pin)), s.Dir)
	if req.Ahead { // the interpreter compiles for no device
		advice += "or give a plugin with --plugin PATH"
	} else {
		advice += "give a plugin with --plugin PATH, or use --backend reference"
	}
	if req.Offline {
		state := "is not installed"
		if damage != nil {
			state = fmt.Sprintf("is damaged (%v)", damage)
		}
		return Found{}, fetch.Absent(fmt.Errorf("plugin: %s, which the %s backend runs on, %s and downloads are off: "+
			"%s", missing[0].Label(), backend, state, advice))
	}

	unlock, err := s.Lock(ctx, req.Notice)
	if err != nil {
		return Found{}, err
	}
	defer unlock()
	// The process that held the lock may have installed this plugin.
	found, missing, _, err = s.installed(ctx, pin, support, req.Ahead)
	if err != nil || len(missing) == 0 {
		return found, err
	}
	var done, total int64
	for _, w := range missing {
		total += w.Size
	}
	for _, w := range missing {
		progress := func(n int64) {
			if req.Progress != nil {
				req.Progress(done+n, total)
			}
		}
		err := s.Stage(w.Label(), w.Size+w.Unpacked, func(stage string) error {
			err := s.installWheel(ctx, stage, s.site(pin), w, progress, req.Notice)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				return fetch.Absent(fmt.Errorf("plugin: cannot get %s, which the %s backend runs on: %w: %s",
					w.Label(), backend, err, advice))
			}
			return nil
		})
		if err != nil {
			return Found{}, err
		}
		done += w.Size
	}
	found, missing, damage, err = s.installed(ctx, pin, support, req.Ahead)
	if err == nil && len(missing) > 0 {
		err = fmt.Errorf("plugin: %s vanished as soon as it was installed in %s (%v): look for a program that clears "+
			"that folder", missing[0].Label(), s.Dir, damage)
	}
	found.Source = SourceInstalled
	return found, err
}

// installed describes the plugin in the Python packages or in the cache. missing lists the wheels that it lacks to run
// on this machine, its own wheel first. damage says why the first of them counts as missing if it was once installed.
func (s *store) installed(ctx context.Context, pin *wheel, support []*wheel, ahead bool) (found Found,
	missing []*wheel, damage error, err error) {
	if found, ok := s.inPython(ctx, pin, support); ok {
		return found, nil, nil, nil
	}
	site := s.site(pin)
	found = Found{
		Backend: pin.Backend, Source: SourceCache, Name: pin.Name, Version: pin.Version,
		Path: filepath.Join(site, filepath.FromSlash(pin.Library)),
	}
	var damages []error // of the missing wheels
	m, err := verify(ctx, site, pin)
	if err != nil {
		missing, damages = append(missing, pin), append(damages, err)
	} else {
		found.SHA256 = m.sha256Of(pin.Library)
	}
	if len(support) > 0 && s.visible(pin.Backend) {
		before := len(missing)
		for _, w := range support {
			if _, err := verify(ctx, site, w); err != nil {
				missing, damages = append(missing, w), append(damages, err)
			}
		}
		if len(missing) == before {
			s.addCUDALibraries(&found, site, pin, support)
		} else if libraries, dataDir, ok := s.systemCUDA(s, pin, support); ok {
			found.setLibraries(libraries, dataDir)
			missing, damages = missing[:before], damages[:before]
		}
	}
	if ahead && found.CUDADataDir == "" {
		before := len(missing)
		for _, w := range support {
			if _, err := verify(ctx, site, w); w.Compile && err != nil && !slices.Contains(missing, w) {
				missing, damages = append(missing, w), append(damages, err)
			}
		}
		if len(missing) == before {
			s.addCUDATools(&found, site)
		}
	}
	if len(missing) > 0 && !errors.Is(damages[0], errAbsent) {
		damage = damages[0]
	}
	return found, missing, damage, ctx.Err()
}

// installWheel downloads, checks and unpacks w in the folder stage, then moves the files to site. The manifest comes
// last: without it the wheel is not installed.
func (s *store) installWheel(ctx context.Context, stage, site string, w *wheel, progress func(done int64),
	notice func(string)) error {
	file, unpacked := filepath.Join(stage, w.File), filepath.Join(stage, "unpacked")
	if err := fetch.Fetch(ctx, &w.Artifact, file, s.sources(), progress, notice); err != nil {
		return err
	}
	files, licenses, err := unpack(ctx, file, w, unpacked)
	if err != nil {
		return fmt.Errorf("the wheel %s %w", w.File, err)
	}
	path := manifestPath(site, w)
	if err := s.clearPath(path); err != nil {
		return err
	}
	names := licenses
	for _, f := range files {
		names = append(names, f.Path)
	}
	for _, name := range names {
		local := filepath.FromSlash(name)
		target := filepath.Join(site, local)
		if err := s.clearPath(target); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(unpacked, local), target); err != nil {
			return err
		}
	}
	err = filepath.WalkDir(site, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = fetch.SyncDir(path)
		}
		return err
	})
	if err != nil {
		return err
	}
	m := manifest{Name: w.Name, Version: w.Version, Wheel: w.File, WheelSHA256: w.SHA256, Files: files}
	if err := fetch.WriteJSON(path, &m); err != nil {
		return err
	}
	return fetch.SyncDir(s.Dir)
}

// clearPath removes whatever is at target below the store, and every file whose name a folder above target needs. All
// names below the store belong to this package.
func (s *store) clearPath(target string) error {
	for dir := filepath.Dir(target); dir != s.Dir; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			continue
		}
		err := os.Remove(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return os.RemoveAll(target)
}
