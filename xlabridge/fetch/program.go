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

// FromProgram downloads dst's artifact with its registry's own client, which supports keyrings, client certificates and
// settings that this package does not. command returns the program with its arguments, and additions to the
// environment, for a folder that the client puts the file into. That folder lies beside dst's file.
func FromProgram(ctx context.Context, dst *Sink, command func(dir string) (args, env []string)) error {
	dir, err := os.MkdirTemp(filepath.Dir(dst.f.Name()), "program-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return err
	}
	args, env := command(dir)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	ownGroup(cmd)
	cmd.WaitDelay = time.Second
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output

	// Clients print their progress to terminals only; the sizes of their files show it too.
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
				dst.report(min(folderSize(dir), dst.a.Size))
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
	file, err := os.Open(filepath.Join(dir, dst.a.File))
	if err != nil {
		return fmt.Errorf("it brought no %s", dst.a.File)
	}
	defer func() { _ = file.Close() }()
	return dst.CopyFrom(ctx, file)
}

// lastLine returns the last line of a program's output, or err's text if there is no output.
func lastLine(output string, err error) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return strings.TrimPrefix(last, "ERROR: ")
	}
	return err.Error()
}

// folderSize returns the total size of the files below dir in bytes.
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
