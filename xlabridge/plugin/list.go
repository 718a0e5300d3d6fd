package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"xlarun/xlabridge/fetch"
)

// Entry is a pinned plugin of this platform.
type Entry struct {
	Backend, Name, Version string
	// Licence is that of the plugin's wheel, SupportLicence that of the
	// wheels it needs besides, "" where there are none.
	Licence, SupportLicence string
	// Path is where its shared object is, or would be.
	Path string
	// DownloadSize is the plugin's wheel in bytes, SupportSize the wheels that
	// it needs besides on a machine with the accelerator.
	DownloadSize, SupportSize int64
	// UnpackedSize is the plugin's shared object in bytes.
	UnpackedSize int64
	// Installed says that the shared object is there and unchanged,
	// SupportInstalled that the wheels besides are.
	Installed, SupportInstalled bool
	// Damage says, in a few words, why a plugin that was installed counts as
	// not installed; "" otherwise.
	Damage string
}

// List returns the pinned plugins of this platform, installed or not.
func List() ([]Entry, error) {
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	return s.list(context.Background()), nil
}

func (s *store) list(ctx context.Context) []Entry {
	var entries []Entry
	for _, backend := range Backends {
		pin, support := s.pins.forPlatform(backend, s.goos, s.goarch)
		if pin == nil {
			continue
		}
		site := s.site(pin)
		e := Entry{
			Backend: backend, Name: pin.Name, Version: pin.Version, Licence: pin.Licence,
			Path:         filepath.Join(site, filepath.FromSlash(pin.Library)),
			DownloadSize: pin.Size, UnpackedSize: pin.Unpacked,
			SupportInstalled: true,
		}
		_, err := verify(ctx, site, pin)
		e.Installed = err == nil
		if err != nil && !errors.Is(err, errAbsent) {
			e.Damage = err.Error()
		}
		for _, w := range support {
			e.SupportSize += w.Size
			e.SupportLicence = w.Licence
			if _, err := verify(ctx, site, w); err != nil {
				e.SupportInstalled = false
			}
		}
		entries = append(entries, e)
	}
	return entries
}

// Remove deletes the installed plugin of backend with all that was unpacked for
// it. Removing what is not installed is no error.
func Remove(ctx context.Context, backend string) error {
	s, err := openStore()
	if err != nil {
		return err
	}
	return s.remove(ctx, backend)
}

func (s *store) remove(ctx context.Context, backend string) error {
	backend, err := checkBackend(backend)
	if err != nil {
		return err
	}
	pin, _ := s.pins.forPlatform(backend, s.goos, s.goarch)
	if pin == nil {
		return fmt.Errorf("plugin: no %s plugin is pinned for %s/%s, so none was installed", backend, s.goos, s.goarch)
	}
	site := s.site(pin)
	if _, err := os.Lstat(site); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	unlock, err := s.Lock(ctx, nil)
	if err != nil {
		return err
	}
	defer unlock()
	// A rename first: a half-deleted folder must not look like a plugin.
	trash, err := os.MkdirTemp(s.Dir, fetch.StagePrefix)
	if err != nil {
		return s.Writing(0, err)
	}
	defer func() { _ = os.RemoveAll(trash) }()
	if err := os.Rename(site, filepath.Join(trash, "removed")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return s.Writing(0, err)
	}
	return nil
}
