// Package peers runs the comparison programs of third_party/peers: it finds or makes their Python environment, and
// compiles their JAX programs for devices that are not there.
package peers

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"xlarun/cmd/xlarun/console"
	thirdparty "xlarun/third_party"
	"xlarun/xlabridge/fetch"
)

// EnvPython names a Python that has the peers' packages.
const EnvPython = "XLARUN_PEERS_PYTHON"

// Requirements of the environments: of programs that run on a CPU, on a GPU of NVIDIA and on a TPU, and of programs
// that are compiled for devices that are not there.
const (
	RunRequirements   = "requirements.txt"
	CUDARequirements  = "requirements-cuda.txt"
	TPURequirements   = "requirements-tpu.txt"
	AheadRequirements = "requirements-aot.txt"
)

// lastRequirements are installed after those of any environment, over what is there.
const lastRequirements = "requirements-last.txt"

// Python runs the scripts of third_party/peers.
type Python struct {
	Path    string // of the interpreter
	scripts string // folder that holds the scripts in its folder peers
}

// Open finds a Python for the peers and writes the scripts to a temporary folder. If path is empty, it makes an
// environment with the packages of a file of requirements in the user's cache folder, once, and says so on out.
func Open(ctx context.Context, out io.Writer, path, requirements string) (*Python, error) {
	if path == "" {
		var err error
		if path, err = environment(ctx, out, requirements); err != nil {
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
	return &Python{path, scripts}, nil
}

// Close removes the scripts.
func (p *Python) Close() { _ = os.RemoveAll(p.scripts) }

// Command returns a command that runs a script. It writes no compiled Python files.
func (p *Python) Command(ctx context.Context, script string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, append([]string{filepath.Join(p.scripts, "peers", script)}, args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// Output runs a command and returns its output. The error of one that fails has the last line that it wrote.
func Output(cmd *exec.Cmd) (string, error) {
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		lines := strings.Split(strings.TrimSpace(string(failed.Stderr)), "\n")
		return "", fmt.Errorf("%s: %w", strings.TrimSpace(lines[len(lines)-1]), err)
	}
	return string(out), err
}

// requirementsIn returns the text of a file of requirements, with the files that it names instead of their lines.
func requirementsIn(file string) ([]byte, error) {
	text, err := fs.ReadFile(thirdparty.Peers, "peers/"+file)
	if err != nil {
		return nil, err
	}
	var out []byte
	for line := range bytes.Lines(text) {
		if name, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("-r ")); ok {
			if line, err = requirementsIn(string(name)); err != nil {
				return nil, err
			}
		}
		out = append(out, line...)
	}
	return out, nil
}

// environment returns the python of an environment that has the pinned packages, made on first use. A file written last
// marks an environment that is whole.
func environment(ctx context.Context, out io.Writer, file string) (string, error) {
	requirements, err := requirementsIn(file)
	if err != nil {
		return "", err
	}
	folder, err := fetch.CacheDir()
	if err != nil {
		return "", err
	}
	last, err := requirementsIn(lastRequirements)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(folder, "peers", fmt.Sprintf("%x", sha256.Sum256(slices.Concat(requirements, last)))[:12])
	python := filepath.Join(dir, "bin", "python")
	whole := filepath.Join(dir, "complete")
	if console.Exists(whole) {
		return python, nil
	}
	fmt.Fprintf(out, "making a Python environment for the peers in %s (once)\n", dir)
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	advice := "install Python 3.11 with venv, or give a Python that has the packages of third_party/peers/" + file +
		" with --peers-python"
	if _, err := Output(exec.CommandContext(ctx, "python3", "-m", "venv", dir)); err != nil {
		return "", fmt.Errorf("the peers' Python environment cannot be made (%w): %s", err, advice)
	}
	for _, step := range []struct {
		file    string
		text    []byte
		options []string
	}{{"requirements.txt", requirements, nil}, {lastRequirements, last, []string{"--no-deps", "--force-reinstall"}}} {
		list := filepath.Join(dir, step.file)
		if err := os.WriteFile(list, step.text, 0o644); err != nil {
			return "", err
		}
		pip := exec.CommandContext(ctx, python, "-m", "pip", "install", "--progress-bar", "off", "--no-color",
			"--disable-pip-version-check", "-r", list)
		pip.Args = append(pip.Args, step.options...)
		if err := runPip(out, pip); err != nil {
			return "", fmt.Errorf("the peers' packages cannot be installed (%w): %s", err, advice)
		}
	}
	return python, os.WriteFile(whole, nil, 0o644)
}
