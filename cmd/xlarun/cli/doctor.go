package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/graph"
	"xlarun/internal/hardware"
	"xlarun/internal/quantity"
	"xlarun/xlabridge"
	"xlarun/xlabridge/cache"
	"xlarun/xlabridge/fetch"
	"xlarun/xlabridge/kernels"
	"xlarun/xlabridge/plugin"
)

func doctorCommand(a *App) *cobra.Command {
	var o console.BackendFlags
	var m meshFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what is installed, which devices there are, and whether a small program runs",
		Long: "Doctor looks at this machine, downloads nothing, compiles and runs one small program, and ends with " +
			"status 1 where something is broken. With --coordinator it tries whether the devices of several " +
			"processes form one mesh: start it in each.",
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			mesh, leave, err := m.open(cmd.Context())
			if err != nil {
				return err
			}
			defer leave()
			return (&doctor{App: a, style: display.StyleOf(a.Getenv), mesh: mesh}).examine(cmd.Context(), o)
		},
	}
	o.AddBackend(cmd.Flags())
	m.add(cmd.Flags())
	return cmd
}

// doctor prints each finding at once.
type doctor struct {
	*App
	style    display.Style
	mesh     *xlabridge.Distributed // nil: this process has its own devices only
	problems int
}

func (d *doctor) say(mark, topic, format string, args ...any) {
	fmt.Fprintf(d.Out, "%-7s %-8s %s\n", mark, topic, fmt.Sprintf(format, args...))
}

func (d *doctor) ok(topic, format string, args ...any)   { d.say("ok", topic, format, args...) }
func (d *doctor) note(topic, format string, args ...any) { d.say("-", topic, format, args...) }
func (d *doctor) problem(topic, format string, args ...any) {
	d.problems++
	d.say("PROBLEM", topic, format, args...)
}

func (d *doctor) examine(ctx context.Context, o console.BackendFlags) error {
	d.ok("xlarun", "%s, %s", console.Version(), runtime.Version())
	memory := ""
	if m, err := hardware.OfProcess(); err == nil && m.Limit > 0 {
		memory = ", " + display.Bytes(m.Limit) + " of memory"
	}
	cores := quantity.Count(runtime.NumCPU(), "core", "cores")
	if n, by := machine.Cores(d.Getenv); n < runtime.NumCPU() {
		cores += fmt.Sprintf(" of which %d may be used (%s)", n, by)
	}
	d.ok("machine", "%s/%s, %s%s", runtime.GOOS, runtime.GOARCH, cores, memory)
	d.folder()
	d.plugins(o.Backend)
	d.cache()
	d.backend(ctx, o)
	if ctx.Err() != nil {
		return console.ErrInterrupted
	}
	if d.problems > 0 {
		return fmt.Errorf("found %s: see above for what to do", quantity.Count(d.problems, "problem", "problems"))
	}
	return nil
}

