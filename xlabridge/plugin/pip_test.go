package plugin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/xlabridge/fetch"
)

func TestReadPipConfig(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		files map[string]string
		want  pipConfig
	}{
		{"nothing", nil, nil, pipConfig{}},
		{"variables", map[string]string{
			"PIP_INDEX_URL": "https://a/simple", "PIP_EXTRA_INDEX_URL": "https://b/s https://c/s", "PIP_NO_INDEX": "on",
		}, nil, pipConfig{indexes: []string{"https://a/simple", "https://b/s", "https://c/s"}, noIndex: true}},
		{"settings for pip alone", map[string]string{"PIP_FIND_LINKS": "/w"}, nil, pipConfig{pipOnly: true}},
		{"the user's file over the system's", map[string]string{"HOME": "/h"}, map[string]string{
			"/etc/pip.conf": "[global]\nindex-url = https://system\ncert = /system.pem\n",
			"/h/.config/pip/pip.conf": "# mine\n[global]\nindex_url: https://user\nextra-index-url =\n    " +
				"https://one\n\thttps://two\n[install]\nno-index = 1\n",
			"/h/.config/pip/other.conf": "[global]\nindex-url = https://wrong\n",
		}, pipConfig{indexes: []string{"https://user", "https://one", "https://two"}, pipOnly: true}},
		{"the command's section over the global", map[string]string{"HOME": "/h"}, map[string]string{
			"/h/.pip/pip.conf": "[download]\nindex-url = https://download\n[global]\nindex-url = https://global\n",
		}, pipConfig{indexes: []string{"https://download"}}},
		{"XDG, environment, named file, variable", map[string]string{
			"HOME": "/h", "XDG_CONFIG_HOME": "/x", "VIRTUAL_ENV": "/v", "PIP_CONFIG_FILE": "/named",
			"PIP_NO_INDEX": "yes",
		}, map[string]string{
			"/h/.config/pip/pip.conf": "[global]\nindex-url = https://wrong\nproxy=wrong\n",
			"/x/pip/pip.conf":         "[global]\nindex-url = https://xdg\nno-index=no\n",
			"/v/pip.conf":             "[global]\nindex-url = https://venv\nextra-index-url = https://extra\n",
			"/named":                  "[global]\nindex-url = https://named\n",
		}, pipConfig{indexes: []string{"https://named", "https://extra"}, noIndex: true}},
		{"none to be read", map[string]string{"HOME": "/h", "PIP_CONFIG_FILE": os.DevNull}, map[string]string{
			"/h/.pip/pip.conf": "[global]\nindex-url = https://wrong\n",
		}, pipConfig{}},
		{"nonsense", map[string]string{"HOME": "/h"}, map[string]string{
			"/h/.pip/pip.conf": "index-url = x\n  more\n[global]\n  odd\nword\n[\n=\n",
		}, pipConfig{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf, err := readPipConfig(func(key string) string {
				return c.env[key]
			}, func(path string) ([]byte, error) {
				if text, ok := c.files[path]; ok {
					return []byte(text), nil
				}
				return nil, os.ErrNotExist
			})
			require.NoError(t, err)
			if len(conf.indexes) == 0 {
				conf.indexes = nil
			}
			require.Equal(t, c.want, conf)
		})
	}
	_, err := readPipConfig(func(key string) string {
		return map[string]string{"PIP_CONFIG_FILE": "/not/there"}[key]
	}, os.ReadFile)
	require.EqualError(t, err, "PIP_CONFIG_FILE names /not/there, which cannot be read: no such file or directory")
}

// An error in pip's settings is reported, and stops only the source that needs them. Settings that only pip supports
// make pip the first source.
func TestSourcesFollowTheConfiguration(t *testing.T) {
	names := func(env map[string]string) (all []string) {
		s := testStore(t, nil, env)
		for _, source := range s.defaultSources() {
			all = append(all, source.Name)
		}
		return all
	}
	index, public, pip := "the package index of pip's configuration", "the public package index",
		"python3 -m pip download"
	require.Equal(t, []string{public, pip}, names(nil))
	require.Equal(t, []string{index, public, pip}, names(map[string]string{"PIP_INDEX_URL": "https://a"}))
	require.Equal(t, []string{pip, index, public}, names(map[string]string{"PIP_INDEX_URL": "https://a",
		"PIP_CERT": "/c.pem"}))
	require.Equal(t, []string{pip}, names(map[string]string{"PIP_INDEX_URL": "https://a", "PIP_NO_INDEX": "1"}))

	body := buildWheel(t, fakeEntries())
	s := testStore(t, pinSet{pinFor(body)}, map[string]string{"PIP_CONFIG_FILE": "/not/there"})
	s.sources = func() []fetch.Source { return s.defaultSources()[:1] }
	_, err := s.find(background, Request{})
	require.ErrorIs(t, err, fetch.ErrNotInstalled)
	require.ErrorContains(t, err, "PIP_CONFIG_FILE names /not/there, which cannot be read: no such file")
	requireNothingLeft(t, s)
}

