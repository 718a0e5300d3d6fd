package bench

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/figures"
)

// --figures writes a row for each baseline that ran. The row replaces an older one, and names the commit.
func TestRecord(t *testing.T) {
	b := newBed(t, Workload{Name: "one", What: "a thing", Work: 50, Unit: "things",
		Peers: []Peer{{Name: "evosax", JAX: true, Script: "slow.py"}, {Name: "broken", Script: "broken.py"}}})
	python := peerScripts(t, map[string]string{"slow.py": scripted(`{"compile":4}`, 1), "broken.py": "exit 3"})
	require.NoError(t, os.WriteFile("figures.toml", []byte("# A comment.\n\n[[figure]]\nid = 'fake/one-evosax'\n"+
		"what = 'older'\ncommit = '00000000'\ndate = 2026-01-01\nmachine = 'm'\nrepeats = 1\n"), 0o644))
	args := []string{"--peers", "--peers-python", python, "--repeats", "2", "--figures", "figures.toml"}
	require.Equal(t, console.StatusUsage, b.do(args...))
	require.Contains(t, b.err.String(), "which is in no checkout of git")
	require.Equal(t, console.StatusUsage, b.do("--figures", "figures.toml"))
	require.Contains(t, b.err.String(), "--figures got one without --peers")

	git := func(args ...string) {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@b"}, args...)...).
			CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	git("init", "-q")
	git("add", "figures.toml")
	git("commit", "-q", "-m", "figures")
	require.Equal(t, 0, b.do(args...), b.err)
	commit, err := commitOf("--figures", "figures.toml")
	require.NoError(t, err)
	f, err := figures.Read("figures.toml")
	require.NoError(t, err)
	require.Len(t, f.Machines, 1)
	require.Len(t, f.Figures, 1, "without the baseline that failed")
	got := f.Figures[0]
	require.NotZero(t, got.Date)
	got.Date, got.Load = figures.Figure{}.Date, 0
	require.Equal(t, figures.Figure{ID: "fake/one-evosax", What: "a thing", Ours: .25, Other: 1, Ratio: 4, OursCPU: .5,
		OtherCPU: .5, RatioCPU: 1, RatioCompile: 2, Rate: 200, Unit: "things", Bytes: 1000, OtherBytes: 1000,
		Against: Peer{Name: "evosax", JAX: true}.versioned(), Commit: commit,
		Machine: f.Machines[0].Name, Repeats: 2}, got)
	text, err := os.ReadFile("figures.toml")
	require.NoError(t, err)
	require.Contains(t, string(text), "# A comment.\n\n[[machine]]\n")

	require.NoError(t, os.WriteFile("a.go", []byte("package a\n"), 0o644))
	require.Equal(t, console.StatusUsage, b.do(args...))
	require.Contains(t, b.err.String(), "whose sources differ from commit "+commit)
}

// A row names the other program with the versions that are pinned.
func TestVersions(t *testing.T) {
	version := regexp.MustCompile(` [0-9.]+\b`)
	seen := map[string]bool{}
	for _, s := range suites() {
		for _, w := range s.Workloads(Options{}) {
			for _, p := range w.Peers {
				seen[version.ReplaceAllString(p.versioned(), " V")] = true
			}
		}
	}
	for _, want := range []string{"MuJoCo V", "JAX V", "C", "brax-spring V, JAX V", "brax-generalized V, JAX V",
		"mujoco-mjx V, JAX V", "neat-python V", "evosax V, JAX V", "gymnax V, JAX V", "QDax V, JAX V", "spyx V, JAX V",
		"brainpy V, JAX V", "optuna V", "ray V", "ray-free V"} {
		require.Contains(t, seen, want)
	}
}
