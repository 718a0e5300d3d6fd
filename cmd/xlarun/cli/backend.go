package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"xlarun/third_party/fetch"
	"xlarun/third_party/fetch/plugin"
	"xlarun/xlabridge"
)

const reference = "reference"

// backends are the values of --backend.
var backends = append(slices.Clone(plugin.Backends), reference)

// backendOptions are the flags that say what programs run on.
type backendOptions struct {
	backend string
	plugin  string // path, "" to look it up
	devices int    // 0: all cores of a CPU, all devices of anything else
	noCache bool
}

func (o *backendOptions) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.backend, "backend", "cpu", "what to run on: "+strings.Join(backends, ", "))
	f.StringVar(&o.plugin, "plugin", "", "PJRT plugin file to use instead of the pinned one")
}

// addDevices adds the flags, and that of the number of devices.
func (o *backendOptions) addDevices(f *pflag.FlagSet) {
	o.addFlags(f)
	f.IntVar(&o.devices, "devices", 0, "devices to run on; 0 for all, on cpu one a core")
}

func (o *backendOptions) check() error {
	if !slices.Contains(backends, o.backend) {
		return badInput("--backend got %q, wants one of %s%s", o.backend, strings.Join(backends, ", "), likeBackend(o.backend, backends))
	}
	if o.devices < 0 || o.devices > xlabridge.MaxCPUDevices {
		return badInput("--devices got %d, wants 1 to %d, or 0 for all", o.devices, xlabridge.MaxCPUDevices)
	}
	if o.backend == reference && o.devices > 1 {
		return badInput("--devices got %d, but the reference interpreter has 1 device: leave it out, or use another backend", o.devices)
	}
	return nil
}

// likeBackend is didYouMean for backends, one of which goes by other names elsewhere.
func likeBackend(name string, known []string) string {
	if slices.Contains([]string{"gpu", "nvidia"}, strings.ToLower(name)) {
		return ", did you mean cuda?"
	}
	return didYouMean(name, known)
}

// listener hears of a slow start. One with a method Warn(line string) hears there of a cache that is damaged or cannot be
// written, else as a notice.
type listener interface {
	Download(done, total int64)
	Notice(line string)
}

// openBackend opens what o names. A plugin that the user chose and that cannot be used is bad input.
func openBackend(ctx context.Context, o backendOptions, l listener) (xlabridge.Backend, error) {
	if o.backend == reference {
		return newNaNFinder(), nil
	}
	warn := l.Notice
	if w, ok := l.(interface{ Warn(line string) }); ok {
		warn = w.Warn
	}
	client, err := xlabridge.Open(ctx, xlabridge.Options{
		Backend: o.backend, PluginPath: o.plugin, Devices: cpuDevices(o), NoCache: o.noCache,
		Progress: l.Download, Notice: l.Notice, Warn: warn,
	})
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return nil, errInterrupted
	case errors.Is(err, fetch.ErrNotInstalled):
		return nil, err
	case o.plugin != "" || o.backend == "cpu" && os.Getenv(plugin.EnvPath) != "":
		return nil, usageError{err}
	}
	return nil, err
}

// cpuDevices is the number of devices to ask for: on cpu a core each, unless the user said otherwise.
func cpuDevices(o backendOptions) int {
	if o.backend == "cpu" && o.devices == 0 {
		return min(runtime.GOMAXPROCS(0), xlabridge.MaxCPUDevices)
	}
	return o.devices
}

// devicesText is "2 cpu devices".
func devicesText(n int, backend string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s device", backend)
	}
	return fmt.Sprintf("%d %s devices", n, backend)
}
