package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun-bench/bench/neurobench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/xlabridge/fetch"
)

// againstRuns are command lines of xlarun that both revisions run: one of each kind of run. They take seconds.
var againstRuns = []struct{ name, what, args string }{
	{"levels", "generations of OpenES on Forage-L1-v1", "evolve Forage-L1-v1 --strategy openes --pop 512 --steps 200 " +
		"--policy mlp:32,32 --generations 60 --target 0 --eval-episodes 1 --tune off --seed 1"},
	{"ppo", "updates on CartPole-v1", "ppo CartPole-v1 --steps 400000 --envs 4 --horizon 128 --epochs 4 " +
		"--minibatches 4 --target 0 --eval-episodes 1 --seed 1"},
	{"selfplay", "iterations of the clique game", "selfplay --num-iterations 12 --num-episodes 64 --arena-every 0 " +
		"--seed 1"},
	{"sparse", "updates of sparse networks on random pictures", "sparse --data " + dataFolder +
		" --pop 50 --batch 128 --total-steps 25600 --seed 1"},
	{"gradients", "updates of a convolutional network on Gather-v1", "ppo Gather-v1 --shared --policy cnn:16,32 " +
		"--envs 16 --horizon 64 --steps 20480 --target 0 --eval-episodes 1 --seed 1"},
	{"spiking", "generations of spiking policies on Forage-L0-v1", "evolve Forage-L0-v1 --strategy openes --pop 256 " +
		"--steps 200 --policy spiking:32,16 --generations 50 --target 0 --eval-episodes 1 --tune off --seed 1"},
}

// dataFolder stands for the folder of random pictures in a command line.
const dataFolder = "DATA"

// Bounds beyond which a ratio of this tree to the other revision fails a check.
const (
	mostTime    = 1.03
	mostCompile = 1.10 // compiling takes a second at most, so samples are few and noisy
	mostMemory  = 1.05
)

func againstLong() string {
	var s strings.Builder
	fmt.Fprintf(&s, "Against a revision: bench --against REV [RUN...] builds xlarun of REV and of this tree. In each "+
		"round both run every command twice: with an empty program cache, which compiles, and with a full one. The "+
		"table shows medians over rounds of this tree's numbers divided by REV's: time is CPU time with a full "+
		"cache, compiling is what an empty cache adds, memory is the peak with an empty cache. Other programs change "+
		"CPU time little. SUITE/NAME is a workload, which both run in turn by the rule's plan; of starts the time is "+
		"wall time.\n\n"+
		"With --check the exit status is 1 where a run is worse than a bound in every round: %.0f %% of time, %.0f "+
		"%% of compile time, %.0f %% of memory. A run that is within the bounds in one round is not measured "+
		"again. So one quiet round is enough, and a slowdown near the bound may pass. Runs:\n\n",
		100*(mostTime-1), 100*(mostCompile-1), 100*(mostMemory-1))
	for _, r := range againstRuns {
		fmt.Fprintf(&s, "  %-9s %s\n", r.name, r.what)
	}
	line := "  and"
	for _, name := range againstWorkloads {
		if len(line)+len(name) > 98 { // the help breaks lines at 100
			fmt.Fprintln(&s, line)
			line = "     "
		}
		line += " " + name
	}
	fmt.Fprintln(&s, line)
	return s.String()
}

type againstFlags struct {
	revision string
	check    bool
	rounds   int
}

func (o *againstFlags) add(f *pflag.FlagSet) {
	f.StringVar(&o.revision, "against", "", "revision of git to compare this tree with, as HEAD~1")
	f.BoolVar(&o.check, "check", false, "with --against: fail (status 1) where this tree is worse in every round")
	f.IntVar(&o.rounds, "rounds", 3, "with --against: rounds, at most where --check is given")
}

// cost is what a command took.
type cost struct {
	processor, compile, seconds float64
	peak                        int64
}

// againstRow is one row of the result: ratios of this tree to the other revision.
type againstRow struct {
	Name    string  `json:"name"`
	Time    float64 `json:"time_ratio"`
	Clock   float64 `json:"clock_ratio"`
	Compile float64 `json:"compile_ratio"`
	Memory  float64 `json:"memory_ratio"`
	// Ours and Base are seconds of CPU time with a full cache.
	Ours   float64 `json:"ours_seconds"`
	Base   float64 `json:"base_seconds"`
	Rounds int     `json:"rounds"`
	// Worse says in what every round was worse by more than the bound.
	Worse []string `json:"worse,omitempty"`
}

