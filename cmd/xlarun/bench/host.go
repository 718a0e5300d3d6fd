package bench

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/rollout/evolve"
	"xlarun/rollout/ppo"
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay"
	"xlarun/xlabridge"
)

// Command is the bench command of a command line that has an evolve command beside it: both are run in processes of
// their own too. open is how that command line opens what programs run on.
func Command(s console.Streams, open console.Opener) *cobra.Command {
	return command(&host{Streams: s, openBackend: open, newEngine: newEngine, now: time.Now})
}

// host is what the benchmarks run in; tests put something else in place of its parts.
type host struct {
	console.Streams
	openBackend   console.Opener
	newEngine     func(b xlabridge.Backend, c evolve.Config) (engine, error)
	newUpdates    func(b xlabridge.Backend, c ppo.Config) (stepper, error)      // nil: ppo.New
	newIterations func(b xlabridge.Backend, c selfplay.Config) (stepper, error) // nil: selfplay.New
	now           func() time.Time
}

// open opens what the flags name, with a bar while a plugin is downloaded.
func (h *host) open(ctx context.Context, o console.BackendFlags) (xlabridge.Backend, error) {
	return h.openBackend(ctx, o, display.NewDownloadBar(h.Out, h.Getenv))
}

// engine is what is timed of an evolution: evolve.Evolution, or a test's.
type engine interface {
	Step() (run.Metrics, error)
	Phases(repeats int) ([]run.Phase, error)
	Profile() run.Profile
	Close() error
}

func newEngine(b xlabridge.Backend, c evolve.Config) (engine, error) { return evolve.New(b, c) }

// commonFlags are what bench and bench grad have in common. Each adds them in an order and with defaults of its own.
type commonFlags struct {
	console.BackendFlags
	peers   bool
	python  string
	repeats int
	json    bool
}

func (o *commonFlags) addPython(f *pflag.FlagSet) {
	f.StringVar(&o.python, "peers-python", "", "Python that has the peers' packages (default "+envPeersPython+", else an environment made for it)")
}

func (o *commonFlags) addJSON(f *pflag.FlagSet) {
	f.BoolVar(&o.json, "json", false, "end stdout with one line of JSON")
}

func (o *commonFlags) check() error {
	if err := o.BackendFlags.Check(); err != nil {
		return err
	}
	if o.repeats < 1 {
		return console.BadInput("--repeats got %d, wants 1 or more", o.repeats)
	}
	return nil
}

// noWorkload words the error of a name that no workload has.
func noWorkload(name string, names []string) error {
	return console.BadInput("there is no workload %q%s; there are %s", name, console.DidYouMean(name, names), strings.Join(names, ", "))
}

// picked are the workloads of these names, in the names' order.
func picked[W any](names []string, all []W, nameOf func(W) string) ([]W, error) {
	known := each(all, nameOf)
	var out []W
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, noWorkload(name, known)
		}
		out = append(out, all[i])
	}
	return out, nil
}
