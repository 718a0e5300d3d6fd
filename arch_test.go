// Package xlarun_test checks what holds for the repository as a whole: who imports whom, what no source may say, and
// that the README's example runs.
package xlarun_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// room is a part of the repository and what its packages may import. Patterns ending in "/..." mean a folder and all
// below it. The rules are those for sources; tests may import anything, to compare.
type room struct {
	folder   string
	inside   []string // packages of this module
	external []string // other modules' packages beside the standard library; nil: any
}

// below are the rooms that all kinds of run stand on.
var below = []string{"graph/...", "xlabridge/...", "envs/...", "rollout/settings", "rollout/plan", "rollout/population", "rollout/policy"}

// rooms are looked through in order; the first whose folder holds a package is the package's room.
var rooms = []room{
	{"graph", []string{}, []string{"github.com/gomlx/compute/..."}},
	{"graph/neuron", []string{"graph", "graph/random"}, []string{}},
	{"graph/...", []string{"graph/..."}, []string{"github.com/gomlx/compute/..."}},
	{"xlabridge/...", []string{"graph", "xlabridge/...", "third_party/fetch/..."}, nil},
	{"envs/gymnaxtest", []string{"graph", "graph/random", "envs", "third_party/oracles"}, nil},
	{"envs/...", []string{"graph", "graph/random", "envs/..."}, nil},
	{"rollout/settings", []string{"graph", "envs", "xlabridge/cache"}, []string{}},
	{"rollout/plan", []string{"graph/...", "xlabridge/...", "rollout/settings"}, []string{}},
	{"rollout/population", []string{"graph/...", "xlabridge"}, []string{}},
	{"rollout/search", []string{"graph", "graph/random", "envs"}, []string{}},
	{"rollout/policy", []string{"graph/...", "envs/...", "rollout/settings", "rollout/policy/spiking"}, []string{"golang.org/x/sys/cpu"}},
	{"rollout/policy/spiking", []string{"graph/...", "rollout/settings"}, []string{}},
	{"rollout/episode", []string{"graph/...", "xlabridge", "envs/...", "rollout/plan", "rollout/policy", "rollout/population", "rollout/settings"}, []string{}},
	{"rollout/run", append(below, "rollout/episode"), []string{}},
	// A kind of run and its algorithms: no kind imports another; what is below rollout/KIND is the kind's own.
	{"rollout/selfplay/...", append(below, "rollout/run", "rollout/search"), []string{}},
	{"rollout/...", append(below, "rollout/episode", "rollout/run", "third_party/fetch/data"), []string{}},
	// The one room whose packages may import databases: what keeps studies and runs their trials.
	{"studies/...", append(below, "rollout/run", "rollout/study", "studies/..."), nil},
	{"cmd/xlarun/console", []string{"envs", "xlabridge/...", "third_party/..."}, nil},
	{"cmd/xlarun/machine", []string{"graph", "xlabridge"}, nil},
	{"cmd/xlarun/play", []string{"graph/...", "xlabridge", "envs/...", "rollout/...", "cmd/xlarun/console", "cmd/xlarun/display", "cmd/xlarun/plots", "cmd/xlarun/runfolder"}, nil},
	{"cmd/xlarun/plots", []string{"envs", "cmd/xlarun/console", "cmd/xlarun/runfolder"}, nil},
	{"cmd/xlarun/bench/...", []string{"graph/...", "xlabridge/...", "rollout/...", "studies/...", "third_party/...",
		"cmd/xlarun/console", "cmd/xlarun/machine", "cmd/xlarun/display", "cmd/xlarun/runfolder", "cmd/xlarun/bench/..."}, nil},
	{"cmd/...", []string{"..."}, nil},
	{"examples/...", []string{"graph/...", "xlabridge", "rollout/sparse", "third_party/fetch/data"}, []string{}},
	{"third_party/fetch", []string{}, []string{"github.com/gofrs/flock"}},
	{"third_party/fetch/...", []string{"third_party", "third_party/fetch"}, []string{"github.com/gomlx/go-xla/installer", "github.com/pelletier/go-toml/v2"}},
	{"third_party/...", []string{}, []string{}},
}

// matches tells whether a package's path is one that the pattern means.
func matches(pattern, path string) bool {
	folder, all := strings.CutSuffix(pattern, "...")
	if !all {
		return path == pattern
	}
	return strings.HasPrefix(path+"/", folder)
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"graph", "graph", true}, {"graph", "graph/nn", false}, {"graph", "graphics", false},
		{"graph/...", "graph", true}, {"graph/...", "graph/nn", true}, {"graph/...", "graphics", false}, {"...", "envs", true},
	} {
		require.Equal(t, c.want, matches(c.pattern, c.path), "%s, %s", c.pattern, c.path)
	}
}

// ownRoom is the folder of a kind of run for packages in it: rollout/KIND and what is below it.
func ownRoom(path string) []string {
	parts := strings.Split(path, "/")
	if parts[0] != "rollout" || len(parts) < 2 {
		return nil
	}
	return []string{"rollout/" + parts[1] + "/..."}
}

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Module     *struct{ Path string }
}

func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Imports,Module"}, args...)...)
	out, err := cmd.Output()
	require.NoError(t, err)
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

func TestImportsKeepToTheRooms(t *testing.T) {
	const module = "xlarun"
	standard := map[string]bool{"C": true}
	for _, p := range goList(t, "std") {
		standard[p.ImportPath] = true
	}
	seen := 0
	for _, p := range goList(t, "./...") {
		path, ok := strings.CutPrefix(p.ImportPath, module+"/")
		if !ok {
			continue // the root holds only tests
		}
		i := slices.IndexFunc(rooms, func(r room) bool { return matches(r.folder, path) })
		if i < 0 {
			t.Errorf("package %s lies in no room: put it into one, or add a room here and to the design", path)
			continue
		}
		seen++
		r := rooms[i]
		for _, imported := range p.Imports {
			if standard[imported] {
				continue
			}
			allowed := r.external
			name, own := strings.CutPrefix(imported, module+"/")
			if own {
				allowed = append(slices.Clone(r.inside), ownRoom(path)...)
			} else if r.external == nil {
				continue
			}
			if !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, name) }) {
				t.Errorf("package %s imports %s, which the room %s may not: it may import %s", path, imported, r.folder, strings.Join(allowed, ", "))
			}
		}
	}
	require.Greater(t, seen, 5, "go list found almost no packages")
}

// TestNoRegistryHost finds hosts of package registries in what the repository holds: their clients know their own.
// The names are put together from halves, so that this file holds none.
func TestNoRegistryHost(t *testing.T) {
	hosts := []string{
		"py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "proxy.go" + "lang.org", "sum.go" + "lang.org",
		"crates" + ".io", "ruby" + "gems.org", "hub.dock" + "er.com", "ana" + "conda.org",
	}
	out, err := exec.Command("git", "ls-files", "-co", "--exclude-standard", "-z").Output()
	if err != nil {
		t.Skip("not a git checkout: ", err)
	}
	checked := 0
	for _, name := range strings.Split(strings.Trim(string(out), "\x00"), "\x00") {
		if filepath.Ext(name) == ".sum" {
			continue
		}
		text, err := os.ReadFile(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, not committed yet
		}
		require.NoError(t, err)
		checked++
		for _, host := range hosts {
			for i, line := range strings.Split(string(text), "\n") {
				if strings.Contains(line, host) {
					t.Errorf("%s:%d names the registry host %s: leave it to the registry's client", name, i+1, host)
				}
			}
		}
	}
	require.Greater(t, checked, 20)
}