// against compares two programs.
type against struct {
	*host
	flags againstFlags
	data  string // folder of random pictures
	// once runs a command line of a program with a cache folder. Tests replace it.
	once func(ctx context.Context, program, cache string, args []string) (cost, error)
	// process returns a process of an xlarun-bench. Tests replace it.
	process func(ctx context.Context, program string, o console.BackendFlags, cache string,
		args ...string) (*exec.Cmd, error)
}

// programs are the builds of both trees; the benches are built where a workload runs.
type programs struct{ ours, base, oursBench, baseBench string }

// round is what one round found: ratios of this tree to the other revision, and seconds.
type round struct{ time, clock, compile, memory, ours, base float64 }

func (o againstFlags) run(ctx context.Context, h *host, names []string, asJSON bool) error {
	if o.rounds < 1 {
		return console.BadInput("--rounds got %d, wants 1 or more", o.rounds)
	}
	known := each(againstRuns, func(r struct{ name, what, args string }) string { return r.name })
	workloads := false
	for _, name := range names {
		if !strings.Contains(name, "/") {
			if !slices.Contains(known, name) {
				return noWorkload(name, append(known, "SUITE/NAME"))
			}
			continue
		}
		workloads = true
		if _, _, err := h.workloadOf(name, Options{Size: neurobench.SizeOn(time.Now())}); err != nil {
			return err
		}
	}
	if len(names) == 0 {
		names, workloads = append(known, againstWorkloads...), true
	}
	dir, err := os.MkdirTemp("", "xlarun-against-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := h.buildBoth(ctx, dir, o.revision, workloads)
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "pictures")
	if err := writePictures(data); err != nil {
		return err
	}
	return (&against{h, o, data, runOnce, processOf}).compare(ctx, names, p, asJSON)
}

// buildBoth builds xlarun, and xlarun-bench where workloads run, of a revision and of this tree. The revision's are
// kept.
func (h *host) buildBoth(ctx context.Context, dir, revision string, workloads bool) (p programs, err error) {
	sources, ours := []string{"./cmd/xlarun"}, []string{filepath.Join(dir, "ours")}
	if workloads {
		sources, ours = append(sources, "./cmd/xlarun-bench"), append(ours, filepath.Join(dir, "ours-bench"))
	}
	base, err := h.kept(ctx, revision, sources...)
	if err != nil {
		return p, fmt.Errorf("--against: %w", err)
	}
	for i, source := range sources {
		fmt.Fprintf(h.Err, "building %s\n", filepath.Base(ours[i]))
		if err := h.build(ctx, ".", source, ours[i]); err != nil {
			return p, err
		}
	}
	p.ours, p.base = ours[0], base[0]
	if workloads {
		p.oursBench, p.baseBench = ours[1], base[1]
	}
	return p, nil
}

func (h *host) build(ctx context.Context, folder, source, program string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, source)
	root, err := outputOf(exec.CommandContext(ctx, "git", "-C", folder, "rev-parse", "--show-toplevel"))
	if err != nil {
		return err
	}
	cmd.Dir = strings.TrimSpace(root)
	_, err = outputOf(cmd)
	return err
}

