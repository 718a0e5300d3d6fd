package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/bench/genericbench"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
)

type jaxFlags struct {
	commonFlags
	one bool
}

// What the language asks of itself: no program slower than JAX by more than a tenth, and these geometric means of JAX's
// time over ours.
const (
	jaxLeast       = .9
	jaxWantRun     = 1.3
	jaxWantCompile = 2
)

// jaxLine is one program: medians of ours and of JAX's, and the medians of the repeats' ratios, JAX's over ours.
type jaxLine struct {
	Name         string                `json:"name"`
	Ours         genericbench.Figures  `json:"ours"`
	JAX          *genericbench.Figures `json:"jax,omitempty"`
	RunRatio     float64               `json:"run_ratio,omitempty"`
	CompileRatio float64               `json:"compile_ratio,omitempty"`
	PeakRatio    float64               `json:"peak_ratio,omitempty"`
}

func jaxNames() []string {
	var names []string
	for _, p := range genericbench.All() {
		names = append(names, p.Name)
	}
	return names
}

func jaxCommand(h *host) *cobra.Command {
	var o jaxFlags
	cmd := &cobra.Command{
		Use:   "jax [NAME...]",
		Short: "Time generic programs, beside JAX with --peers",
		Long: "Bench jax times programs as researchers write them, on defaults: one call, and tracing and compiling with nothing cached. With\n" +
			"--peers the same program in JAX runs right after it, each in a process of its own; checksums of the results are compared, and the\n" +
			"ratio is JAX's time over ours, the median over repeats, above 1 is ours ahead. Programs:\n\n  " + strings.Join(jaxNames(), " "),
		Example: "  xlarun bench jax --peers\n  xlarun bench jax lorenz gae --peers --repeats 5",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			programs := genericbench.All()
			if len(args) > 0 {
				programs = nil
			}
			for _, name := range args {
				p, ok := genericbench.Named(name)
				if !ok {
					return console.BadInput("there is no program %q%s; there are %s", name, console.DidYouMean(name, jaxNames()), strings.Join(jaxNames(), ", "))
				}
				programs = append(programs, p)
			}
			if o.one {
				return jaxOne(cmd.Context(), h, o.BackendFlags, programs[0])
			}
			return (&jaxBench{host: h, flags: o}).run(cmd.Context(), programs)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.AddBackend(f)
	f.IntVar(&o.repeats, "repeats", 3, "repeats, of which the median counts")
	f.BoolVar(&o.peers, "peers", false, "run JAX too")
	o.addPython(f)
	o.addJSON(f)
	f.BoolVar(&o.one, "one", false, "measure one program in this process and print its figures")
	_ = f.MarkHidden("one")
	return cmd
}

// jaxOne is what each measurement of ours runs in.
func jaxOne(ctx context.Context, h *host, o console.BackendFlags, p genericbench.Program) error {
	o.Devices = 1
	b, err := h.open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }()
	f, err := p.Measure(b)
	if err != nil {
		return err
	}
	return h.PrintJSON(f)
}

type jaxBench struct {
	*host
	flags jaxFlags
	peer  *peerRunner
}

func (b *jaxBench) run(ctx context.Context, programs []genericbench.Program) error {
	if b.flags.peers {
		var err error
		if b.peer, err = newPeerRunner(ctx, b.host, b.flags.python); err != nil {
			return err
		}
		defer b.peer.close()
	}
	var lines []jaxLine
	for _, p := range programs {
		fmt.Fprintf(b.Err, "%s\n", p.Name)
		l, err := b.program(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
		lines = append(lines, l)
	}
	if err := b.table(lines); err != nil {
		return err
	}
	if b.flags.json {
		return b.PrintJSON(map[string]any{"programs": lines, "summary": jaxSummary(lines), "workloads": jaxWorkloads(lines)})
	}
	return nil
}

// program measures one program, both sides in turn.
func (b *jaxBench) program(ctx context.Context, p genericbench.Program) (jaxLine, error) {
	var ours, theirs []genericbench.Figures
	for range b.flags.repeats {
		own, err := ownProcess(ctx, b.flags.BackendFlags, "", "bench", "jax", "--one", p.Name)
		if err != nil {
			return jaxLine{}, err
		}
		f, err := jaxFigures(own)
		if err != nil {
			return jaxLine{}, err
		}
		ours = append(ours, f)
		if b.peer == nil {
			continue
		}
		cmd := exec.CommandContext(ctx, b.peer.python, filepath.Join(b.peer.scripts, "peers", "jax_generic.py"), p.Name)
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "JAX_PLATFORMS=cpu")
		if f, err = jaxFigures(cmd); err != nil {
			return jaxLine{}, err
		}
		if err := genericbench.Agree(ours[0], f); err != nil {
			return jaxLine{}, err
		}
		theirs = append(theirs, f)
	}
	return newJAXLine(ours, theirs), nil
}

// jaxFigures runs a process that prints its figures as the last line.
func jaxFigures(cmd *exec.Cmd) (f genericbench.Figures, err error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(errs.String()), "\n")
		return f, fmt.Errorf("%s failed: %s (%w)", filepath.Base(cmd.Path), lines[len(lines)-1], err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &f); err != nil {
		return f, fmt.Errorf("%s printed %q, not a line of JSON", filepath.Base(cmd.Path), lines[len(lines)-1])
	}
	return f, nil
}

