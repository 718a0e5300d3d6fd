package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

// What happened to an installed plugin decides whether it is believed, read
// again, or fetched again.
func TestDamagedInstallation(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	later := time.Now().Add(time.Hour)
	for _, c := range []struct {
		name   string
		harm   func(t *testing.T, library, manifest string)
		mended bool   // by another download
		damage string // said by List and offline
	}{
		{"touched", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Chtimes(library, later, later))
		}, false, ""},
		{"shortened", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Truncate(library, 1000))
		}, true, "has changed"},
		{"same size, other bytes", func(t *testing.T, library, _ string) {
			f, err := os.OpenFile(library, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("harm"), 5000)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.NoError(t, os.Chtimes(library, later, later))
		}, true, "has changed"},
		{"library gone", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Remove(library))
		}, true, "no such file"},
		{"library is a link", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Remove(library))
			require.NoError(t, os.Symlink("/etc/passwd", library))
		}, true, "has changed"},
		{"manifest gone", func(t *testing.T, _, manifest string) { require.NoError(t, os.Remove(manifest)) }, true, ""},
		{"manifest cut", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.Truncate(manifest, 20))
		}, true, "manifest cannot be read"},
		{"manifest empty", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.WriteFile(manifest, []byte(`{}`), 0o600))
		}, true, "another wheel"},
		{"1: a folder in the library's place", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Remove(library))
			put(t, "something", library, "within", "it")
		}, true, "has changed"},
		{"2: a folder in the manifest's place", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.Remove(manifest))
			put(t, "something", manifest, "within", "it")
		}, true, "no regular file"},
		{"3: a file in the place of the library's folder", func(t *testing.T, library, _ string) {
			require.NoError(t, os.RemoveAll(filepath.Dir(library)))
			put(t, "something", filepath.Dir(library))
		}, true, "not a directory"},
		{"4: a file in the place of all", func(t *testing.T, _, manifest string) {
			site := filepath.Dir(filepath.Dir(manifest))
			require.NoError(t, os.RemoveAll(site))
			put(t, "something", site)
		}, true, "not a directory"},
		{"5: a pipe in the manifest's place", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.Remove(manifest))
			require.NoError(t, syscall.Mkfifo(manifest, 0o644))
		}, true, "no regular file"},
		{"6: a manifest without end", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.Truncate(manifest, 1<<40))
		}, true, "more than"},
		{"7: a library that all can write", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Chmod(library, 0o666))
		}, true, "mode 0666"},
		{"8: a manifest that the group can write", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.Chmod(manifest, 0o664))
		}, true, "mode 0664"},
		{"9: a library of another user", func(t *testing.T, library, _ string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give files away")
			}
			require.NoError(t, os.Chown(library, 4242, -1))
		}, true, "belongs to user 4242"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(t, body)
			s := testStore(t, pinSet{pinFor(body)}, ix.env())
			before, err := s.find(background, Request{})
			require.NoError(t, err)
			c.harm(t, before.Path, manifestPath(s.site(&s.pins[0]), &s.pins[0]))

			if c.mended {
				require.False(t, listed(t, s)[0].Installed)
				_, err = s.find(background, Request{Offline: true})
				require.ErrorIs(t, err, fetch.ErrNotInstalled)
				require.ErrorContains(t, err, c.damage)
			}
			after, err := s.find(background, Request{})
			require.NoError(t, err)
			require.Equal(t, before.SHA256, after.SHA256)
			text, err := os.ReadFile(after.Path)
			require.NoError(t, err)
			require.Equal(t, before.SHA256, sumOf(text))
			if c.mended {
				require.Equal(t, SourceInstalled, after.Source)
				require.Equal(t, int64(2), ix.files.Load())
			} else {
				require.Equal(t, SourceCache, after.Source)
				require.Equal(t, int64(1), ix.files.Load())
			}
			require.True(t, listed(t, s)[0].Installed)
		})
	}
}

func TestList(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	s := testStore(t, pinSet{pinFor(body)}, ix.env())
	found, err := s.install(background, Request{Backend: "cpu"})
	require.NoError(t, err)
	pin := pinFor(body)
	site := s.site(&pin)
	require.Equal(t, []Entry{{
		Backend: "cpu", Name: "Fake.pjrt", Version: "1.2", License: "free", Path: found.Path, Folder: site,
		DownloadSize: int64(len(body)), UnpackedSize: 1 << 20, Installed: true, SupportInstalled: true,
	}}, listed(t, s))
}

// A plugin that others can change is believed by its pinned checksum, taken each time, and by nothing that lies beside
// it.
func TestPluginOfOthers(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	for _, c := range []struct {
		number int
		what   string
		harm   func(t *testing.T, library, manifest string)
		mended bool
	}{
		{1, "whole", func(t *testing.T, library, _ string) {}, false},
		{2, "other bytes of the same size and time", func(t *testing.T, library, _ string) {
			info, err := os.Stat(library)
			require.NoError(t, err)
			text, err := os.ReadFile(library)
			require.NoError(t, err)
			text[5000] ^= 1
			require.NoError(t, os.WriteFile(library, text, 0o600))
			require.NoError(t, os.Chtimes(library, info.ModTime(), info.ModTime()))
		}, true},
		{3, "the same, and a manifest that says so", func(t *testing.T, library, manifest string) {
			info, err := os.Stat(library)
			require.NoError(t, err)
			was, err := os.ReadFile(library)
			require.NoError(t, err)
			text := strings.Replace(string(was), string(was[5000:5004]), "harm", 1)
			require.NoError(t, os.WriteFile(library, []byte(text), 0o600))
			require.NoError(t, os.Chtimes(library, info.ModTime(), info.ModTime()))
			says, err := os.ReadFile(manifest)
			require.NoError(t, err)
			require.NoError(
				t, os.WriteFile(manifest, []byte(strings.Replace(string(says), sumOf(was), sumOf([]byte(text)), 1)),
					0o600))
		}, true},
	} {
		t.Run(c.what, func(t *testing.T) {
			ix := newIndex(t, body)
			pin := pinFor(body)
			pin.LibrarySHA256 = sumOf([]byte(fakeEntries()[1].text))
			s := testStore(t, pinSet{pin}, ix.env())
			before, err := s.find(background, Request{})
			require.NoError(t, err)
			c.harm(t, before.Path, manifestPath(s.site(&s.pins[0]), &s.pins[0]))
			require.NoError(t, os.Chmod(before.Path, 0o666))

			after, err := s.find(background, Request{})
			require.NoError(t, err, c.number)
			require.Equal(t, pin.LibrarySHA256, after.SHA256, c.number)
			text, err := os.ReadFile(after.Path)
			require.NoError(t, err)
			require.Equal(t, pin.LibrarySHA256, sumOf(text), c.number)
			require.Equal(t, c.mended, after.Source == SourceInstalled, c.number)
		})
	}
}
