package bench

import (
	"context"
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
	"xlarun/rollout/run"
	"xlarun/rollout/selfplay"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// selfplayWorkload is a part of self-play, and what a peer does the same with.
type selfplayWorkload struct {
	name, what  string
	change      func(c *selfplay.Config)
	phase       string
	peer        string // arguments of selfplay_jax.py
	best        int    // of so many times the best counts: as many as the peer takes
	needed, aim float64
}

func (w selfplayWorkload) describe() (name, what string) { return w.name, w.what }

// searching is a workload of 64 games side by side.
func searching(vertices, k int, policy string, episodes int) func(c *selfplay.Config) {
	return func(c *selfplay.Config) {
		c.Vertices, c.K, c.Search, c.Network = vertices, []int{k}, policy, "mlp:64,64"
		c.NumEpisodes, c.GameBatchSize, c.NumSimulations = episodes, 64, 50
	}
}

func selfplayWorkloads() []selfplayWorkload {
	all := []selfplayWorkload{
		{"selfplay-6-gumbel", "n = 6, k = 3, 64 games side by side, 50 simulations, Gumbel", searching(6, 3, "gumbel", 512), selfplay.PhaseGames, "search 6 3 64 50 gumbel", 3, 2.5, 5},
		{"selfplay-6-puct", "the same with PUCT", searching(6, 3, "puct", 512), selfplay.PhaseGames, "search 6 3 64 50 puct", 3, 4, 8},
		{"selfplay-14-gumbel", "n = 14, k = 4, 64 games side by side, 50 simulations, Gumbel", searching(14, 4, "gumbel", 128), selfplay.PhaseGames, "search 14 4 64 50 gumbel", 3, 2.5, 5},
		{"selfplay-step", "a training step, batch 256, graph network, n = 14", func(c *selfplay.Config) {
			searching(14, 4, "gumbel", 32)(c)
			c.Network, c.NumSimulations, c.TrainingBatchSize = "graph:32", 2, 256
		}, selfplay.PhaseStep, "train 14 256 32 3", 5, 1.2, 2},
	}
	for _, n := range []int{32, 64, 256, 512} {
		all = append(all, selfplayWorkload{fmt.Sprintf("selfplay-batch-%d", n), fmt.Sprintf("a batch of %d prepared, n = 14", n), func(c *selfplay.Config) {
			searching(14, 4, "gumbel", 32)(c)
			c.NumSimulations, c.TrainingBatchSize = 2, n
		}, selfplay.PhaseBatch, fmt.Sprintf("batch 14 %d", n), 9, 10, 10})
	}
	return all
}

func selfplayCommand(h *host) *cobra.Command {
	var o commonFlags
	var long strings.Builder
	long.WriteString("Bench selfplay times the parts of self-play: of searches, the time of a million simulations (ours of moves that were played, the peer's of\n" +
		"all that it computes); of training, a step; of batches, one. With --peers beside mctx, JAX with optax, and a loop over arrays on the host, in\n" +
		"turn; the ratio is the peer's time over ours, and the peak memory of both sides' processes stands beside. Workloads:\n\n")
	for _, w := range selfplayWorkloads() {
		fmt.Fprintf(&long, "  %-19s %s\n", w.name, w.what)
	}
	cmd := &cobra.Command{
		Use: "selfplay [NAME...]", Short: "Time the parts of self-play, beside mctx and optax with --peers", Long: long.String(),
		Example: "  xlarun bench selfplay --peers\n  xlarun bench selfplay selfplay-6-gumbel --repeats 5",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			chosen := selfplayWorkloads()
			if len(args) > 0 {
				var err error
				if chosen, err = picked(args, chosen, func(w selfplayWorkload) string { return w.name }); err != nil {
					return err
				}
			}
			return (&selfplayBench{host: h, flags: o}).run(cmd.Context(), chosen)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run the peers too")
	o.addPython(f)
	o.addJSON(f)
	return cmd
}

type selfplayBench struct {
	*host
	flags commonFlags
	peer  *peerRunner
}

func (b *selfplayBench) run(ctx context.Context, workloads []selfplayWorkload) (err error) {
	if b.flags.Backend == console.Reference {
		return console.BadInput("bench selfplay got the backend %s, which compiles nothing: use another backend", console.Reference)
	}
	if b.flags.peers {
		if b.peer, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	backend, err := b.open(ctx, b.flags.BackendFlags)
	if err != nil {
		return err
	}
	defer func() { _ = backend.Close() }()
	s, err := measured(b.Out, workloads, b.peer != nil, func(w selfplayWorkload) (row, error) { return b.workload(ctx, backend, w) })
	if err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"workloads": s.Workloads})
	}
	return nil
}