// folder checks whether plugins and programs can be stored.
func (d *doctor) folder() {
	dir, err := fetch.CacheDir()
	if err != nil {
		d.problem("folder", "%s", console.OneLine(err))
		return
	}
	// If the folder does not exist yet, its nearest parent is checked.
	existing := dir
	for !console.Exists(existing) && existing != filepath.Dir(existing) {
		existing = filepath.Dir(existing)
	}
	probe, err := os.CreateTemp(existing, ".doctor-*")
	if err != nil {
		d.problem("folder", "%s cannot be written (%v): make it writable, or set %s to a folder that is", dir,
			console.Cause(err), fetch.EnvCache)
		return
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	d.ok("folder", "%s keeps plugins and compiled programs", dir)
}

// plugins lists the plugins. A damaged plugin is a problem only for its own backend.
func (d *doctor) plugins(needed string) {
	entries, err := plugin.List()
	if err != nil {
		d.problem("plugin", "%s", console.OneLine(err))
		return
	}
	for _, e := range entries {
		name := fmt.Sprintf("%s: %s %s", e.Backend, e.Name, e.Version)
		switch {
		case e.Installed:
			d.ok("plugin", "%s, %s", name, pluginState(e))
		case e.Damage != "":
			d.note("plugin", "%s, damaged (%s): it is installed anew when next used", name, e.Damage)
		case e.Backend == "cuda" && needed != "cuda" && len(gpus()) > 0:
			d.note("plugin", "%s, not installed though there is an NVIDIA GPU: xlarun plugin install cuda, then "+
				"--backend cuda", name)
		default:
			d.note("plugin", "%s, not installed", name)
		}
	}
	if list := d.Getenv(plugin.EnvPath); list != "" {
		d.note("plugin", "%s is set to %s and is looked at first", plugin.EnvPath, list)
	}
}

func gpus() []string {
	devices, _ := filepath.Glob("/dev/nvidia[0-9]*")
	return devices
}

func (d *doctor) cache() {
	if _, err := openCache(); err != nil {
		return // the check of the folder has said so
	}
	k, err := readCache((*cache.Cache).Verify)
	if err != nil {
		d.problem("cache", "%s", console.OneLine(err))
		return
	}
	if k.Damaged > 0 {
		d.note("cache", "%s; %d damaged: these are made anew when next used", sizesText(k.programs, k.plans), k.Damaged)
		return
	}
	d.ok("cache", "%s", sizesText(k.programs, k.plans))
}

// backend opens the backend without a download, and runs a small program on it.
func (d *doctor) backend(ctx context.Context, o console.BackendFlags) {
	start := time.Now()
	var b xlabridge.Backend
	if o.Backend == console.Reference {
		b = &xlabridge.Reference{}
	} else {
		c, err := xlabridge.Open(ctx, xlabridge.Options{Backend: o.Backend, PluginPath: o.Plugin, Devices: o.AskFor(),
			Offline: true, Distributed: d.mesh, DeviceMemory: o.Memory})
		if errors.Is(err, fetch.ErrNotInstalled) {
			d.problem("backend", "the plugin of %s is not installed: run xlarun plugin install %s (xlarun evolve "+
				"does so by itself)", o.Backend, o.Backend)
			return
		}
		if err != nil {
			d.problem("backend", "%s", console.OneLine(err))
			return
		}
		b = c
		major, minor := c.PluginAPI()
		d.ok("backend", "%s (%s), PJRT %d.%d%s, opened in %s", c.Backend(), strings.Split(c.PlatformVersion(), "\n")[0],
			major, minor, stableHLO(c.StableHLO()), milliseconds(time.Since(start)))
		names, err := c.DeviceDescriptions()
		if err != nil {
			d.problem("devices", "%s", console.OneLine(err))
		} else {
			d.ok("devices", "%d: %s", len(names), strings.Join(names, ", "))
		}
		if all, err := c.NumGlobalDevices(); d.mesh != nil && err != nil {
			d.problem("mesh", "%s", console.OneLine(err))
		} else if d.mesh != nil {
			d.ok("mesh", "%s, %s", quantity.Count(d.mesh.NumProcesses, "process", "processes"),
				quantity.Count(all, "device", "devices"))
		}
		if c.Platform() == "cpu" {
			d.products("bf16", "bfloat16", "avx512_bf16 nor amx_bf16", c.BF16Method())
			d.products("int8", "int8", "avx512_vnni nor amx_int8", c.Int8Method())
		}
	}
	defer func() { _ = b.Close() }()
	if err := smallProgram(b); err != nil {
		d.problem("program", "%s; run xlarun plugin install %s, or use --backend reference", console.OneLine(err),
			o.Backend)
		return
	}
	d.ok("program", "a small program gave the right result on %s, %s in all", b.Backend(),
		milliseconds(time.Since(start)))
}

// stableHLO names the newest version of StableHLO that a plugin reads, if it says one.
func stableHLO(version string) string {
	if version == "" {
		return ""
	}
	return ", StableHLO " + version
}

// products says how matrices of a type are multiplied, which needs one of two kinds of instructions.
func (d *doctor) products(short, name, needed, method string) {
	if method != "" {
		d.ok(short, "products of %s by a kernel for %s", name, method)
		return
	}
	d.note(short, "products of %s have no kernel: the processor has neither %s, or %s (now %q) switches it off", name,
		needed, kernels.Env, d.Getenv(kernels.Env))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.0f ms", float64(d)/float64(time.Millisecond))
}

// smallProgram computes the sum of the squares of 0 to 99 by a matrix product and by a loop, and compares them.
func smallProgram(b xlabridge.Backend) error {
	f := xlabridge.Jit(b, func(x *graph.Array) *graph.Array {
		total, _ := graph.Scan(func(sum, row *graph.Array) (*graph.Array, graph.None) {
			return graph.Add(sum, graph.Dot(row, row)), graph.None{}
		}, graph.Scalar(0), graph.Reshape(x, 10, 10))
		return total
	}, xlabridge.JitOptions{Name: "doctor"})
	x := make([]float32, 100)
	want := 0.
	for i := range x {
		x[i] = float32(i)
		want += float64(i * i)
	}
	y, err := f(graph.Float32s(x))
	if err != nil {
		return fmt.Errorf("a small program failed: %w", err)
	}
	got, err := graph.Float(y)
	if err != nil {
		return fmt.Errorf("the result of a small program cannot be read: %w", err)
	}
	if math.Abs(got-want) > 1e-3*want {
		return fmt.Errorf("a small program gave %v, it should be %v", got, want)
	}
	return nil
}