// compare runs the commands by both programs in turn and prints the ratios.
func (a *against) compare(ctx context.Context, names []string, p programs, asJSON bool) error {
	var table []againstRow
	for _, name := range names {
		next := func() (round, error) { return a.workloadRound(ctx, name, p) }
		if i := slices.IndexFunc(againstRuns, func(r struct{ name, what, args string }) bool {
			return r.name == name
		}); i >= 0 {
			args := strings.Fields(againstRuns[i].args)
			if place := slices.Index(args, dataFolder); place >= 0 {
				args[place] = a.data
			}
			next = func() (round, error) { return a.commandRound(ctx, args, p) }
		}
		r, err := a.measure(name, next)
		if errors.As(err, new(leftOut)) {
			fmt.Fprintf(a.Err, "%s is left out: %v\n", name, err)
			continue
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		table = append(table, r)
	}
	t := tabwriter.NewWriter(a.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "RUN\tTHIS TREE\tBASE\tTIME\tBY THE CLOCK\tCOMPILING\tMEMORY\tROUNDS\t")
	var worse []string
	for _, r := range table {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3f\t%.3f\t%.3f\t%.3f\t%d\t%s\n", r.Name, console.ShortTime(r.Ours),
			console.ShortTime(r.Base), r.Time, r.Clock, r.Compile, r.Memory, r.Rounds, strings.Join(r.Worse, ", "))
		if len(r.Worse) > 0 {
			worse = append(worse, fmt.Sprintf("%s (%s)", r.Name, strings.Join(r.Worse, ", ")))
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	var err error
	if a.flags.check && len(worse) > 0 {
		err = fmt.Errorf("this tree is worse than %s in each of %d rounds: %s", a.flags.revision, a.flags.rounds,
			strings.Join(worse, "; "))
	}
	if asJSON {
		return a.EndJSON(map[string]any{"runs": table}, err)
	}
	return err
}

// measure runs rounds. With --check it ends after the round in which all is within the bounds.
func (a *against) measure(name string, next func() (round, error)) (r againstRow, err error) {
	var all []round
	beyond := []string{"time", "compiling", "memory"}
	for range a.flags.rounds {
		fmt.Fprintf(a.Err, "%s: round %d\n", name, len(all)+1)
		one, err := next()
		if err != nil {
			return r, err
		}
		all = append(all, one)
		for what, ok := range map[string]bool{"time": one.time <= mostTime,
			"compiling": one.compile <= mostCompile, "memory": one.memory <= mostMemory} {
			if ok {
				beyond = slices.DeleteFunc(beyond, func(w string) bool { return w == what })
			}
		}
		if a.flags.check && len(beyond) == 0 {
			break
		}
	}
	median := func(of func(round) float64) float64 { return machine.Median(each(all, of)) }
	return againstRow{Name: name, Rounds: len(all), Worse: beyond,
		Time:    median(func(r round) float64 { return r.time }),
		Clock:   median(func(r round) float64 { return r.clock }),
		Compile: median(func(r round) float64 { return r.compile }),
		Memory:  median(func(r round) float64 { return r.memory }),
		Ours:    median(func(r round) float64 { return r.ours }),
		Base:    median(func(r round) float64 { return r.base })}, nil
}

// commandRound runs a command by both programs.
func (a *against) commandRound(ctx context.Context, args []string, p programs) (r round, err error) {
	ours, err := a.cold(ctx, p.ours, args)
	if err != nil {
		return r, err
	}
	base, err := a.cold(ctx, p.base, args)
	if err != nil {
		return r, err
	}
	r = round{ours.processor / base.processor, ours.seconds / base.seconds, ours.compile / base.compile,
		float64(ours.peak) / float64(base.peak), ours.processor, base.processor}
	if base.compile <= 0 {
		r.compile = 1
	}
	return r, nil
}

// cold runs a command with an empty cache and with a full one.
func (a *against) cold(ctx context.Context, program string, args []string) (c cost, err error) {
	cache, remove, err := scratchCache()
	if err != nil {
		return c, err
	}
	defer remove()
	cold, err := a.once(ctx, program, cache, args)
	if err != nil {
		return c, err
	}
	if c, err = a.once(ctx, program, cache, args); err != nil {
		return c, err
	}
	c.compile, c.peak = cold.processor-c.processor, cold.peak
	return c, nil
}

// runOnce runs a command and reads its cost from the kernel.
func runOnce(ctx context.Context, program, cache string, args []string) (c cost, err error) {
	cmd := exec.CommandContext(ctx, program, append(slices.Clone(args), "--out", "none")...)
	cmd.Env = append(os.Environ(), fetch.EnvCache+"="+cache)
	start := time.Now()
	if _, err := outputOf(cmd); err != nil {
		return c, err
	}
	c.seconds = time.Since(start).Seconds()
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.processor = time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
		c.peak = usage.Maxrss << 10
	}
	return c, nil
}

// writePictures writes random pictures as MNIST's files have them.
func writePictures(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, part := range []struct {
		name  string
		count int
	}{{"train", 1024}, {"t10k", 256}} {
		m := randomPictures(part.count).Train
		head := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 3}, uint32(part.count))
		head = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(head, 28), 28)
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(part.count))
		err := errors.Join(
			os.WriteFile(filepath.Join(dir, part.name+"-images-idx3-ubyte"), append(head, m.Data...), 0o644),
			os.WriteFile(filepath.Join(dir, part.name+"-labels-idx1-ubyte"), append(labels, m.Labels...), 0o644))
		if err != nil {
			return err
		}
	}
	return nil
}
