// Package xlarun_test checks what holds for the repository as a whole: who imports whom, what no source may say, and
// that the README's example runs.
package xlarun_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
var below = []string{"graph/...", "xlabridge/...", "envs/...", "rollout/settings", "rollout/plan", "rollout/population",
	"rollout/policy", "rollout/aggregate", "internal/erase", "internal/hardware", "internal/quantity"}

// rooms are looked through in order; the first whose folder holds a package is the package's room.
var rooms = []room{
	{"graph", []string{"graph/internal/..."}, []string{"github.com/gomlx/compute/..."}},
	{"graph/internal/...", []string{}, []string{"github.com/gomlx/compute/..."}},
	{"graph/lower", []string{"graph", "graph/internal/..."}, []string{}},
	{"graph/neuron", []string{"graph", "graph/random"}, []string{}},
	{"graph/graphtest", []string{"graph", "graph/special", "third_party/oracles"},
		[]string{"github.com/gomlx/compute/..."}},
	{"graph/...", []string{"graph/..."}, []string{"github.com/gomlx/compute/..."}},
	{"xlabridge/fetch", []string{}, []string{"github.com/gofrs/flock"}},
	{"xlabridge/plugin", []string{"third_party", "xlabridge/fetch"},
		[]string{"github.com/gomlx/go-xla/installer", "github.com/pelletier/go-toml/v2"}},
	{"xlabridge/topology", []string{"third_party"}, []string{"github.com/pelletier/go-toml/v2"}},
	{"xlabridge/hlo", []string{"internal/protobuf"}, []string{"google.golang.org/protobuf/encoding/protowire"}},
	{"xlabridge/internal/riegeli", []string{}, []string{"google.golang.org/protobuf/encoding/protowire",
		"github.com/golang/snappy"}},
	{"xlabridge/kernels", []string{"third_party/pjrt"}, []string{}},
	{"xlabridge/coordination", []string{"internal/messaging"},
		[]string{"github.com/nats-io/nats.go"}},
	{"xlabridge/internal/pjrt", []string{"internal/protobuf", "third_party/pjrt"},
		[]string{"google.golang.org/protobuf/encoding/protowire"}},
	{"xlabridge/xlatest", []string{"graph", "xlabridge/...", "internal/budget", "internal/floatmode",
		"internal/programs"}, nil},
	{"xlabridge/...", []string{"graph", "graph/lower", "xlabridge/...", "internal/hardware", "internal/protobuf",
		"third_party/pjrt"}, nil},
	{"envs/gymnaxtest", []string{"graph", "graph/graphtest", "graph/random", "envs", "third_party/oracles"}, nil},
	{"envs/process", []string{"graph", "graph/random", "envs"}, []string{}},
	{"envs/program", []string{"graph", "graph/random", "graph/stablehlo", "envs", "internal/files"}, []string{}},
	// Its pictures are a pinned data set, which another room fetches.
	{"envs/mnist", []string{"graph", "graph/random", "envs", "envs/draw", "rollout/dataset"}, []string{}},
	{"envs/bodies", []string{"envs/draw", "graph", "graph/scalars"}, []string{}},
	{"envs/...", []string{"graph", "graph/random", "envs/...", "internal/erase", "internal/raster"}, nil},
	{"rollout/settings", []string{"graph", "envs", "xlabridge/cache"}, []string{}},
	{"rollout/plan", []string{"graph/...", "xlabridge/...", "rollout/settings", "internal/hardware"}, []string{}},
	{"rollout/population", []string{"graph/...", "xlabridge"}, []string{}},
	{"rollout/aggregate", []string{}, []string{}},
	{"rollout/search", []string{"graph", "graph/random", "envs"}, []string{}},
	{"rollout/policy", []string{"graph/...", "envs/...", "rollout/settings", "rollout/policy/genome",
		"rollout/policy/spiking", "internal/erase", "internal/files"},
		[]string{"golang.org/x/sys/cpu"}},
	{"rollout/policy/spiking", []string{"graph/...", "rollout/settings"}, []string{}},
	{"rollout/policy/genome", []string{"graph/..."}, []string{}},
	{"rollout/episode", []string{"graph/...", "xlabridge", "envs/...", "rollout/plan", "rollout/policy",
		"rollout/population", "rollout/settings", "internal/quantity"}, []string{}},
	{"rollout/dataset", []string{"third_party", "xlabridge/fetch"}, []string{"github.com/pelletier/go-toml/v2"}},
	{"rollout/run/runfolder", []string{"graph", "graph/safetensors", "rollout/run/runfolder", "internal/files",
		"internal/protobuf"}, []string{"golang.org/x/sys/unix"}},
	{"rollout/run/runfolder/...", []string{"rollout/run/runfolder"}, []string{}},
	{"rollout/run/session", append(below, "rollout/episode", "rollout/run", "rollout/run/runfolder"),
		[]string{}},
	{"rollout/run", append(below, "rollout/episode"), []string{}},
	// A kind of run and its algorithms: no kind imports another; what is below rollout/KIND is the kind's own.
	{"rollout/selfplay/...", append(below, "rollout/run", "rollout/search", "rollout/train"), []string{}},
	// What evolve and islands share lies below both: strategies, the generation of a search, and many searches
	// vectorized in one program.
	{"rollout/evolve/strategy", append(below, "rollout/policy/genome"), []string{}},
	{"rollout/evolve/generation", append(below, "rollout/episode", "rollout/run", "rollout/evolve/strategy"),
		[]string{}},
	{"rollout/evolve/vectorized", append(below, "rollout/run", "rollout/evolve/generation"), []string{}},
	{"rollout/evolve/pool", []string{"graph", "graph/safetensors", "rollout/settings", "rollout/evolve/hosts",
		"internal/messaging"}, []string{"github.com/gofrs/flock", "github.com/nats-io/nats.go"}},
	{"rollout/evolve/hosts", []string{"rollout/evolve/hosts", "internal/messaging"},
		[]string{"github.com/nats-io/nats.go"}},
	{"rollout/evolve/hosts/hostsim", []string{"rollout/evolve/hosts"}, []string{}},
	{"rollout/islands", append(below, "rollout/episode", "rollout/run", "rollout/evolve/strategy",
		"rollout/evolve/generation", "rollout/evolve/vectorized"), []string{}},
	{"rollout/qd", append(below, "rollout/episode", "rollout/run", "rollout/run/runfolder",
		"rollout/evolve/strategy"), []string{}},
	{"rollout/train", []string{"graph/...", "rollout/population"}, []string{}},
	{"rollout/...", append(below, "rollout/episode", "rollout/run", "rollout/dataset", "rollout/train",
		"internal/credentials", "internal/messaging"), []string{}},
	{"studies/rdb/rdbtest", []string{"internal/network"}, nil},
	// The one room whose packages may import databases: what keeps studies and runs their trials.
	{"studies/...", append(below, "rollout/external", "rollout/run", "rollout/run/runfolder", "rollout/evolve/hosts",
		"studies/...", "internal/credentials", "internal/messaging"), nil},
	{"cmd/xlarun/console", []string{"envs", "rollout/settings", "xlabridge/...", "third_party/...", "internal/files",
		"internal/messaging"}, nil},
	{"cmd/xlarun/machine", []string{"graph", "xlabridge", "cmd/xlarun/console", "internal/hardware",
		"internal/quantity"}, nil},
	{"cmd/xlarun/play/onnx", []string{"graph", "internal/protobuf"}, []string{}},
	{"cmd/xlarun/play", []string{"graph/...", "xlabridge", "envs/...", "rollout/...", "cmd/xlarun/console",
		"cmd/xlarun/play/onnx",
		"cmd/xlarun/display", "cmd/xlarun/plots", "rollout/run/runfolder", "internal/quantity"}, nil},
	{"cmd/xlarun/plots", []string{"envs", "graph", "graph/safetensors", "cmd/xlarun/console", "internal/chart",
		"rollout/aggregate", "rollout/episode", "rollout/run", "rollout/run/runfolder", "rollout/settings",
		"internal/quantity"}, nil},
	{"cmd/xlarun/python", []string{"graph/...", "xlabridge/...", "envs/...", "rollout/...", "cmd/xlarun/console"},
		[]string{"github.com/spf13/cobra", "golang.org/x/sys/unix"}},
	{"cmd/xlarun-bench/bench/...", []string{"graph/...", "xlabridge/...", "envs/...", "rollout/...", "studies/...",
		"third_party/...",
		"cmd/xlarun/console", "cmd/xlarun/machine", "cmd/xlarun/display", "rollout/run/runfolder",
		"cmd/internal/peers", "cmd/xlarun-bench/bench/...", "internal/figures", "internal/hardware",
		"internal/chart", "internal/network", "internal/quantity"}, nil},
	// The command line links neither databases nor benchmarks: they are in other programs.
	{"cmd/xlarun/cli", []string{"graph/...", "xlabridge/...", "envs/...", "rollout/...", "cmd/xlarun/console",
		"cmd/xlarun/display", "cmd/xlarun/machine", "cmd/xlarun/play", "cmd/xlarun/plots", "cmd/xlarun/python",
		"cmd/internal/peers", "internal/credentials", "internal/hardware", "internal/messaging", "internal/quantity"},
		nil},
	{"cmd/xlarun", []string{"cmd/xlarun/cli"}, []string{}},
	{"cmd/internal/peers", []string{"third_party", "xlabridge/...", "internal/quantity", "cmd/xlarun/console"},
		[]string{}},
	{"cmd/internal/...", []string{"xlabridge/...", "cmd/xlarun/console", "internal/budget", "internal/programs",
		"internal/ramdisk"}, nil},
	{"cmd/...", []string{"..."}, nil},
	{"examples/...", []string{"graph/...", "xlabridge", "rollout/sparse", "rollout/dataset"}, []string{}},
	{"notebook", []string{"graph", "internal/chart"}, []string{}},
	{"docs/site", []string{}, []string{"github.com/yuin/goldmark/...", "github.com/spf13/pflag"}},
	{"internal/chart", []string{"internal/raster"}, nil},
	{"internal/raster", []string{}, []string{"golang.org/x/image/vector"}},
	{"internal/budget", []string{"internal/programs"}, []string{"github.com/pelletier/go-toml/v2"}},
	{"internal/figures", []string{}, []string{"github.com/pelletier/go-toml/v2"}},
	{"internal/plant", []string{}, []string{"github.com/pelletier/go-toml/v2"}},
	{"internal/credentials", []string{}, []string{}},
	{"internal/ramdisk", []string{}, []string{"golang.org/x/sys/unix"}},
	{"internal/messaging", []string{"internal/credentials"}, []string{
		"github.com/nats-io/nats.go", "golang.org/x/sys/unix"}},
	{"internal/network", []string{}, []string{"golang.org/x/sys/unix"}},
	{"internal/protobuf", []string{}, []string{"google.golang.org/protobuf/encoding/protowire"}},
	{"internal/...", []string{}, []string{}},
	{"third_party/...", []string{}, []string{}},
}

