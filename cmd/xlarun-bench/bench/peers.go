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
	"time"

	"xlarun/cmd/xlarun/console"
	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// envPeersPython names a Python that has the peers' packages.
const envPeersPython = "XLARUN_PEERS_PYTHON"

// python runs the scripts of third_party/peers.
type python struct {
	path    string // of the interpreter
	scripts string // folder that holds the scripts in its folder peers
}

// newPython finds a Python for the peers, or makes an environment with their packages in the user's cache folder, and
// writes the scripts to a temporary folder.
func newPython(ctx context.Context, h *host, path string) (*python, error) {
	if path == "" {
		path = h.Getenv(envPeersPython)
	}
	return newPythonOf(ctx, h, path, "requirements.txt")
}

// newPythonOf is newPython with the packages of a file of requirements.
func newPythonOf(ctx context.Context, h *host, path, requirements string) (*python, error) {
	if path == "" {
		var err error
		if path, err = peersEnvironment(ctx, h, requirements); err != nil {
			return nil, err
		}
	}
	if _, err := exec.LookPath(path); err != nil {
		return nil, console.BadInput("--peers-python %s is no program that can be run (%w): give the python of an "+
			"environment with the peers' packages", path, errors.Unwrap(err))
	}
	scripts, err := os.MkdirTemp("", "xlarun-peers-*")
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(scripts, thirdparty.Peers); err != nil {
		_ = os.RemoveAll(scripts)
		return nil, err
	}
	return &python{path, scripts}, nil
}

func (p *python) close() { _ = os.RemoveAll(p.scripts) }

// start starts a script that speaks the protocol. cache is the folder where JAX keeps compiled programs, "" for none.
func (p *python) start(ctx context.Context, script, cache string, limit time.Duration,
	args ...string) (*process, error) {
	cmd := exec.CommandContext(ctx, p.path, append([]string{filepath.Join(p.scripts, "peers", script)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	if cache != "" {
		cmd.Env = append(cmd.Env, "JAX_COMPILATION_CACHE_DIR="+filepath.Join(cache, "jax"),
			"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1")
	}
	return startProcess(cmd, "the peer "+script, limit)
}

// startPeer starts a script that answers questions, and waits until it is ready. end ends it.
func startPeer(ctx context.Context, h *host, python, script string, limit time.Duration) (p *process, end func(),
	err error) {
	scripts, err := newPython(ctx, h, python)
	if err != nil {
		return nil, nil, err
	}
	if p, err = scripts.start(ctx, script, "", limit); err == nil {
		err = p.read(&ready{})
	}
	if err != nil {
		scripts.close()
		return nil, nil, err
	}
	return p, func() { p.close(); scripts.close() }, nil
}

// peersEnvironment returns the python of an environment that has the pinned packages, made on first use. A file written
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
	advice := "install Python 3.11 with venv, or give a Python that has the packages of third_party/peers/" + file +
		" with --peers-python"
	if _, err := outputOf(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
		return "", fmt.Errorf("the peers' Python environment cannot be made (%w): %s", err, advice)
	}
	list := filepath.Join(dir, "requirements.txt")
	if err := os.WriteFile(list, requirements, 0o644); err != nil {
		return "", err
	}
	if _, err := outputOf(exec.CommandContext(ctx, python, "-m", "pip", "install", "--quiet",
		"--disable-pip-version-check", "-r", list)); err != nil {
		return "", fmt.Errorf("the peers' packages cannot be installed (%w): %s", err, advice)
	}
	return python, os.WriteFile(whole, nil, 0o644)
}
