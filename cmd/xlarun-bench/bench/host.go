package bench

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/xlabridge"
)

// Command returns the bench command of a command line that has the commands of runs and studies, too: some workloads
// run them in processes of their own. open is how that command line opens what programs run on.
func Command(s console.Streams, open console.Opener) *cobra.Command {
	return rootCommand(&host{Streams: s, openBackend: open, process: ownProcess, suites: suites(), now: time.Now})
}

// host is what benchmarks run in. Tests replace its parts.
type host struct {
	console.Streams
	openBackend console.Opener
	// process returns a process of ours.
	process func(ctx context.Context, o console.BackendFlags, cache string, args ...string) (*exec.Cmd, error)
	suites  []Suite
	now     func() time.Time
}

// open opens what the flags name, with a bar while a plugin is downloaded.
func (h *host) open(ctx context.Context, o console.BackendFlags) (xlabridge.Backend, error) {
	return h.openBackend(ctx, o, display.NewDownloadBar(h.Out, h.Getenv))
}

// noWorkload returns the error of a name that no workload has.
func noWorkload(name string, names []string) error {
	return console.BadInput("there is no workload %q%s; there are %s", name, console.DidYouMean(name, names),
		strings.Join(names, ", "))
}

// choose returns the workloads with these names, in the names' order; without names all that are not Explicit.
func choose(names []string, all []Workload) (chosen []Workload, err error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(w Workload) bool { return w.Explicit }), nil
	}
	return named(names, all, func(w Workload) string { return w.Name })
}

// named returns the elements with these names, in the names' order.
func named[T any](names []string, all []T, nameOf func(T) string) (chosen []T, err error) {
	known := each(all, nameOf)
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, noWorkload(name, known)
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func each[T, R any](all []T, f func(T) R) []R {
	out := make([]R, len(all))
	for i, x := range all {
		out[i] = f(x)
	}
	return out
}