// testOnly are modules that tests import and no program does.
var testOnly = []string{"github.com/dop251/goja", "mvdan.cc/sh/v3"}

// onlyIn are packages of go-xla, and the only package of a program that imports each.
var onlyIn = map[string]string{"github.com/gomlx/go-xla/installer": "xlabridge/plugin"}

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
		{"graph/...", "graph", true}, {"graph/...", "graph/nn", true}, {"graph/...", "graphics", false},
		{"...", "envs", true},
	} {
		require.Equal(t, c.want, matches(c.pattern, c.path), "%s, %s", c.pattern, c.path)
	}
}

// ownRoom is what a package of a kind of run may import beside its room's list: rollout/KIND and what is below it.
func ownRoom(path string) []string {
	parts := strings.Split(path, "/")
	if parts[0] != "rollout" || len(parts) < 2 {
		return nil
	}
	return []string{"rollout/" + parts[1] + "/..."}
}

// goPackage is what `go list -json` says of a package.
type goPackage struct {
	ImportPath   string
	Standard     bool
	Imports      []string
	Module       *struct{ Path string }
	TestGoFiles  []string
	XTestGoFiles []string
}

// goList lists packages for this machine.
func goList(t *testing.T, args ...string) []goPackage {
	t.Helper()
	return goListFor(t, nil, args...)
}

