package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

var background = context.Background()

func TestInstallFromIndex(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	for _, c := range []struct {
		name string
		page func(ix *index) http.HandlerFunc
	}{
		{"relative address", nil},
		{"absolute address", func(ix *index) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { ix.links(w, ix.URL+"/files/"+fakeFile) }
		}},
		{"checksum in the link", func(ix *index) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) { ix.links(w, "/files/"+fakeFile+"#sha256=x&amp;y") }
		}},
		{"redirected page", func(ix *index) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("again") == "" {
					http.Redirect(w, r, "/simple/fake-pjrt/deep/page?again=1", http.StatusFound)
					return
				}
				ix.links(w, "../../../files/"+fakeFile)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(t, body)
			if c.page != nil {
				ix.page = c.page(ix)
			}
			s := testStore(t, pinSet{pinFor(body)}, ix.env())
			var done, total, calls int64
			found, err := s.find(background, Request{Progress: func(d, n int64) {
				require.Greater(t, d, done)
				done, total, calls = d, n, calls+1
			}})
			require.NoError(t, err)
			require.Equal(t, SourceInstalled, found.Source)
			require.Equal(t, "Fake.pjrt", found.Name)
			require.Equal(t, "1.2", found.Version)
			require.Equal(t, int64(len(body)), done)
			require.Equal(t, int64(len(body)), total)
			require.Positive(t, calls)
			text, err := os.ReadFile(found.Path)
			require.NoError(t, err)
			require.Equal(t, fakeEntries()[1].text, string(text))
			require.Equal(t, sumOf(text), found.SHA256)
			require.Equal(t, int64(1), ix.files.Load())

			require.ElementsMatch(t, []string{
				"fake_pjrt-1.2.dist-info/licenses/LICENSE", fakeLibrary, manifestsName + "/Fake.pjrt.json",
			}, filesBelow(t, s.site(&s.pins[0])), "only the library and its license are unpacked")
			stages, err := filepath.Glob(filepath.Join(s.Dir, fetch.StagePrefix+"*"))
			require.NoError(t, err)
			require.Empty(t, stages)

			// The second time nothing is asked for, and offline does as well.
			ix.Close()
			again, err := s.find(background, Request{Backend: "cpu", Offline: true})
			require.NoError(t, err)
			require.Equal(t, SourceCache, again.Source)
			again.Source = found.Source
			require.Equal(t, found, again)
		})
	}
}

// The public index is asked by its JSON. One that is behind a mirror lists files under addresses that are relative to
// the one that answered; no Python is needed for them.
func TestInstallFromReleases(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	for _, c := range []struct{ name, address, want string }{
		{"absolute address", "http://%s/files/" + fakeFile, ""},
		{"relative to the address that answered", "../../../files/" + fakeFile + "#sha256=x", ""},
		{"another file", "../../../files/other.whl", "it does not list " + fakeFile},
		{"no JSON", "\"", "its answer for Fake.pjrt cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(t, body)
			ix.page = func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/mirror/json") {
					http.Redirect(w, r, "/simple/fake-pjrt/mirror/json", http.StatusFound)
					return
				}
				file := strings.ReplaceAll(c.address, "%s", r.Host)
				name, _, _ := strings.Cut(path.Base(file), "#")
				_, _ = fmt.Fprintf(w, `{"releases": {"1.1": [], "1.2": [{"filename": "%s", "url": "%s"}]}}`, name, file)
			}
			s := testStore(t, pinSet{pinFor(body)}, nil)
			s.sources = func() []fetch.Source {
				get := func(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
					return fromReleases(ctx, s.client, ix.URL+"/simple/fake-pjrt/json", a, dst)
				}
				return []fetch.Source{{Name: "the public package index", Get: get}}
			}
			found, err := s.find(background, Request{})
			if c.want != "" {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.Equal(t, sumOf([]byte(fakeEntries()[1].text)), found.SHA256)
		})
	}
	address, err := publicIndex("Fake.pjrt")
	require.NoError(t, err)
	require.Regexp(t, `^https://[a-z.]+/pypi/Fake\.pjrt/json$`, address)
	for _, other := range []error{nil, errors.New("a name"), &url.Error{Op: "Get", URL: "https://here/%7F/json"}} {
		_, err = addressIn(other, "Fake.pjrt") // an installer that escapes the name gave another project's address
		require.ErrorContains(t, err, "go-xla does not tell the index's address")
	}
}

