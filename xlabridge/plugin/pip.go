package plugin

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// fromPip leaves the download to pip, which knows ways (keyrings, netrc, client
// certificates) that the others do not.
func fromPip(ctx context.Context, w *wheel, dst *sink) error {
	python, err := exec.LookPath("python3")
	if err != nil {
		if python, err = exec.LookPath("python"); err != nil {
			return errors.New("there is no python3 on this machine")
		}
	}
	return runPip(ctx, []string{python, "-m", "pip"}, w, dst)
}

// runPip runs the command pip (its program and first arguments). All that it
// writes goes beside dst's file, so that it is removed with it.
func runPip(ctx context.Context, pip []string, w *wheel, dst *sink) error {
	dir, err := os.MkdirTemp(filepath.Dir(dst.f.Name()), "pip-")
	if err != nil {
		return writeError{err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return writeError{err}
	}
	args := append(pip[1:len(pip):len(pip)], pipArguments(w, dir)...)
	cmd := exec.CommandContext(ctx, pip[0], args...)
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PIP_REQUIRE_VIRTUALENV=false")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	// pip tells its progress to terminals only; its files tell it as well.
	var watcher sync.WaitGroup
	ended := make(chan struct{})
	watcher.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-tick.C:
				dst.done(min(folderSize(dir), w.Size))
			}
		}
	})
	err = cmd.Run()
	close(ended)
	watcher.Wait()
	return brought(ctx, err, output.String(), filepath.Join(dir, w.File), dst)
}

// pipArguments asks for exactly the pinned wheel, whatever Python runs pip: the
// tags are those of the file's name.
func pipArguments(w *wheel, dir string) []string {
	args := []string{"download", "--quiet", "--no-deps", "--no-input", "--disable-pip-version-check",
		"--retries", "2", "--only-binary=:all:", "--dest", dir}
	tags := strings.Split(strings.TrimSuffix(w.File, ".whl"), "-")
	if len(tags) >= 5 {
		python, abi, platforms := tags[len(tags)-3], tags[len(tags)-2], tags[len(tags)-1]
		for _, p := range strings.Split(platforms, ".") {
			args = append(args, "--platform", p)
		}
		if version, ok := strings.CutPrefix(python, "cp"); ok {
			args = append(args, "--implementation", "cp", "--python-version", version, "--abi", abi)
		}
	}
	return append(args, w.Name+"=="+w.Version)
}

// lastLine is the last line of a program's output with a word in it, else err.
func lastLine(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return strings.TrimPrefix(last, "ERROR: ")
	}
	return err.Error()
}

// folderSize is the size of the files below dir in bytes.
func folderSize(dir string) int64 {
	var n int64
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				n += info.Size()
			}
		}
		return nil
	})
	return n
}