// An index address may carry a password, which no error may show.
func TestNoPasswordInErrors(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	ix := newIndex(t, body)
	ix.Close()
	address := strings.Replace(ix.URL, "://", "://user:secret@", 1)
	s := testStore(t, pinSet{pinFor(body)}, map[string]string{"PIP_INDEX_URL": address})
	_, err := s.find(background, Request{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), "secret")
}

func TestPipArguments(t *testing.T) {
	w := &fetch.Artifact{Name: "n", Version: "1", File: "n-1-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl"}
	require.Equal(t, []string{"--dest", "/d", "--platform", "manylinux2014_x86_64", "--platform",
		"manylinux_2_17_x86_64", "n==1"},
		tail(pipArguments(w, "/d"), 7))
	w.File = "n-1-cp313-cp313-manylinux_2_31_x86_64.whl"
	require.Equal(t, []string{"--platform", "manylinux_2_31_x86_64", "--implementation", "cp", "--python-version",
		"313", "--abi", "cp313", "n==1"},
		tail(pipArguments(w, "/d"), 9))
}

func tail(args []string, n int) []string { return args[len(args)-n:] }

// A script instead of pip shows how each of its ends is reported.
func TestRunPip(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	wheel := put(t, string(body), t.TempDir(), fakeFile)
	script := func(text string) []fetch.Source {
		path := put(t, "dest() { while [ \"$1\" != --dest ]; do shift; done; echo \"$2\"; }\n"+text, t.TempDir(),
			"pip.sh")
		return []fetch.Source{{Name: "pip", Get: func(ctx context.Context, a *fetch.Artifact, dst *fetch.Sink) error {
			return runPip(ctx, []string{"sh", path}, a, dst)
		}}}
	}
	for _, c := range []struct{ name, script, want string }{
		{"brings the wheel", "cp " + wheel + " \"$(dest \"$@\")\"", ""},
		{"brings another", "echo other > \"$(dest \"$@\")/" + fakeFile + "\"", "pip: it ended after 6 of"},
		{"brings nothing", "exit 0", "pip: it brought no " + fakeFile},
		{"fails", "echo 'Looking'; echo 'ERROR: No matching distribution' >&2; exit 1",
			"pip: it says: No matching distribution"},
		{"fails silently", "exit 7", "pip: it says: exit status 7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := testStore(t, pinSet{pinFor(body)}, nil)
			sources := script(c.script)
			s.sources = func() []fetch.Source { return sources }
			found, err := s.find(background, Request{})
			if c.want == "" {
				require.NoError(t, err)
				require.Equal(t, SourceInstalled, found.Source)
				return
			}
			require.ErrorContains(t, err, c.want)
			requireNothingLeft(t, s)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		mark := filepath.Join(t.TempDir(), "begun")
		s := testStore(t, pinSet{pinFor(body)}, nil)
		sources := script("sleep 600 & echo begun > " + mark + "; wait")
		s.sources = func() []fetch.Source { return sources }
		ctx, cancel := context.WithCancel(background)
		go func() {
			for {
				time.Sleep(time.Millisecond)
				if _, err := os.Stat(mark); err == nil || ctx.Err() != nil {
					cancel()
					return
				}
			}
		}()
		_, err := s.find(ctx, Request{})
		require.ErrorIs(t, err, context.Canceled)
		requireNothingLeft(t, s)
	})
}

// The error lists the failures of the sources in their order. A failure to write on this machine ends the attempts.
func TestSourcesInOrder(t *testing.T) {
	body := buildWheel(t, fakeEntries())
	s := testStore(t, pinSet{pinFor(body)}, nil)
	fail := func(name string, err error) fetch.Source {
		return fetch.Source{Name: name, Get: func(context.Context, *fetch.Artifact, *fetch.Sink) error { return err }}
	}
	s.sources = func() []fetch.Source {
		return []fetch.Source{fail("first", errors.New("no")), fail("second", errors.New("neither"))}
	}
	var notices []string
	_, err := s.find(background, Request{Notice: func(line string) { notices = append(notices, line) }})
	require.ErrorContains(t, err, "first: no; second: neither: run ")
	require.Len(t, notices, 2)
	require.Contains(t, notices[0], "getting Fake.pjrt 1.2 (1 MB) by first")

	s.sources = func() []fetch.Source {
		return []fetch.Source{fail("first", &os.PathError{Op: "write", Path: "x", Err: os.ErrPermission}),
			fail("second", errors.New("not reached"))}
	}
	_, err = s.find(background, Request{})
	require.ErrorContains(t, err, "cannot write to the cache folder "+s.Dir+" (permission denied)")
	requireNothingLeft(t, s)

	s.sources = func() []fetch.Source { return nil }
	_, err = s.find(background, Request{})
	require.ErrorContains(t, err, "there is no way to download it")
}
