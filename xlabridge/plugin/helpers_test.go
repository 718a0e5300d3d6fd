package plugin

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

const (
	fakeLibrary = "fake_pjrt/pjrt_c_api_cpu_plugin.so"
	fakeFile    = "fake_pjrt-1.2-py3-none-manylinux_2_27_x86_64.whl"
)

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		os.Exit(helperProcess())
	}
	os.Exit(m.Run())
}

// entry is one file of a wheel made for a test.
type entry struct {
	name string
	text string
	mode fs.FileMode
}

// noise is a megabyte that does not compress, so that a download takes many
// reads.
var noise = sync.OnceValue(func() string {
	var out []byte
	sum := sha256.Sum256([]byte("seed"))
	for len(out) < 1<<20 {
		out = append(out, sum[:]...)
		sum = sha256.Sum256(sum[:])
	}
	return string(out)
})

// fakeEntries is a whole small wheel.
func fakeEntries() []entry {
	return []entry{
		{name: "fake_pjrt/__init__.py", text: "PLUGIN = 1\n"},
		{name: fakeLibrary, text: noise()},
		{name: "fake_pjrt-1.2.dist-info/licenses/LICENSE", text: "free\n"},
		{name: "fake_pjrt-1.2.dist-info/RECORD", text: "\n"},
	}
}

func buildWheel(t *testing.T, entries []entry) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range entries {
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		h.SetMode(0o644 | e.mode)
		f, err := z.CreateHeader(h)
		require.NoError(t, err)
		_, err = f.Write([]byte(e.text))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return out.Bytes()
}

func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// pinFor pins a wheel's bytes as the cpu plugin of a made-up platform.
func pinFor(body []byte) wheel {
	return wheel{
		Artifact: fetch.Artifact{
			Name: "Fake.pjrt", Version: "1.2", File: fakeFile, SHA256: sumOf(body), Size: int64(len(body)),
			License: "free", Unpacked: 1 << 20,
		},
		Backend: "cpu", OS: "testos", Arch: "testarch", Library: fakeLibrary,
	}
}

// testStore is a store in an empty folder that downloads by pip's configuration
// in env only: neither the public index nor a real pip is asked.
func testStore(t *testing.T, pins pinSet, env map[string]string) *store {
	t.Helper()
	return storeIn(filepath.Join(t.TempDir(), "cache", "plugins"), pins, env)
}

func storeIn(dir string, pins pinSet, env map[string]string) *store {
	s := &store{
		Store: storeAt(dir), client: fetch.NewClient(), pins: pins, goos: "testos", goarch: "testarch",
		getenv: func(key string) string {
			if key == "PIP_CONFIG_FILE" && env[key] == "" {
				return os.DevNull
			}
			return env[key]
		},
		visible:    func(string) bool { return false },
		driver:     func() Driver { return Driver{} },
		systemCUDA: func(*store, *wheel, []*wheel) ([]string, string, bool) { return nil, "", false },
	}
	s.client.Waits = []time.Duration{time.Millisecond, time.Millisecond}
	s.sources = func() []fetch.Source {
		all := s.defaultSources()
		return all[:len(all)-2]
	}
	return s
}

// index is a package index that serves one project.
type index struct {
	*httptest.Server
	// mu orders changes of page and file before requests of other processes.
	mu sync.Mutex
	// page answers for the project; the default has a relative address.
	page http.HandlerFunc
	// file answers for the wheel; the default is its whole body.
	file  http.HandlerFunc
	files atomic.Int64 // requests for the wheel
}

func newIndex(t *testing.T, body []byte) *index {
	t.Helper()
	ix := &index{}
	ix.page = func(w http.ResponseWriter, r *http.Request) { ix.links(w, "../../files/"+fakeFile) }
	ix.file = func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, fakeFile, time.Time{}, bytes.NewReader(body))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/simple/fake-pjrt/", func(w http.ResponseWriter, r *http.Request) {
		ix.mu.Lock()
		page := ix.page
		ix.mu.Unlock()
		page(w, r)
	})
	mux.HandleFunc("/files/", func(w http.ResponseWriter, r *http.Request) {
		ix.files.Add(1)
		ix.mu.Lock()
		file := ix.file
		ix.mu.Unlock()
		file(w, r)
	})
	ix.Server = httptest.NewServer(mux)
	t.Cleanup(ix.Close)
	return ix
}

func (ix *index) env() map[string]string {
	return map[string]string{"PIP_INDEX_URL": ix.URL + "/simple"}
}

// links answers with a page that links to the wheel.
func (ix *index) links(w http.ResponseWriter, href string) {
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html><html><body><a href="../../files/fake_pjrt-1.1-py3-none-any.whl">x</a>
		<a data-x="1" href='%s'>%s</a></body></html>`, href, fakeFile)
}

func listed(t *testing.T, s *store) []Entry {
	t.Helper()
	entries, err := s.list(context.Background())
	require.NoError(t, err)
	return entries
}

// requireNothingLeft asserts that the store holds no file but its lock.
func requireNothingLeft(t *testing.T, s *store) {
	t.Helper()
	var left []string
	err := filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != s.Dir && d.Name() != fetch.LockName {
			left = append(left, path)
		}
		return nil
	})
	require.NoError(t, err)
	require.Empty(t, left)
	for _, e := range listed(t, s) {
		require.False(t, e.Installed)
	}
}
