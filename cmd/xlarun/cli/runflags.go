package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/runfolder"
)

// runFlags are the flags of every command whose runs have a folder.
type runFlags struct {
	console.BackendFlags
	file   string // --config
	memory string // as it was typed
	out    string
	json   bool
}

func (o *runFlags) addMemory(f *pflag.FlagSet) {
	f.StringVar(&o.memory, "memory", "", `memory that the run's arrays may take on all devices, as 2G or 500MiB (default what is free)`)
}

// memoryBudget is what --memory says in bytes, 0 where it says nothing.
func (o *runFlags) memoryBudget() (int64, error) {
	if o.memory == "" {
		return 0, nil
	}
	n, err := console.ParseBytes(o.memory)
	if err != nil || n <= 0 {
		return 0, console.BadInput("--memory got %q, wants a number of bytes such as 2G, 500M or 1.5GiB", o.memory)
	}
	return n, nil
}

// addOutput adds the flags that come last; kind is what ends the name of the run's folder.
func (o *runFlags) addOutput(f *pflag.FlagSet, kind string) {
	f.StringVar(&o.file, "config", "", "TOML file of such flags; those of the command line win")
	f.StringVar(&o.out, "out", "", `folder of the run, "none" for no folder (default "runs/TIME-`+kind+`")`)
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON, the result")
}

// badKey words what is wrong with a field of a config, with the name of the flag that sets it.
func badKey(flags map[string]string, field, got, wants string) error {
	if name, ok := flags[field]; ok {
		field = "--" + name
	}
	return console.BadInput("%s got %s, wants %s", field, got, wants)
}

// unused is dir, or dir with a number behind it where that exists already.
func unused(dir string) string {
	name := dir
	for i := 2; console.Exists(name); i++ {
		name = fmt.Sprintf("%s-%d", dir, i)
	}
	return name
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
	folder, err := runfolder.Create(dir, runfolder.Options{})
	if err != nil {
		return nil, console.BadInput("--out %s cannot be written: %w; name another folder, or --out none for no folder", dir, err)
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
	case <-time.After(console.Grace / 2):
		return finish(console.ErrInterrupted)
	}
}
