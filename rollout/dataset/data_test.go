package dataset

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// fakeSet is a data set of two files, and its archive.
func fakeSet(t *testing.T, extra ...string) (*set, []byte) {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	d := &set{Name: "fake", Registry: "npm", Package: "fake-data", Version: "1.0.0", File: "fake-data-1.0.0.tgz",
		Unpacked: 100}
	for _, name := range append([]string{"images", "labels"}, extra...) {
		text := []byte("these are the " + name)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "package/data/" + name, Mode: 0o644, Size: int64(len(text)),
			Typeflag: tar.TypeReg}))
		_, err := w.Write(text)
		require.NoError(t, err)
		d.Files = append(d.Files, file{Path: "package/data/" + name, Name: name, SHA256: sumOf(text),
			Size: int64(len(text))})
	}
	require.NoError(t, w.Close())
	require.NoError(t, z.Close())
	d.SHA256, d.Size = sumOf(out.Bytes()), int64(out.Len())
	require.NoError(t, d.check())
	return d, out.Bytes()
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// npmServer serves the archive under its registry address, and counts requests.
func npmServer(t *testing.T, d *set, body []byte) (address string, served *atomic.Int64) {
	t.Helper()
	served = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/mirror/"+d.Package+"/-/"+d.File {
			http.NotFound(w, r)
			return
		}
		served.Add(1)
		_, _ = w.Write(body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/mirror/", served
}

func dataStore(t *testing.T, env map[string]string) *store {
	t.Helper()
	t.Setenv("PATH", "") // no npm
	s := openStore(filepath.Join(t.TempDir(), "data"), func(name string) string { return env[name] })
	s.client.Waits = []time.Duration{time.Millisecond, time.Millisecond}
	return s
}

func TestDataIsFetchedOnceAndMended(t *testing.T) {
	d, body := fakeSet(t)
	address, served := npmServer(t, d, body)
	s := dataStore(t, map[string]string{"npm_config_registry": address})
	for i, c := range []struct {
		name string
		harm func(dir string) error
		want int64 // downloads so far
	}{
		{"first", nil, 1},
		{"again", nil, 1},
		{"file gone", func(dir string) error { return os.Remove(filepath.Join(dir, "labels")) }, 2},
		{"file cut", func(dir string) error { return os.Truncate(filepath.Join(dir, "images"), 3) }, 3},
		{"same size, other bytes", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "images"), []byte("these are not images"), 0o600)
		}, 4},
	} {
		dir := filepath.Join(s.Dir, "fake-data-1.0.0")
		if c.harm != nil {
			require.NoError(t, c.harm(dir), c.name)
		}
		var last, total int64
		got, err := s.folder(t.Context(), d, Request{Progress: func(done, n int64) { last, total = done, n }})
		require.NoError(t, err, c.name)
		require.Equal(t, dir, got)
		require.Equal(t, c.want, served.Load(), c.name)
		text, err := os.ReadFile(filepath.Join(dir, "images"))
		require.NoError(t, err)
		require.Equal(t, "these are the images", string(text))
		if i == 0 {
			require.Equal(t, d.Size, last)
			require.Equal(t, d.Size, total)
		}
		left, err := filepath.Glob(filepath.Join(s.Dir, fetch.StagePrefix+"*"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

func TestDataFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		pin  func(d *set)
		body func(body []byte) []byte
		env  map[string]string
		req  Request
		want []string
	}{
		{"offline", nil, nil, nil, Request{Offline: true}, []string{"the data set fake is not in", "downloads are off",
			"--data DIR"}},
		{"no way", nil, nil, map[string]string{"npm_config_registry": ""}, Request{},
			[]string{"npm pack: there is no npm on this machine", "--data DIR"}},
		{"no address", nil, nil, map[string]string{"npm_config_registry": "ftp://x"}, Request{},
			[]string{"its address is no http(s) address"}},
		{"other bytes", nil, func(b []byte) []byte {
			return append([]byte{b[0] ^ 1}, b[1:]...)
		}, nil, Request{}, []string{"what came has sha256", "pinned is"}},
		{"too short", nil, func(b []byte) []byte { return b[:len(b)-4] }, nil, Request{}, []string{"it ended after"}},
		{"too long", nil, func(b []byte) []byte {
			return append(b, 0)
		}, nil, Request{}, []string{"more bytes came than are pinned"}},
		{"file not in it", func(d *set) {
			d.Files[1].Path = "package/data/names"
		}, nil, nil, Request{}, []string{"lacks files that are pinned"}},
		{"file of other bytes", func(d *set) {
			d.Files[0].SHA256 = d.Files[1].SHA256
		}, nil, nil, Request{}, []string{"package/data/images in the archive", "sha256"}},
		{"unknown package", func(d *set) { d.Package = "nobody" }, nil, nil, Request{}, []string{"404"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, body := fakeSet(t)
			served := *d
			if c.body != nil {
				body = c.body(bytes.Clone(body))
			}
			address, _ := npmServer(t, &served, body)
			env := map[string]string{"npm_config_registry": address}
			if c.env != nil {
				env = c.env
			}
			if c.pin != nil {
				c.pin(d)
			}
			s := dataStore(t, env)
			t.Chdir(t.TempDir())
			_, err := s.folder(t.Context(), d, c.req)
			require.Error(t, err)
			require.True(t, errors.Is(err, fetch.ErrNotInstalled), "%v", err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			left, _ := filepath.Glob(filepath.Join(s.Dir, "*"))
			left = slices.DeleteFunc(left, func(name string) bool { return filepath.Base(name) == fetch.LockName })
			require.Empty(t, left, "nothing half done stays behind")
		})
	}
}

func TestNPMRegistry(t *testing.T) {
	files := map[string]string{
		".npmrc":       "; mine\nsave=true\n",
		"/home/.npmrc": "registry = \"http://user.example/\"\n//user.example/:_authToken=x\n",
		"/other":       "registry=http://${HOST}/npm\n",
	}
	read := func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, os.ErrNotExist
	}
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"npm_config_registry": "http://env.example"}, "http://env.example"},
		{map[string]string{"HOME": "/home"}, "http://user.example/"},
		{map[string]string{"HOME": "/home", "NPM_CONFIG_USERCONFIG": "/other", "HOST": "h.example"},
			"http://h.example/npm"},
		{map[string]string{"HOME": "/nowhere"}, ""},
	} {
		require.Equal(t, c.want, npmRegistry(func(name string) string { return c.env[name] }, read))
	}
	files[".npmrc"] = "registry=http://project.example\n"
	require.Equal(t, "http://project.example", npmRegistry(func(string) string { return "" }, read))
}

func TestDataPins(t *testing.T) {
	sets, err := parsePins(thirdparty.DataPins)
	require.NoError(t, err)
	require.Equal(t, "mnist", sets[0].Name)
	require.Len(t, sets[0].Files, 4)
	for _, bad := range []string{"[[data]]\nnmae = 1", "[[data]]\nname = \"x\"\nregistry = \"cpan\"",
		"[[data]]\nname = \"x\"\nregistry = \"npm\"", "data = 3"} {
		_, err := parsePins([]byte(bad))
		require.ErrorContains(t, err, "third_party/data.toml")
	}
	_, err = Folder(t.Context(), "mnits", Request{})
	require.ErrorContains(t, err, `there is no data set "mnits"`)
}