// listed are answers of goListFor by its variables and arguments.
var listed = map[string][]goPackage{}

// goListFor lists packages with variables of the environment that win over this process's.
func goListFor(t *testing.T, env []string, args ...string) (packages []goPackage) {
	t.Helper()
	key := fmt.Sprint(env, args)
	if known, ok := listed[key]; ok {
		return known
	}
	const fields = "-json=ImportPath,Standard,Imports,Module,TestGoFiles,XTestGoFiles"
	cmd := exec.Command("go", append([]string{"list", fields}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	require.NoError(t, err)
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			listed[key] = packages
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}

func TestImportsKeepToTheRooms(t *testing.T) {
	const module = "xlarun"
	seen := 0
	for _, p := range goList(t, "./...") {
		path, ok := strings.CutPrefix(p.ImportPath, module+"/")
		if !ok {
			continue // the root holds only tests
		}
		i := slices.IndexFunc(rooms, func(r room) bool { return matches(r.folder, path) })
		if i < 0 {
			t.Errorf("package %s lies in no room: put it into one, or add a room here and to WORKSPACE.md", path)
			continue
		}
		seen++
		r := rooms[i]
		for _, imported := range p.Imports {
			first, _, _ := strings.Cut(imported, "/")
			if first != module && !strings.Contains(first, ".") {
				continue // of Go itself, or "C"
			}
			if slices.ContainsFunc(testOnly, func(m string) bool { return matches(m+"/...", imported) }) {
				t.Errorf("package %s imports %s, which is for tests only", path, imported)
			}
			if strings.HasPrefix(imported, "github.com/gomlx/go-xla/") && onlyIn[imported] != path {
				t.Errorf("package %s imports %s, which only %v do", path, imported, onlyIn)
			}
			allowed := r.external
			name, own := strings.CutPrefix(imported, module+"/")
			if own {
				allowed = slices.Clone(r.inside)
				if strings.HasSuffix(r.folder, "/...") {
					allowed = append(allowed, ownRoom(path)...)
				}
			} else if r.external == nil {
				continue
			}
			if !slices.ContainsFunc(allowed, func(pattern string) bool { return matches(pattern, name) }) {
				t.Errorf("package %s imports %s, which the room %s may not: it may import %s", path, imported, r.folder,
					strings.Join(allowed, ", "))
			}
		}
	}
	require.Greater(t, seen, 5, "go list found almost no packages")
}

// TestCIncludesKeepToTheirFolder: a C file includes headers of its own folder, of another package's by their path, and
// of the system. Its package imports the other package then, so that it is built anew when those headers change. No
// flag names a folder: the go command would build the package again in each checkout.
func TestCIncludesKeepToTheirFolder(t *testing.T) {
	include := regexp.MustCompile(`(?m)^\s*#\s*include\s*"([^"]+)"`)
	flags := regexp.MustCompile(`(?m)^#cgo .*(-I|SRCDIR)`)
	seen := 0
	for _, p := range goList(t, "./...") {
		if !slices.Contains(p.Imports, "C") {
			continue
		}
		folder := strings.TrimPrefix(p.ImportPath, "xlarun/")
		files, err := os.ReadDir(folder)
		require.NoError(t, err)
		for _, file := range files {
			path := filepath.Join(folder, file.Name())
			if !slices.Contains([]string{".c", ".h", ".go"}, filepath.Ext(path)) ||
				strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, m := range include.FindAllSubmatch(text, -1) {
				name := string(m[1])
				seen++
				if name == "_cgo_export.h" {
					continue
				}
				if at := filepath.Dir(filepath.Join(folder, name)); at != folder {
					require.Contains(t, p.Imports, "xlarun/"+at, "%s includes %s", path, name)
				}
				require.FileExists(t, filepath.Join(folder, name))
			}
			if m := flags.Find(text); m != nil {
				t.Errorf("%s has a flag with a folder: %s", path, m)
			}
		}
	}
	require.Greater(t, seen, 50, "almost no includes were found")
}

// TestOnlyTheBridgeCompilesC: C kernels are in xlabridge/kernels, calls of a plugin in xlabridge/internal/pjrt, and the
// plugin's memory and callbacks in xlabridge.
func TestOnlyTheBridgeCompilesC(t *testing.T) {
	var packages []string
	for _, p := range goList(t, "./...") {
		if slices.Contains(p.Imports, "C") {
			packages = append(packages, p.ImportPath)
		}
	}
	require.ElementsMatch(t, []string{"xlarun/xlabridge/goxla", "xlarun/xlabridge/internal/callback",
		"xlarun/xlabridge/internal/hostmemory", "xlarun/xlabridge/internal/pjrt", "xlarun/xlabridge/kernels"}, packages)
}

// TestNoRegistryHost finds hosts of package registries in what the repository holds: their clients know their own.
// The names are put together from halves, so that this file holds none.
func TestNoRegistryHost(t *testing.T) {
	hosts := []string{
		"py" + "pi.org", "python" + "hosted.org", "npm" + "js.org", "npm" + "js.com", "proxy.go" + "lang.org",
		"sum.go" + "lang.org",
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

// TestWhatRunsCanDo: what runs can do are fields (run.Capabilities, run.Job). Nobody asserts interfaces of rollout/run.
func TestWhatRunsCanDo(t *testing.T) {
	find := func(pattern, where string) []string {
		out, _ := exec.Command("git", "grep", "-hE", pattern, "--", where, ":!arch_test.go").Output()
		return slices.Collect(strings.Lines(string(out)))
	}
	require.Empty(t, find(`\.\(run\.`, "*.go"))
	require.Len(t, find(`^type \w+ interface`, ":(glob)rollout/run/*.go"), 5)
}
