package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

// ppoWorkload is a training by a process of ours, as a user starts it, and by one of a peer.
type ppoWorkload struct {
	name, what  string
	args        string // of xlarun ppo
	script      string
	scriptArgs  string
	needed, aim float64
	// last is the number of updates whose returns the peer prints as the last; 0: a tenth of them.
	last int
	// named tells that it takes minutes, and runs only when it is named.
	named bool
}

func (w ppoWorkload) describe() (name, what string) { return w.name, w.what }

const ppoGather = "Gather-v1 --shared --policy cnn:16,32 --policy.hidden 128 --envs 64 --horizon 128 --steps 245760"

// ppoWorkloads are trainings with what they want to reach.
var ppoWorkloads = []ppoWorkload{
	{name: "ppo-cartpole", what: "CartPole-v1, 4 environments x 128 steps", args: "CartPole-v1 --steps 500000",
		script: "gymnax_ppo.py", scriptArgs: "CartPole-v1 500000 4 128 1", needed: 2, aim: 4},
	{name: "ppo-agents", what: "64 agents at once, CartPole-v1", args: "CartPole-v1 --agents 64 --steps 10240",
		script: "gymnax_ppo.py", scriptArgs: "CartPole-v1 10240 4 128 64", needed: 3, aim: 8},
	{name: "ppo-breakout", what: "MinAtar Breakout, 64 x 128", args: "Breakout-MinAtar-v1 --envs 64 --horizon 128 --steps 1000000",
		script: "gymnax_ppo.py", scriptArgs: "Breakout-MinAtar 1000000 64 128 1", needed: 2, aim: 4},
	{name: "ppo-gather", what: "Gather-v1, CNN with SAME padding, 64 x 128; the peer's convolution as products", args: ppoGather + " --policy.padding same",
		script: "gridworld_ppo_jax.py", scriptArgs: "245760 float32 SAME select matmul", last: 5, needed: 1.5, aim: 3},
	{name: "ppo-gather-valid", what: "Gather-v1, CNN with VALID padding, 64 x 128", args: ppoGather,
		script: "gridworld_ppo_jax.py", scriptArgs: "245760 float16 VALID cond matmul", last: 5, needed: 1.5, aim: 3},
	{name: "ppo-gather-conv", what: "as ppo-gather, the peer's convolution as flax has it (takes five minutes)", args: ppoGather + " --policy.padding same",
		script: "gridworld_ppo_jax.py", scriptArgs: "245760 float32 SAME select conv", last: 5, needed: 15, aim: 30, named: true},
}