// filesBelow lists the files below dir, with slashes.
func filesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, filepath.ToSlash(rel))
		}
		return err
	}))
	return names
}

// TestInstallFails: whatever comes, one sentence is said and nothing stays that
// could be taken for a plugin.
func TestInstallFails(t *testing.T) {
	whole := fakeEntries()
	body := buildWheel(t, whole)
	replace := func(i int, e entry) []byte {
		entries := fakeEntries()
		entries[i] = e
		return buildWheel(t, entries)
	}
	respond := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(status)
			_, _ = w.Write([]byte(text))
		}
	}
	type world struct {
		ix  *index
		pin *wheel
	}
	for _, c := range []struct {
		name string
		body []byte // of the wheel, pinned as it is; default is the whole one
		set  func(w world)
		want string
	}{
		{"index answers 404", nil, func(w world) {
			w.ix.page = respond(404, "no")
		}, "it answers 404 Not Found for Fake.pjrt"},
		{"index answers 500", nil, func(w world) { w.ix.page = respond(500, "no") }, "it answers 500"},
		{"another web page", nil, func(w world) {
			w.ix.page = respond(200, "<html>Please log in <a href='/login'>here</a></html>")
		}, "does not list " + fakeFile},
		{"file not listed", nil, func(w world) {
			w.pin.File = "other-1.2-py3-none-any.whl"
		}, "does not list other-1.2"},
		{"file answers 404", nil, func(w world) {
			w.ix.file = respond(404, "gone")
		}, "the server of the file answers 404"},
		{"file answers 503 each time", nil, func(w world) {
			w.ix.file = respond(503, "busy")
		}, "the server of the file answers 503"},
		{"wrong bytes", nil, func(w world) {
			w.ix.file = respond(200, strings.Repeat("x", len(body)))
		}, "what came has sha256"},
		{"too few bytes", nil, func(w world) {
			w.ix.file = respond(200, string(body[:1000]))
		}, "it ended after 1000 of"},
		{"too many bytes", nil, func(w world) {
			w.ix.file = respond(200, string(body)+"!")
		}, "more bytes came than are pinned"},
		{"connection cut each time", nil, func(w world) {
			w.ix.file = func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Length", strconv.Itoa(len(body)))
				_, _ = w.Write(body[:1000])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			}
		}, "it ended after 1000 of"},
		{"no index there", nil, func(w world) { w.ix.Close() }, "connection refused"},
		{"index address of another kind", nil, func(w world) { w.ix.URL = "ftp://127.0.0.1" }, "no http(s) address"},
		{"no zip", []byte("MZ this is no zip"), nil, "cannot be opened: zip: not a valid zip file"},
		{"no plugin in the wheel", replace(1, entry{name: "fake_pjrt/other.so", text: "x"}), nil, "holds no " +
			fakeLibrary},
		{"plugin is a link", replace(1, entry{name: fakeLibrary, text: "/etc/passwd", mode: fs.ModeSymlink}), nil,
			"no regular file"},
		{"entry leads out", replace(2, entry{name: "../../../LICENSE", text: "x"}), nil,
			"no regular file in its folder"},
		{"another library inside", nil, func(w world) {
			w.pin.LibrarySHA256 = strings.Repeat("0", 64)
		}, "pinned is 000"},
		{"disk too small", nil, func(w world) { w.pin.Unpacked = 1 << 60 }, "are free: free some, or set XLARUN_CACHE"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := c.body
			if b == nil {
				b = body
			}
			ix := newIndex(t, b)
			pins := pinSet{pinFor(b)}
			if c.set != nil {
				c.set(world{ix, &pins[0]})
			}
			s := testStore(t, pins, ix.env())
			_, err := s.find(background, Request{Backend: "cpu"})
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "\n")
			requireNothingLeft(t, s)
			if c.name == "disk too small" {
				return
			}
			require.ErrorIs(t, err, fetch.ErrNotInstalled)
			for _, advice := range []string{"plugin install cpu", "--plugin PATH", "--backend reference"} {
				require.ErrorContains(t, err, advice)
			}
		})
	}
}