func newJAXLine(ours, theirs []genericbench.Figures) jaxLine {
	middle := func(all []genericbench.Figures) genericbench.Figures {
		f := all[0]
		f.Run = machine.Median(each(all, func(f genericbench.Figures) float64 { return f.Run }))
		f.Compile = machine.Median(each(all, func(f genericbench.Figures) float64 { return f.Compile }))
		f.Peak = int64(machine.Median(each(all, func(f genericbench.Figures) float64 { return float64(f.Peak) })))
		return f
	}
	l := jaxLine{Name: ours[0].Name, Ours: middle(ours)}
	if len(theirs) == 0 {
		return l
	}
	jax := middle(theirs)
	l.JAX = &jax
	ratio := func(of func(genericbench.Figures) float64) float64 {
		var all []float64
		for i := range theirs {
			all = append(all, of(theirs[i])/of(ours[i]))
		}
		return machine.Median(all)
	}
	l.RunRatio = ratio(func(f genericbench.Figures) float64 { return f.Run })
	l.CompileRatio = ratio(func(f genericbench.Figures) float64 { return f.Compile })
	l.PeakRatio = ratio(func(f genericbench.Figures) float64 { return float64(f.Peak) })
	return l
}

func each[T, R any](all []T, f func(T) R) []R {
	out := make([]R, len(all))
	for i, x := range all {
		out[i] = f(x)
	}
	return out
}

// jaxTotals sum a suite up.
type jaxTotals struct {
	// Run, Compile and Peak are geometric means of JAX's over ours.
	Run     float64 `json:"run"`
	Compile float64 `json:"compile"`
	Peak    float64 `json:"peak"`
	// Slower are programs slower than JAX by more than a tenth.
	Slower []string `json:"slower"`
}

func jaxSummary(lines []jaxLine) (t jaxTotals) {
	mean := func(of func(jaxLine) float64) float64 {
		sum, n := 0., 0
		for _, l := range lines {
			if l.JAX != nil {
				sum, n = sum+math.Log(of(l)), n+1
			}
		}
		if n == 0 {
			return 0
		}
		return math.Exp(sum / float64(n))
	}
	t.Run = mean(func(l jaxLine) float64 { return l.RunRatio })
	t.Compile = mean(func(l jaxLine) float64 { return l.CompileRatio })
	t.Peak = mean(func(l jaxLine) float64 { return l.PeakRatio })
	for _, l := range lines {
		if l.JAX != nil && l.RunRatio < jaxLeast {
			t.Slower = append(t.Slower, l.Name)
		}
	}
	slices.Sort(t.Slower)
	return t
}

// jaxWorkloads are the lines as every suite gives them.
func jaxWorkloads(lines []jaxLine) (rows []row) {
	for _, l := range lines {
		for _, x := range []struct {
			what   string
			ours   func(*genericbench.Figures) float64
			needed float64 // of each; the geometric mean is to be more
		}{
			{"", func(f *genericbench.Figures) float64 { return f.Run }, jaxLeast},
			{"-compile", func(f *genericbench.Figures) float64 { return f.Compile }, 0},
		} {
			r := row{Name: l.Name + x.what, Ours: x.ours(&l.Ours)}
			if l.JAX != nil {
				r = r.against("jax", x.ours(l.JAX))
				r.Needed = x.needed
			}
			rows = append(rows, r)
		}
	}
	return rows
}

func (b *jaxBench) table(lines []jaxLine) error {
	t := tabwriter.NewWriter(b.Out, 0, 8, 2, ' ', 0)
	fmt.Fprint(t, "PROGRAM\tCALL\tCOMPILE\tPEAK")
	if b.peer != nil {
		fmt.Fprint(t, "\tJAX: CALL\tCOMPILE\tPEAK\tRATIOS: CALL\tCOMPILE\tPEAK")
	}
	fmt.Fprintln(t)
	megabytes := func(n int64) string { return fmt.Sprintf("%d MB", n/1e6) }
	for _, l := range lines {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s", l.Name, console.ShortTime(l.Ours.Run), console.ShortTime(l.Ours.Compile), megabytes(l.Ours.Peak))
		if l.JAX != nil {
			fmt.Fprintf(t, "\t%s\t%s\t%s\t%.2f\t%.2f\t%.2f", console.ShortTime(l.JAX.Run), console.ShortTime(l.JAX.Compile), megabytes(l.JAX.Peak), l.RunRatio, l.CompileRatio, l.PeakRatio)
		}
		fmt.Fprintln(t)
	}
	if err := t.Flush(); err != nil || b.peer == nil {
		return err
	}
	s := jaxSummary(lines)
	fmt.Fprintf(b.Out, "geometric means of JAX / ours: call %.2f (wanted %.1f), compile %.2f (wanted %d), peak memory %.2f\n", s.Run, jaxWantRun, s.Compile, jaxWantCompile, s.Peak)
	fmt.Fprintf(b.Out, "slower than JAX by more than a tenth: %d of %d %s\n", len(s.Slower), len(lines), strings.Join(s.Slower, " "))
	return nil
}