func ppoCommand(h *host) *cobra.Command {
	var o commonFlags
	returns := false
	var long strings.Builder
	long.WriteString("Bench ppo times trainings by proximal policy optimization, each a process as a user starts it, with --peers beside JAX. What counts is the time of a\n" +
		"million environment steps in training, compiled; the median of the repeats' ratios, above 1 is ours ahead. With --returns it compares what both sides have learned\n" +
		"by as many steps, by so many seeds. Workloads:\n\n")
	for _, w := range ppoWorkloads {
		fmt.Fprintf(&long, "  %-17s %s\n", w.name, w.what)
	}
	cmd := &cobra.Command{
		Use: "ppo [NAME...]", Short: "Time trainings by ppo, beside JAX with --peers", Long: long.String(),
		Example: "  xlarun bench ppo --peers\n  xlarun bench ppo ppo-cartpole --peers --repeats 5\n  xlarun bench ppo ppo-gather-valid --returns --repeats 5",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			var chosen []ppoWorkload
			for _, w := range ppoWorkloads {
				if len(args) == 0 && !w.named {
					chosen = append(chosen, w)
				}
			}
			if len(args) > 0 {
				var err error
				if chosen, err = picked(args, ppoWorkloads, func(w ppoWorkload) string { return w.name }); err != nil {
					return err
				}
			}
			return (&ppoBench{host: h, flags: o, compare: returns}).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run JAX too")
	f.BoolVar(&returns, "returns", false, "compare what is learned, not how fast, by as many seeds as --repeats says")
	o.addPython(f)
	o.addJSON(f)
	return cmd
}

type ppoBench struct {
	*host
	flags   commonFlags
	peer    *peerRunner
	compare bool // what is learned
}

func (b *ppoBench) run(ctx context.Context, workloads []ppoWorkload) (err error) {
	if b.flags.Backend == console.Reference {
		return console.BadInput("bench ppo got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	if b.flags.peers || b.compare {
		if b.peer, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	if b.compare {
		var all []ppoReturns
		for _, w := range workloads {
			r, err := b.returns(ctx, w)
			if err != nil {
				return fmt.Errorf("%s: %w", w.name, err)
			}
			all = append(all, r)
		}
		if b.flags.json {
			return b.PrintJSON(map[string]any{"returns": all})
		}
		return nil
	}
	s, err := measured(b.Out, workloads, b.peer != nil, func(w ppoWorkload) (row, error) { return b.workload(ctx, w) })
	if err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": s.Workloads})
	}
	return nil
}

// ppoFigures are what one training shows.
type ppoFigures struct {
	Rate  float64 `json:"steps_per_second"`
	First float64 `json:"time_to_first_update_seconds"`
	Peak  int64   `json:"peak_memory_bytes"`
}

// million is the number of environment steps whose time is shown.
const million = 1e6

// workload runs both sides in turn.
func (b *ppoBench) workload(ctx context.Context, w ppoWorkload) (row, error) {
	var ours, theirs []ppoFigures
	for range b.flags.repeats {
		f, err := b.own(ctx, w)
		if err != nil {
			return row{}, err
		}
		ours = append(ours, f)
		if b.peer == nil {
			continue
		}
		if f, err = b.theirs(ctx, w); err != nil {
			return row{}, err
		}
		theirs = append(theirs, f)
	}
	seconds := func(f ppoFigures) float64 { return million / f.Rate }
	l := row{Name: w.name, Ours: machine.Median(each(ours, seconds))}
	first := machine.Median(each(ours, func(f ppoFigures) float64 { return f.First }))
	l.note = fmt.Sprintf("%s: %s environment steps/s, first update after %s\n", w.name, strconv.FormatFloat(math.Round(million/l.Ours), 'f', -1, 64), console.ShortTime(first))
	peak := func(all []ppoFigures) *int64 {
		n := int64(machine.Median(each(all, func(f ppoFigures) float64 { return float64(f.Peak) })))
		return &n
	}
	l.CachedPeakBytes = peak(ours)
	if b.peer != nil {
		l = l.against("jax", machine.Median(each(theirs, seconds)))
		var ratios []float64
		for i := range ours {
			ratios = append(ratios, ours[i].Rate/theirs[i].Rate)
		}
		*l.Ratio = machine.Median(ratios)
		l.Needed, l.Aim, l.PeerPeakBytes = w.needed, w.aim, peak(theirs)
	}
	return l, nil
}

// own is a training as a user starts it, without a folder.
func (b *ppoBench) own(ctx context.Context, w ppoWorkload) (f ppoFigures, err error) {
	args := append([]string{"ppo"}, strings.Fields(w.args)...)
	cmd, err := ownProcess(ctx, b.flags.BackendFlags, "", append(args, "--target", "0", "--judge", "1", "--out", "none", "--json")...)
	if err != nil {
		return f, err
	}
	out, err := outputOf(cmd)
	if err != nil {
		return f, fmt.Errorf("a process of our own failed: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &f); err != nil || f.Rate <= 0 {
		return f, fmt.Errorf("a process of our own ended with %q, which has no steps_per_second", lines[len(lines)-1])
	}
	return f, nil
}

// ppoRate finds the rate of training in what the peers print: thousands of steps in a second.
var ppoRate = regexp.MustCompile(`(?m)^(?:training: .*: |.* steps in [0-9.]+ s: )([0-9.]+) K (?:env )?steps/s`)

func parsePPO(script, out string) (float64, error) {
	m := ppoRate.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("the peer %s printed %q, which holds no rate of training", script, out)
	}
	thousands, err := strconv.ParseFloat(m[1], 64)
	return thousands * 1e3, err
}

func (b *ppoBench) theirs(ctx context.Context, w ppoWorkload) (f ppoFigures, err error) {
	argv := append([]string{filepath.Join(b.peer.scripts, "peers", w.script)}, strings.Fields(w.scriptArgs)...)
	cmd := exec.CommandContext(ctx, b.peer.python, argv...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	out, peak, err := outputAndPeak(ctx, cmd)
	if err != nil {
		return f, fmt.Errorf("the peer %s failed: %w", w.script, err)
	}
	f.Peak = peak
	f.Rate, err = parsePPO(w.script, out)
	return f, err
}
