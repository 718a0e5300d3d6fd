package plugin

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/third_party/fetch"
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
		{"touched", func(t *testing.T, library, _ string) { require.NoError(t, os.Chtimes(library, later, later)) }, false, ""},
		{"shortened", func(t *testing.T, library, _ string) { require.NoError(t, os.Truncate(library, 1000)) }, true, "has changed"},
		{"same size, other bytes", func(t *testing.T, library, _ string) {
			f, err := os.OpenFile(library, os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.WriteAt([]byte("harm"), 5000)
			require.NoError(t, err)
			require.NoError(t, f.Close())
			require.NoError(t, os.Chtimes(library, later, later))
		}, true, "has changed"},
		{"library gone", func(t *testing.T, library, _ string) { require.NoError(t, os.Remove(library)) }, true, "no such file"},
		{"library is a link", func(t *testing.T, library, _ string) {
			require.NoError(t, os.Remove(library))
			require.NoError(t, os.Symlink("/etc/passwd", library))
		}, true, "has changed"},
		{"manifest gone", func(t *testing.T, _, manifest string) { require.NoError(t, os.Remove(manifest)) }, true, ""},
		{"manifest cut", func(t *testing.T, _, manifest string) { require.NoError(t, os.Truncate(manifest, 20)) }, true, "manifest cannot be read"},
		{"manifest empty", func(t *testing.T, _, manifest string) {
			require.NoError(t, os.WriteFile(manifest, []byte(`{}`), 0o600))
		}, true, "another wheel"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(t, body)
			s := testStore(t, pinSet{pinFor(body)}, ix.env())
			before, err := s.find(background, Request{})
			require.NoError(t, err)
			c.harm(t, before.Path, manifestPath(s.site(&s.pins[0]), &s.pins[0]))

			if c.mended {
				require.False(t, s.list(background)[0].Installed)
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
			require.True(t, s.list(background)[0].Installed)
		})
	}
}

func TestListAndRemove(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	s := testStore(t, pinSet{pinFor(body)}, ix.env())
	require.NoError(t, s.remove(background, "cpu"), "there is nothing to remove")
	found, err := s.install(background, Request{Backend: "cpu"})
	require.NoError(t, err)
	require.Equal(t, []Entry{{
		Backend: "cpu", Name: "Fake.pjrt", Version: "1.2", Licence: "free", Path: found.Path,
		DownloadSize: int64(len(body)), UnpackedSize: 1 << 20, Installed: true, SupportInstalled: true,
	}}, s.list(background))
	require.NoError(t, s.remove(background, "cpu"))
	requireNothingLeft(t, s)
	require.ErrorContains(t, s.remove(background, "tpu"), "no tpu plugin is pinned")
}
