package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"xlarun/xlabridge"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/plugin"
)

// Reference is the backend of the interpreter.
const Reference = "reference"

// backends are the values of --backend.
var backends = append(slices.Clone(plugin.Backends), Reference)

// BackendFlags are the flags that say what programs run on.
type BackendFlags struct {
	Backend string
	Plugin  string // path, "" to look it up
	Devices int    // 0: all cores of a CPU, all devices of anything else
	NoCache bool
}

// AddBackend adds --backend and --plugin.
func (o *BackendFlags) AddBackend(f *pflag.FlagSet) {
	f.StringVar(&o.Backend, "backend", "cpu", "what to run on: "+strings.Join(backends, ", "))
	f.StringVar(&o.Plugin, "plugin", "", "PJRT plugin file to use instead of the pinned one")
}

// AddDevices adds --backend, --plugin and --devices.
func (o *BackendFlags) AddDevices(f *pflag.FlagSet) {
	o.AddBackend(f)
	f.IntVar(&o.Devices, "devices", 0, "devices to run on; 0 for all, on cpu one a core")
}

// Check refuses values that no backend takes.
func (o *BackendFlags) Check() error {
	if !slices.Contains(backends, o.Backend) {
		return BadInput("--backend got %q, wants one of %s%s", o.Backend, strings.Join(backends, ", "),
			LikeBackend(o.Backend, backends))
	}
	if o.Devices < 0 || o.Devices > xlabridge.MaxCPUDevices {
		return BadInput("--devices got %d, wants 1 to %d, or 0 for all", o.Devices, xlabridge.MaxCPUDevices)
	}
	if o.Backend == Reference && o.Devices > 1 {
		return BadInput("--devices got %d, but the reference interpreter has 1 device: leave it out, or use another "+
			"backend", o.Devices)
	}
	return nil
}

// LikeBackend is DidYouMean for backends, one of which goes by other names elsewhere.
func LikeBackend(name string, known []string) string {
	if slices.Contains([]string{"gpu", "nvidia"}, strings.ToLower(name)) {
		return ", did you mean cuda?"
	}
	return DidYouMean(name, known)
}

// Listener hears of a slow start. One with a method Warn(line string) hears there of a cache that is damaged or cannot
// be written, else as a notice.
type Listener interface {
	Download(done, total int64)
	Notice(line string)
}

// Opener opens what o names; l hears of what takes its time.
type Opener func(ctx context.Context, o BackendFlags, l Listener) (xlabridge.Backend, error)

// OpenBackend is the Opener of this machine. A plugin that the user chose and that cannot be used is bad input.
func OpenBackend(ctx context.Context, o BackendFlags, l Listener) (xlabridge.Backend, error) {
	if o.Backend == Reference {
		return &xlabridge.Reference{}, nil
	}
	warn := l.Notice
	if w, ok := l.(interface{ Warn(line string) }); ok {
		warn = w.Warn
	}
	client, err := xlabridge.Open(ctx, xlabridge.Options{
		Backend: o.Backend, PluginPath: o.Plugin, Devices: o.AskFor(), NoCache: o.NoCache,
		Progress: l.Download, Notice: l.Notice, Warn: warn,
	})
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

// Preload begins what OpenBackend will do, where that may be done in the background: a plugin for cpu logs nothing
// meanwhile.
func Preload(o BackendFlags) {
	if o.Backend == "cpu" {
		xlabridge.Preload(xlabridge.Options{Backend: o.Backend, PluginPath: o.Plugin})
	}
}

// AskFor is the number of devices to ask the backend for: on cpu a core each, unless the user said otherwise.
func (o BackendFlags) AskFor() int {
	if o.Backend == "cpu" && o.Devices == 0 {
		return min(runtime.GOMAXPROCS(0), xlabridge.MaxCPUDevices)
	}
	return o.Devices
}

// Expect is the number of devices that the backend will have, 0 where only it can tell.
func (o BackendFlags) Expect() int {
	if o.Backend == Reference {
		return 1
	}
	return o.AskFor()
}

// DevicesText is "2 cpu devices".
func DevicesText(n int, backend string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s device", backend)
	}
	return fmt.Sprintf("%d %s devices", n, backend)
}
