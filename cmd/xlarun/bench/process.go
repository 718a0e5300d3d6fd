package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/third_party/fetch"
)

// ownProcess is this program with these arguments and the backend of bench itself. cache is its cache folder, "" for the
// user's.
func ownProcess(ctx context.Context, o console.BackendFlags, cache string, args ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args = append(args, "--backend", o.Backend)
	if o.Plugin != "" {
		args = append(args, "--plugin", o.Plugin)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = os.Environ()
	if cache != "" {
		cmd.Env = append(cmd.Env, fetch.EnvCache+"="+cache)
	}
	return cmd, nil
}

// scratchCache makes a cache folder that has the installed plugins but no programs.
func scratchCache() (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "xlarun-bench-*"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if err := EmptyCache(dir); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// EmptyCache makes dir a cache folder that has the installed plugins but no programs.
func EmptyCache(dir string) error {
	folder, err := fetch.CacheDir()
	if err != nil {
		return err
	}
	plugins := filepath.Join(folder, "plugins")
	if err := os.MkdirAll(plugins, 0o755); err != nil {
		return err
	}
	return os.Symlink(plugins, filepath.Join(dir, "plugins"))
}

// outputOf runs a command and returns its stdout; its error holds the last line of stderr.
func outputOf(cmd *exec.Cmd) (string, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", withLastLine(err, stderr.String())
	}
	return string(out), nil
}

// withLastLine puts the last line of what a program wrote to stderr before its error.
func withLastLine(err error, stderr string) error {
	if lines := strings.Split(strings.TrimSpace(stderr), "\n"); lines[len(lines)-1] != "" {
		return fmt.Errorf("%s: %w", lines[len(lines)-1], err)
	}
	return err
}

// largest is the largest of the numbers that a pattern's group finds in what a program printed, 0 where it finds none.
func largest(pattern *regexp.Regexp, out string) (float64, error) {
	most := 0.
	for _, m := range pattern.FindAllStringSubmatch(out, -1) {
		x, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0, err
		}
		most = max(most, x)
	}
	return most, nil
}
