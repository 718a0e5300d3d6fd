package bench

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/evolve"
	"xlarun/rollout/plan"
	"xlarun/rollout/run"
	"xlarun/third_party/fetch/plugin"
	"xlarun/xlabridge"
)

// figure is a calibrated figure, and all that has to be the same where two are compared.
type figure struct {
	Workload    string `json:"workload"`
	CPU         string `json:"cpu"` // its name, cores and a digest of its kind
	Backend     string `json:"backend"`
	Devices     int    `json:"devices"`
	Calibration string `json:"calibration"` // the program and size, with a digest of its source
	Plugin      string `json:"plugin"`      // may differ: a slower plugin is to be seen
	paired
	started
}

// comparable tells whether two figures are of the same thing.
func (f figure) comparable(with figure) bool {
	return f.Workload == with.Workload && f.CPU == with.CPU && f.Backend == with.Backend && f.Devices == with.Devices && f.Calibration == with.Calibration
}

// slicedWork is a workload that was set up, to be run in slices.
type slicedWork struct {
	figure figure   // without its numbers
	args   []string // that start it and end after a round
	size   calibratorSize
	units  slicer
	close  func()
}

// timeSlices times so many units of a sliced workload that has no peer, by the clock.
func (b *bench) timeSlices(ctx context.Context, name string, sliced func(context.Context, *bench) (*slicedWork, error), count int) ([]row, error) {
	line, err := b.inTurn(name, "", func() (seconds float64, err error) {
		work, err := sliced(ctx, b)
		if err != nil {
			return 0, err
		}
		defer work.close()
		if _, err := work.units(warmUp); err != nil {
			return 0, err
		}
		start := b.now()
		_, err = work.units(count)
		return b.now().Sub(start).Seconds() / float64(count), err
	}, nil)
	return []row{line}, err
}

// calibrated measures a workload beside its calibration, both started for this figure alone.
func (b *bench) calibrated(ctx context.Context, w workload) (f figure, err error) {
	fmt.Fprintf(b.Out, "%s: %d pairs with the calibration\n", w.name, b.pairing.pairs)
	work, err := w.sliced(ctx, b)
	if err != nil {
		return f, err
	}
	defer work.close()
	calibration, stop, err := b.startCalibrator(ctx, work.size, work.figure.Devices)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	f = work.figure
	f.Workload, f.CPU, f.Backend, f.Calibration = w.name, CPUKind(), b.flags.Backend, work.size.id()
	if f.paired, err = b.pairing.measure(ctx, work.units, calibration, f.Devices); err != nil {
		return f, err
	}
	f.started, err = b.startsOf(ctx, work.args, calibration)
	return f, err
}

// sliced makes whole generations a slice.
func (g generations) sliced(size calibratorSize) func(ctx context.Context, b *bench) (*slicedWork, error) {
	return slicedGenerations(cartPole(g.population, g.hidden), size)
}

// slicedGenerations makes whole generations of an experiment a slice. The plan is the rule's: what the tuner finds may differ from run to
// run, and would move the figure.
func slicedGenerations(c evolve.Config, size calibratorSize) func(ctx context.Context, b *bench) (*slicedWork, error) {
	return func(ctx context.Context, b *bench) (*slicedWork, error) {
		c := c
		c.Tune, c.Devices = plan.TuneOff, b.flags.Devices
		args := append(startArgs(c), "--tune", "off", "--judge", "1", "--episodes", strconv.Itoa(c.Episodes), "--devices", strconv.Itoa(b.flags.Devices))
		return b.sliced(ctx, args, size, func(backend xlabridge.Backend) (stepper, error) { return b.newEngine(backend, c) })
	}
}

// stepper is a run that is timed round by round.
type stepper interface {
	Step() (run.Metrics, error)
	Profile() run.Profile
	Close() error
}

// sliced makes rounds of a run a slice.
func (b *bench) sliced(ctx context.Context, args []string, size calibratorSize, start func(xlabridge.Backend) (stepper, error)) (*slicedWork, error) {
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return nil, err
	}
	e, err := start(backend)
	if err != nil {
		_ = backend.Close()
		return nil, err
	}
	return &slicedWork{
		args:   args,
		size:   size,
		figure: figure{Devices: e.Profile().Devices, Plugin: pluginName(backend)},
		units: func(n int) (time.Duration, error) {
			start := b.processorTime(backend)
			for range n {
				if _, err := e.Step(); err != nil {
					return 0, err
				}
			}
			return b.processorTime(backend) - start, ctx.Err()
		},
		close: func() { _, _ = e.Close(), backend.Close() },
	}, nil
}

// loaded is what the clock's time is counted from.
var loaded = time.Now()

// processorTime is what this process has used so far. An accelerator works while the process waits: there the clock's time
// stands for it.
func processorTime(b xlabridge.Backend) time.Duration {
	var usage syscall.Rusage
	if kind := b.Backend(); kind != "cpu" && kind != console.Reference || syscall.Getrusage(syscall.RUSAGE_SELF, &usage) != nil {
		return time.Since(loaded)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// pluginName is "lammps-jax-pjrt-cpu 0.11.2" of a pinned plugin, its file's name and digest of another.
func pluginName(b xlabridge.Backend) string {
	c, ok := b.(*xlabridge.Client)
	if !ok {
		return b.Backend()
	}
	entries, _ := plugin.List() // without the pins there is still the file
	for _, e := range entries {
		if e.Path == c.PluginPath() {
			return e.Name + " " + e.Version
		}
	}
	return fmt.Sprintf("%s %.12s", filepath.Base(c.PluginPath()), c.Fingerprint())
}

var modelLine = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

// cpuName is the processor's name in the text of /proc/cpuinfo, "" where it has none.
func cpuName(cpuinfo string) string {
	if m := modelLine.FindStringSubmatch(cpuinfo); m != nil {
		return m[1]
	}
	return ""
}

// CPUKind names this processor's kind, "A Fast One, 2 cores, linux/amd64, 0123abcd": names alone are the same for many kinds
// on virtual machines.
func CPUKind() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	return strings.TrimPrefix(fmt.Sprintf("%s, %s, %s/%s, %.4x", cpuName(string(info)), console.Count(runtime.NumCPU(), "core", "cores"), runtime.GOOS, runtime.GOARCH,
		sha256.Sum256([]byte(xlabridge.HostFingerprint()))), ", ")
}

func printFigures(out io.Writer, figures []figure) error {
	t := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "WORKLOAD\tONE UNIT\tCALIBRATED\tQUARTILES APART\tBY THE CLOCK\tPAIRS WITH FREE CORES\tCOMPILING\tPEAK MEMORY")
	for _, f := range figures {
		fmt.Fprintf(t, "%s\t%s\t%.3f\t%.0f %%\t%s\t%d of %d\t%s\t%s\n", f.Workload, console.ShortTime(f.Seconds), f.Calibrated, 100*f.Spread, ratioText(f.Clock), f.Free, f.Pairs,
			ratioText(f.Compile), bytesText(known(f.PeakBytes)))
	}
	return t.Flush()
}
