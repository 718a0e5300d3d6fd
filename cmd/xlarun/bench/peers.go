package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"xlarun/cmd/xlarun/console"
	thirdparty "xlarun/third_party"
	"xlarun/third_party/fetch"
)

// envPeersPython names a Python that has the peers' packages.
const envPeersPython = "XLARUN_PEERS_PYTHON"

// peerRunner runs the programs of third_party/peers.
type peerRunner struct {
	python  string
	scripts string // a folder that holds the scripts in its folder peers
	peak    *int64 // where the peak memory of each run goes
}

// newPeerRunner finds a Python for the peers, or makes an environment with their packages in the user's cache folder,
// and lays the scripts out.
func newPeerRunner(ctx context.Context, h *host, python string) (*peerRunner, error) {
	if python == "" {
		python = h.Getenv(envPeersPython)
	}
	return newPeerRunnerOf(ctx, h, python, "requirements.txt")
}

// newPeerRunnerOf is one of the Python that is given, or of an environment with the packages of that file.
func newPeerRunnerOf(ctx context.Context, h *host, python, requirements string) (*peerRunner, error) {
	if python == "" {
		var err error
		if python, err = peersEnvironment(ctx, h, requirements); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath(python); err != nil {
		return nil, console.BadInput("--peers-python %s is no program that can be run (%w): give the python of an environment with the peers' packages", python, errors.Unwrap(err))
	}
	scripts, err := os.MkdirTemp("", "xlarun-peers-*")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(scripts, thirdparty.Peers); err != nil {
		_ = os.RemoveAll(scripts)
		return nil, err
	}
	return &peerRunner{python: python, scripts: scripts, peak: new(int64)}, nil
}

func (p *peerRunner) close() { _ = os.RemoveAll(p.scripts) }

// peersEnvironment is the python of an environment that has the pinned packages, made on first use. A file written
// last marks an environment that is whole.
func peersEnvironment(ctx context.Context, h *host, file string) (string, error) {
	requirements, err := fs.ReadFile(thirdparty.Peers, "peers/"+file)
	if err != nil {
		return "", err
	}
	folder, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(folder, "peers", fmt.Sprintf("%x", sha256.Sum256(requirements))[:12])
	python := filepath.Join(dir, "bin", "python")
	whole := filepath.Join(dir, "complete")
	if console.Exists(whole) {
		return python, nil
	}
	fmt.Fprintf(h.Out, "making a Python environment for the peers in %s (once)\n", dir)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	advice := "install Python 3.11 with venv, or give a Python that has the packages of third_party/peers/" + file + " with --peers-python"
	if _, err := outputOf(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
		return "", fmt.Errorf("the peers' Python environment cannot be made (%w): %s", err, advice)
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return "", err
	}
	if _, err := outputOf(exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", list)); err != nil {
		return "", fmt.Errorf("the peers' packages cannot be installed (%w): %s", err, advice)
	}
	return python, os.WriteFile(whole, nil, 0o644)
}

// peerTimes are a peer's seconds for a steady generation, and from its start to its first one.
type peerTimes struct{ generation, first float64 }

var evosaxLine = regexp.MustCompile(`first generation after ([0-9.]+)s; then ([0-9.]+) ms/gen`)

// script runs one of the peers' scripts with whole numbers as its arguments and returns what it printed.
func (p *peerRunner) script(ctx context.Context, name string, args ...int) (string, error) {
	argv := []string{filepath.Join(p.scripts, "peers", name)}
	for _, a := range args {
		argv = append(argv, strconv.Itoa(a))
	}
	cmd := exec.CommandContext(ctx, p.python, argv...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, peak, err := outputAndPeak(ctx, cmd)
	if err != nil {
		return "", fmt.Errorf("the peer %s failed: %w", name, err)
	}
	*p.peak = max(*p.peak, peak)
	return out, nil
}

// evosax runs evosax_cartpole.py.
func (p *peerRunner) evosax(ctx context.Context, population, hidden, generations int) (peerTimes, error) {
	out, err := p.script(ctx, "evosax_cartpole.py", population, hidden, generations)
	if err != nil {
		return peerTimes{}, err
	}
	return parseEvosax(out)
}

// gymnax runs gymnax_rollout.py: seconds of its fastest run.
func (p *peerRunner) gymnax(ctx context.Context, population, steps, hidden int) (float64, error) {
	out, err := p.script(ctx, "gymnax_rollout.py", population, steps, hidden)
	if err != nil {
		return 0, err
	}
	return parseRollout("gymnax_rollout.py", out)
}

// episodes runs episodes_jax.py: seconds of its fastest run.
func (p *peerRunner) episodes(ctx context.Context, population, steps, hidden, episodes int) (float64, error) {
	out, err := p.script(ctx, "episodes_jax.py", population, steps, hidden, episodes)
	if err != nil {
		return 0, err
	}
	return parseRollout("episodes_jax.py", out)
}

var rolloutLine = regexp.MustCompile(`(?m)^POP=.*: ([0-9.]+) ms `)

func parseRollout(name, out string) (float64, error) {
	m := rolloutLine.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the peer %s printed %q, which holds no time", name, out)
	}
	ms, err := strconv.ParseFloat(m[1], 64)
	return ms / 1e3, err
}

func parseEvosax(out string) (peerTimes, error) {
	m := evosaxLine.FindStringSubmatch(out)
	if m == nil {
		return peerTimes{}, fmt.Errorf("the peer evosax_cartpole.py printed %q, which holds no times", out)
	}
	first, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return peerTimes{}, err
	}
	ms, err := strconv.ParseFloat(m[2], 64)
	return peerTimes{generation: ms / 1e3, first: first}, err
}
