package plugin

import (
	"context"
	"errors"
	"path/filepath"
)

// Entry is a pinned plugin of this platform. A plugin may need supporting wheels on a machine with its device.
type Entry struct {
	Backend string `json:"backend"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// License covers the plugin's wheel, SupportLicense the supporting wheels.
	License        string `json:"license"`
	SupportLicense string `json:"support_license,omitempty"`
	// Path is the file of the shared object, which may not be installed. Folder has it and the supporting wheels; it is
	// "" for a plugin that pip installed.
	Path   string `json:"path"`
	Folder string `json:"folder,omitempty"`
	// DownloadSize is the size of the plugin's wheel, SupportSize of the supporting wheels, in bytes.
	DownloadSize int64 `json:"download_bytes"`
	SupportSize  int64 `json:"support_bytes,omitempty"`
	// UnpackedSize is the size of the shared object in bytes.
	UnpackedSize int64 `json:"unpacked_bytes"`
	// Installed reports whether the shared object is installed and unchanged, SupportInstalled the same of the
	// supporting wheels.
	Installed        bool `json:"installed"`
	SupportInstalled bool `json:"support_installed"`
	// Damage says why an installed plugin counts as not installed; else it is "".
	Damage string `json:"damage,omitempty"`
}

// List returns the pinned plugins of this platform, installed or not. It is an error if XLARUN_CUDA chooses a release
// that no plugin is pinned for.
func List() ([]Entry, error) {
	s, err := openStore()
	if err != nil {
		return nil, err
	}
	return s.list(context.Background())
}

func (s *store) list(ctx context.Context) ([]Entry, error) {
	var entries []Entry
	for _, backend := range Backends {
		pin, support, err := s.wheels(backend)
		if err != nil {
			return nil, err
		}
		if pin == nil {
			continue
		}
		site := s.site(pin)
		e := Entry{
			Backend: backend, Name: pin.Name, Version: pin.Version, License: pin.License,
			Path:         filepath.Join(site, filepath.FromSlash(pin.Library)),
			Folder:       site,
			DownloadSize: pin.Size, UnpackedSize: pin.Unpacked,
			SupportInstalled: true,
		}
		if found, ok := s.inPython(ctx, pin, support); ok {
			e.Path, e.Folder, e.Installed = found.Path, "", true
			entries = append(entries, e)
			continue
		}
		_, err = verify(ctx, site, pin)
		e.Installed = err == nil
		if err != nil && !errors.Is(err, errAbsent) {
			e.Damage = err.Error()
		}
		for _, w := range support {
			e.SupportSize += w.Size
			e.SupportLicense = w.License
			if _, err := verify(ctx, site, w); err != nil {
				e.SupportInstalled = false
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}
