package plugin

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"xlarun/xlabridge/fetch"
)

// pythonPackages are patterns of the folders where pip installs packages, below the folder that has bin: those of an
// environment or of a system, and that of pip install --target.
var pythonPackages = []string{"lib*/python3*/*-packages", "."}

// inPython returns the plugin of pin where pip installed it beside the executable. Only the pinned checksum counts. A
// file that other users can change is read at each call, another once. Plugins that need supporting wheels are not
// looked for: only the cache folder knows whether those are complete.
func (s *store) inPython(ctx context.Context, pin *wheel, support []*wheel) (Found, bool) {
	if pin.LibrarySHA256 == "" || len(support) > 0 {
		return Found{}, false
	}
	for _, pattern := range pythonPackages {
		files, _ := fs.Glob(os.DirFS(s.prefix), path.Join(pattern, pin.Library))
		for _, name := range files {
			file := filepath.Join(s.prefix, filepath.FromSlash(name))
			info, err := os.Stat(file)
			if err != nil || !info.Mode().IsRegular() || info.Size() != pin.Unpacked {
				continue
			}
			read := s.checksum
			if fetch.Trusted(info) != nil {
				read = fetch.HashFile
			}
			if sum, err := read(ctx, file); err == nil && strings.EqualFold(sum, pin.LibrarySHA256) {
				return Found{Backend: pin.Backend, Path: file, Source: SourcePython, SHA256: sum, Name: pin.Name,
					Version: pin.Version}, true
			}
		}
	}
	return Found{}, false
}
