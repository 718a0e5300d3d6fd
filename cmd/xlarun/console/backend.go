package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/plugin"
	"xlarun/xlabridge/topology"
)

// Reference is the backend of the interpreter.
const Reference = "reference"

// backends are the values of --backend.
var backends = append(slices.Clone(plugin.Backends), Reference)

// BackendFlags holds the flags that choose the backend and its devices.
type BackendFlags struct {
	Backend   string
	Plugin    string // path; "" means search for it
	Devices   int    // 0 means all; a CPU has one for each core
	NoCache   bool
	PlansOnly bool   // plans are read from the cache, and every program is compiled
	Renew     bool   // compile programs again that were compiled without their device
	Topology  string // devices that are compiled for and need not be there (topology.Parse); "": those that are there
	// Memory says how much of a GPU's memory is taken.
	Memory xlabridge.DeviceMemoryOptions
}

// AddBackend adds --backend, --plugin and the flags of MemorySettings.
func (o *BackendFlags) AddBackend(f *pflag.FlagSet) {
	f.StringVar(&o.Backend, "backend", "cpu", "what to run on: "+strings.Join(backends, ", "))
	f.StringVar(&o.Plugin, "plugin", "", "PJRT plugin file to use instead of the pinned one")
	o.addMemory(f)
}

// AddDevices adds --backend, --plugin and --devices.
func (o *BackendFlags) AddDevices(f *pflag.FlagSet) {
	o.AddBackend(f)
	f.IntVar(&o.Devices, "devices", 0, "devices to run on; 0 for all, on cpu one a core")
}

// Check returns an error for values that no backend supports.
func (o *BackendFlags) Check() error {
	if !slices.Contains(backends, o.Backend) {
		return BadInput("--backend got %q, wants one of %s%s", o.Backend, strings.Join(backends, ", "),
			LikeBackend(o.Backend, backends))
	}
	if err := o.Memory.Check(o.Backend, o.Topology != ""); err != nil {
		return BadInput("--%w", err)
	}
	if o.Devices < 0 || o.Devices > xlabridge.MaxCPUDevices {
		return BadInput("--devices got %d, wants 1 to %d, or 0 for all", o.Devices, xlabridge.MaxCPUDevices)
	}
	if o.Topology != "" {
		t, err := topology.Parse(o.Topology)
		if err != nil {
			return BadInput("--topology %w", err)
		}
		if t.Backend != o.Backend {
			return BadInput("--topology got %s, which is a device of the backend %s, and --backend %s: leave "+
				"--backend out", o.Topology, t.Backend, o.Backend)
		}
		if o.Devices > t.Devices {
			return BadInput("--devices got %d, but %s has %d: leave it out, or name a larger target", o.Devices,
				o.Topology, t.Devices)
		}
	}
	if o.Backend == Reference && o.Devices > 1 {
		return BadInput("--devices got %d, but the reference interpreter has 1 device: leave it out, or use another "+
			"backend", o.Devices)
	}
	return nil
}

// LikeBackend is DidYouMean for backends. It also knows other names of cuda and rocm.
func LikeBackend(name string, known []string) string {
	switch strings.ToLower(name) {
	case "gpu", "nvidia":
		return ", did you mean cuda?"
	case "amd", "hip":
		return ", did you mean rocm?"
	}
	return DidYouMean(name, known)
}

// Listener receives the progress of a slow start. If it has a method Warn(line string), that receives the problems of
// the cache; else Notice does.
type Listener interface {
	Download(done, total int64)
	Notice(line string)
}

// Notices is a Listener that writes notices, and no progress.
type Notices struct{ io.Writer }

// Download implements Listener.
func (Notices) Download(int64, int64) {}

// Notice implements Listener.
func (n Notices) Notice(line string) { fmt.Fprintln(n.Writer, line) }

// Opener opens the backend that o chooses. l receives the progress.
type Opener func(ctx context.Context, o BackendFlags, l Listener) (xlabridge.Backend, error)

// OpenBackend is the Opener for this machine. If the user named a plugin that cannot be used, the error is a usage
// error.
func OpenBackend(ctx context.Context, o BackendFlags, l Listener) (xlabridge.Backend, error) {
	if o.Backend == Reference {
		return &xlabridge.Reference{}, nil
	}
	warn := l.Notice
	if w, ok := l.(interface{ Warn(line string) }); ok {
		warn = w.Warn
	}
	options := xlabridge.Options{
		Backend: o.Backend, PluginPath: o.Plugin, Devices: o.AskFor(), NoCache: o.NoCache,
		PlansOnly: o.PlansOnly,
		Progress:  l.Download, Notice: l.Notice, Warn: warn, Renew: o.Renew, DeviceMemory: o.Memory,
	}
	if o.Topology != "" {
		t, err := topology.Parse(o.Topology)
		if err != nil {
			return nil, BadInput("--topology %w", err)
		}
		// The commands with a target make programs only. Some of them have shapes that follow from results.
		options.Topology, options.Zeros = &t, true
	}
	client, err := xlabridge.Open(ctx, options)
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, ErrInterrupted
	case errors.Is(err, fetch.ErrNotInstalled):
		return nil, err
	case o.Plugin != "" || o.Backend == "cpu" && os.Getenv(plugin.EnvPath) != "":
		return nil, UsageError{err}
	}
	return nil, err
}

// Preload loads the plugin of the cpu backend in the background, for a later OpenBackend. Other plugins write logs
// while they load.
func Preload(o BackendFlags) {
	if o.Backend == "cpu" {
		xlabridge.Options{Backend: o.Backend, PluginPath: o.Plugin}.Preload()
	}
}

// AskFor returns the number of devices to request from the backend. The default on cpu is one for each core.
func (o BackendFlags) AskFor() int {
	if o.Backend == "cpu" && o.Devices == 0 {
		return min(runtime.GOMAXPROCS(0), xlabridge.MaxCPUDevices)
	}
	return o.Devices
}

// Expect returns the number of devices that the backend will have, or 0 if that is not known.
func (o BackendFlags) Expect() int {
	if o.Backend == Reference {
		return 1
	}
	return o.AskFor()
}

// DevicesText returns a text such as "2 cpu devices".
func DevicesText(n int, backend string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s device", backend)
	}
	return fmt.Sprintf("%d %s devices", n, backend)
}
