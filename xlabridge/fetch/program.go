package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// FromProgram leaves the download of dst's artefact to its registry's own client, which knows ways (keyrings, client
// certificates) that this package does not. command gives the program and its arguments, and what to add to the
// environment, for a folder into which the client shall put the file. All that it writes goes beside dst's file, so
// that it is removed with it.
func FromProgram(ctx context.Context, dst *Sink, command func(dir string) (args, env []string)) error {
	dir, err := os.MkdirTemp(filepath.Dir(dst.f.Name()), "program-")
	if err != nil {
		return WriteError{err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return WriteError{err}
	}
	args, env := command(dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	// Such a client tells its progress to terminals only; its files tell it as well.
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
				dst.done(min(folderSize(dir), dst.a.Size))
			}
		}
	})
	err = cmd.Run()
	close(ended)
	watcher.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("it says: %s", lastLine(output.String(), err))
	}
	file := filepath.Join(dir, dst.a.File)
	if _, err := os.Stat(file); err != nil {
		return fmt.Errorf("it brought no %s", dst.a.File)
	}
	return dst.CopyFile(ctx, file)
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
