package plugin

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// pip installs the plugin beside the executable: nothing is downloaded if it is the pinned one.
func TestFindInPython(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	for _, c := range []struct {
		number       int
		what, folder string // below the folder that has bin
		text         string
		mode         os.FileMode
		found        bool
	}{
		{1, "an environment", "lib/python3.12/site-packages", noise(), 0o644, true},
		{2, "a system with two folders of libraries", "lib64/python3.9/site-packages", noise(), 0o644, true},
		{3, "Debian's Python", "lib/python3/dist-packages", noise(), 0o644, true},
		{4, "pip install --target", ".", noise(), 0o644, true},
		{5, "a file that others can change", "lib/python3.12/site-packages", noise(), 0o666, true},
		{6, "other bytes of the same size", "lib/python3.12/site-packages", "harm" + noise()[4:], 0o644, false},
		{7, "the same, which others can change", "lib/python3.12/site-packages", "harm" + noise()[4:], 0o666, false},
		{8, "another size", "lib/python3.12/site-packages", "another version", 0o644, false},
		{9, "another place", "share/python3.12/site-packages", noise(), 0o644, false},
	} {
		pin := pinFor(body)
		pin.LibrarySHA256 = sumOf([]byte(noise()))
		ix := newIndex(t, body)
		s := testStore(t, pinSet{pin}, ix.env())
		s.prefix = filepath.Join(t.TempDir(), "odd [name]*")
		file := put(t, c.text, s.prefix, c.folder, fakeLibrary)
		require.NoError(t, os.Chmod(file, c.mode))

		found, err := s.find(background, Request{Offline: true})
		if !c.found {
			require.ErrorIs(t, err, fetch.ErrNotInstalled, "%d: %s", c.number, c.what)
			require.False(t, listed(t, s)[0].Installed)
			continue
		}
		require.NoError(t, err, "%d: %s", c.number, c.what)
		require.Equal(t, Found{Backend: "cpu", Path: file, Source: SourcePython, SHA256: pin.LibrarySHA256,
			Name: pin.Name, Version: pin.Version}, found)
		again, err := s.install(background, Request{})
		require.NoError(t, err)
		require.Equal(t, found, again)
		require.Zero(t, ix.files.Load())
		e := listed(t, s)[0]
		require.Equal(t, []any{true, file, ""}, []any{e.Installed, e.Path, e.Folder})
	}
}