// workload runs both sides in turn.
func (b *selfplayBench) workload(ctx context.Context, backend xlabridge.Backend, w selfplayWorkload) (row, error) {
	c := selfplay.DefaultConfig()
	c.ArenaEvery, c.Replay, c.Epochs = 0, 1, settings.Num(1)
	w.change(&c)
	t, err := selfplay.New(backend, c)
	if err != nil {
		return row{}, err
	}
	defer func() { _ = t.Close() }()
	m, err := t.Step() // games to learn from
	if err != nil {
		return row{}, err
	}
	unit := 1. // seconds are of a million simulations
	if w.phase == selfplay.PhaseGames {
		unit = million / m.Work
	}
	var ours, theirs, ratios []float64
	var peak int64
	for range b.flags.repeats {
		phases, err := t.PhasesOf(w.best, w.phase)
		if err != nil {
			return row{}, err
		}
		seconds := 0.
		for _, p := range phases {
			if p.Name == w.phase {
				seconds = p.Best * unit
			}
		}
		ours = append(ours, seconds)
		if b.peer == nil {
			continue
		}
		x, bytes, err := b.theirs(ctx, w)
		if err != nil {
			return row{}, err
		}
		peak = max(peak, bytes)
		theirs, ratios = append(theirs, x), append(ratios, x/seconds)
	}
	l := row{Name: w.name, Ours: machine.Median(ours)}
	l.note = w.note(c, t.Profile(), l.Ours)
	if b.peer != nil {
		l = l.against("jax", machine.Median(theirs))
		*l.Ratio = machine.Median(ratios)
		l.Needed, l.Aim, l.PeerPeakBytes = w.needed, w.aim, &peak
		if l.PeakBytes, err = b.ownPeak(ctx, w, true); err != nil {
			return row{}, err
		}
		if l.CachedPeakBytes, err = b.ownPeak(ctx, w, false); err != nil {
			return row{}, err
		}
	}
	return l, nil
}

// ownPeak is the peak memory of a process of ours with the workload, which compiles its programs where cold.
func (b *selfplayBench) ownPeak(ctx context.Context, w selfplayWorkload, cold bool) (*int64, error) {
	cache := ""
	if cold {
		dir, remove, err := scratchCache()
		if err != nil {
			return nil, err
		}
		defer remove()
		cache = dir
	}
	cmd, err := ownProcess(ctx, b.flags.BackendFlags, cache, "bench", "selfplay", w.name, "--repeats", "1")
	if err != nil {
		return nil, err
	}
	_, peak, err := outputAndPeak(ctx, cmd)
	if err != nil {
		return nil, fmt.Errorf("a process of our own failed: %w", err)
	}
	return &peak, nil
}

// note says what the row's time is.
func (w selfplayWorkload) note(c selfplay.Config, p run.Profile, seconds float64) string {
	if w.phase != selfplay.PhaseGames {
		return ""
	}
	bytes, _ := p.Fact("tree_bytes").(int64)
	return fmt.Sprintf("%s: %s simulations/s, trees %.1f MB\n", w.name, strconv.FormatFloat(math.Round(million/seconds), 'f', -1, 64), float64(bytes)/1e6)
}

var (
	peerRate    = regexp.MustCompile(`(?m)^search: ([0-9.]+) simulations/s`)
	peerSeconds = regexp.MustCompile(`(?m)^(?:train|batch): ([0-9.]+) s`)
)

// parseSelfplay reads the seconds of what a peer printed: of a million simulations, a step, a batch.
func parseSelfplay(out string) (float64, error) {
	if m := peerRate.FindStringSubmatch(out); m != nil {
		rate, err := strconv.ParseFloat(m[1], 64)
		return million / rate, err
	}
	if m := peerSeconds.FindStringSubmatch(out); m != nil {
		return strconv.ParseFloat(m[1], 64)
	}
	return 0, fmt.Errorf("the peer selfplay_jax.py printed %q, which holds no time", out)
}

// theirs are the peer's seconds and its peak memory.
func (b *selfplayBench) theirs(ctx context.Context, w selfplayWorkload) (seconds float64, peak int64, err error) {
	argv := append([]string{filepath.Join(b.peer.scripts, "peers", "selfplay_jax.py")}, strings.Fields(w.peer)...)
	cmd := exec.CommandContext(ctx, b.peer.python, argv...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
	out, peak, err := outputAndPeak(ctx, cmd)
	if err != nil {
		return 0, 0, fmt.Errorf("the peer selfplay_jax.py failed: %w", err)
	}
	seconds, err = parseSelfplay(out)
	return seconds, peak, err
}
