package cli

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/runfolder"
)

// runFlags are the flags of every command whose runs have a folder.
type runFlags struct {
	backendOptions
	file string // --config
	out  string
	json bool
}

// addOutput adds the flags that come last; kind is what ends the name of the run's folder.
func (o *runFlags) addOutput(f *pflag.FlagSet, kind string) {
	f.StringVar(&o.file, "config", "", "TOML file of such flags; those of the command line win")
	f.StringVar(&o.out, "out", "", `folder of the run, "none" for no folder (default "runs/TIME-`+kind+`")`)
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
}

// newFolder makes the run's folder; nil: none is wanted.
func (a *app) newFolder(o *runFlags, kind string) (*runfolder.Folder, error) {
	dir := o.out
	if dir == "" {
		dir = unused(filepath.Join("runs", a.now().Format("20060102-150405")+"-"+kind))
	}
	if dir == "none" {
		return nil, nil
	}
	folder, err := runfolder.Prepare(dir)
	if err != nil {
		return nil, badInput("--out %s cannot be written: %w; name another folder, or --out none for no folder", dir, err)
	}
	return folder, nil
}

// supervise works in a goroutine of its own, so that an interrupt is heard while a call into the compiler or onto the
// devices is under way; finish gets what work ended with, or errInterrupted while it is still inside a call.
func supervise(ctx context.Context, work func(context.Context) error, finish func(cause error) error) error {
	done := make(chan error, 1)
	go func() { done <- work(ctx) }()
	select {
	case err := <-done:
		return finish(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return finish(err)
	case <-time.After(grace / 2):
		return finish(errInterrupted)
	}
}