// A connection that breaks is taken up where it broke.
func TestDownloadResumes(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	for _, c := range []struct {
		name   string
		ranges bool
	}{{"server knows ranges", true}, {"server starts over", false}} {
		t.Run(c.name, func(t *testing.T) {
			ix := newIndex(t, body)
			serve := ix.file
			var asked []string
			ix.file = func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.Header.Get("Range"))
				if len(asked) == 1 {
					w.Header().Set("Content-Length", strconv.Itoa(len(body)))
					_, _ = w.Write(body[:5000])
					w.(http.Flusher).Flush()
					panic(http.ErrAbortHandler)
				}
				if !c.ranges {
					r.Header.Del("Range")
				}
				serve(w, r)
			}
			s := testStore(t, pinSet{pinFor(body)}, ix.env())
			found, err := s.find(background, Request{})
			require.NoError(t, err)
			require.Equal(t, sumOf([]byte(fakeEntries()[1].text)), found.SHA256)
			require.Equal(t, []string{"", "bytes=5000-"}, asked)
		})
	}
}

func TestInstallCancelled(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	ctx, cancel := context.WithCancel(background)
	ix.file = func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body[:5000])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}
	s := testStore(t, pinSet{pinFor(body)}, ix.env())
	_, err := s.find(ctx, Request{})
	require.ErrorIs(t, err, context.Canceled)
	requireNothingLeft(t, s)

	_, err = s.find(ctx, Request{})
	require.ErrorIs(t, err, context.Canceled, "a context that ended before does no work")
	requireNothingLeft(t, s)
}

// Waiting for another process that installs ends with the context.
func TestLockCancelled(t *testing.T) {
	s := testStore(t, pinSet{pinFor(buildWheel(t, fakeEntries()))}, nil)
	unlock, err := s.Lock(background, nil)
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithCancel(background)
	var notice string
	_, err = storeIn(s.Dir, s.pins, nil).install(ctx, Request{Notice: func(line string) { notice = line; cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	require.Contains(t, notice, "waiting for another process")
}

func TestInstallAtOnce(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	dir := filepath.Join(t.TempDir(), "plugins")
	const n = 8
	var sources [n]Source
	var errs [n]error
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			found, err := storeIn(dir, pinSet{pinFor(body)}, ix.env()).find(background, Request{})
			sources[i], errs[i] = found.Source, err
		})
	}
	wg.Wait()
	installed := 0
	for i := range n {
		require.NoError(t, errs[i])
		if sources[i] == SourceInstalled {
			installed++
		}
	}
	require.Equal(t, int64(1), ix.files.Load(), "one of them downloads")
	require.Equal(t, 1, installed)
}

func TestOffline(t *testing.T) {
	s := testStore(t, pinSet{pinFor(buildWheel(t, fakeEntries()))}, nil)
	_, err := s.find(background, Request{Offline: true})
	require.ErrorIs(t, err, fetch.ErrNotInstalled)
	require.EqualError(t, err,
		`plugin: Fake.pjrt 1.2, which the cpu backend runs on, is not installed and downloads are off: `+
			`run "xlarun plugin install cpu" with network access (on another machine if need be, then copy its folder `+
			`Fake.pjrt-1.2-testos-testarch to `+s.Dir+`), give a plugin with --plugin PATH, or use --backend reference`)
	_, err = s.find(background, Request{Offline: true, Ahead: true})
	require.ErrorContains(t, err, "), or give a plugin with --plugin PATH")
	require.NotContains(t, err.Error(), "reference", "the interpreter compiles for no device")
	_, err = os.Stat(s.Dir)
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = s.find(background, Request{Backend: "tpu"})
	require.ErrorIs(t, err, fetch.ErrNotInstalled)
	require.EqualError(t, err, "plugin: no tpu plugin is pinned for testos/testarch: give one with --plugin PATH, or "+
		"use --backend reference")

	_, err = s.find(background, Request{Backend: "reference"})
	require.ErrorContains(t, err, `backend "reference" is none of cpu, cuda, rocm, tpu`)
}

func TestUnwritableCache(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	s := storeIn(filepath.Join(file, "plugins"), pinSet{pinFor(buildWheel(t, fakeEntries()))}, nil)
	_, err := s.find(background, Request{})
	require.EqualError(t, err, "plugin: cannot write to the cache folder "+s.Dir+" (not a directory): make it "+
		"writable, or set XLARUN_CACHE to a folder that is")
}
