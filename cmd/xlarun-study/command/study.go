// Package command registers the commands study, serve and work with the command line. A program has them if it imports
// this package.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/rollout/run"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
	"xlarun/xlabridge"
)

func init() {
	cli.Register(func(a *cli.App) []*cobra.Command {
		return []*cobra.Command{studyCommand(a), serveCommand(a), workCommand(a)}
	})
}

func studyCommand(a *cli.App) *cobra.Command {
	cmd := cli.Group("study", "", studyRunCommand(a), studyShowCommand(a), studyWatchCommand(a), studyBestCommand(a),
		studyPlotCommand(a),
		studyExportCommand(a), studyWorkCommand(a))
	cmd.Long = "A study tries settings of a kind of run. Its file names the kind, the metric that is the objective, " +
		"and the parameters; docs/study.md has\n" +
		"all keys. Trials run in worker processes, small ones many at a time as lanes of one program (--trials-as). " +
		"Workers, and the study itself, may be\n" +
		"killed: the same command goes on, and the results are the same to the byte. They are kept in an SQLite " +
		"file, or a PostgreSQL server's database, of\n" +
		"the schema of Optuna 5.0."
	cmd.Example = "  xlarun study run examples/study-cartpole.toml\n  xlarun study best " +
		"examples/study-cartpole.toml --config best.toml\n  xlarun study export runs/study-cartpole/study.db " +
		"--out trials.csv"
	return cmd
}

// maker makes runs of settings, with one backend of each kind kept open.
type maker struct {
	*cli.App
	path     string // of the spec, for errors
	backends map[console.BackendFlags]xlabridge.Backend
	on       map[run.Experiment]console.BackendFlags
}

func newMaker(a *cli.App, path string) *maker {
	return &maker{App: a, path: path, backends: map[console.BackendFlags]xlabridge.Backend{},
		on: map[run.Experiment]console.BackendFlags{}}
}

// Resolve implements studies.Runs. Plans are not measured, so that a trial gives the same wherever it runs.
func (m *maker) Resolve(kind string, values map[string]any) (run.Experiment, error) {
	e, on, err := m.App.Resolve(kind, m.path, values)
	if err != nil {
		return nil, err
	}
	clear(m.on) // only the newest is asked for
	m.on[e] = on
	return e, nil
}

// Backend implements studies.Runs.
func (m *maker) Backend(ctx context.Context, e run.Experiment) (xlabridge.Backend, error) {
	on := m.on[e]
	if b, ok := m.backends[on]; ok {
		return b, nil
	}
	b, err := m.OpenBackend(ctx, on, silent{})
	if err == nil {
		m.backends[on] = b
	}
	return b, err
}

type silent struct{}

func (silent) Download(int64, int64) {}
func (silent) Notice(string)         {}

// largestSpec is the size from which a file is no spec.
const largestSpec = 1 << 20

// readSpec reads a spec and checks it against the kinds of run.
func readSpec(a *cli.App, path string, over map[string]string) (*studies.Spec, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, console.BadInput("%s cannot be read (%w): give the file of a study", path, console.Cause(err))
	}
	if !info.Mode().IsRegular() || info.Size() > largestSpec {
		return nil, console.BadInput("%s is no file of a study: give a TOML file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, console.BadInput("%s cannot be read (%w): give the file of a study", path, console.Cause(err))
	}
	s, err := studies.Parse(text, over)
	if err != nil {
		return nil, console.BadInput("%s: %w", path, err)
	}
	if err := s.Check(newMaker(a, path)); err != nil {
		if _, ok := errors.AsType[*studies.SpecError](err); ok {
			return nil, console.BadInput("%s: %w", path, err)
		}
		return nil, err
	}
	return s, nil
}

func studyRunCommand(a *cli.App) *cobra.Command {
	values := map[string]string{}
	asJSON := false
	cmd := &cobra.Command{
		Use: "run SPEC.toml", Short: "Run a study, or go on with it",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSpec(a, args[0], values)
			if err != nil {
				return err
			}
			return runStudy(cmd.Context(), a, s, &studies.Coordinator{Runs: newMaker(a, args[0])}, asJSON)
		},
	}
	specFlags(cmd, values, &asJSON)
	return cmd
}

// specFlags are the keys of a spec as flags.
func specFlags(cmd *cobra.Command, values map[string]string, asJSON *bool) {
	cli.AddTexts(cmd.Flags(), values, studies.Defaults())
	cmd.Flags().BoolVar(asJSON, "json", false, "end stdout with one line of JSON, the result")
}

func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return console.BadInput("got %d arguments, wants one file of a study", len(args))
	}
	return nil
}

// runStudy runs a study to its end. It calls opened once the study is open, and what they return at its end.
func runStudy(ctx context.Context, a *cli.App, s *studies.Spec, c *studies.Coordinator, asJSON bool,
	opened ...func() (end func(), err error)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start, ended, failed := machine.ProcessStart(), 0, 0
	var last *study.FrozenTrial
	say := func(format string, args ...any) { fmt.Fprintf(a.Out, format+"\n", args...) }
	c.Spec = s
	c.Command = func(slot int) *exec.Cmd {
		cmd := exec.Command(self, "study", "work", "--storage", s.Where(), "--study", s.Name, "--slot",
			fmt.Sprint(slot))
		if c.Listen.Token != "" {
			cmd.Env = append(os.Environ(), studies.TokenVariable+"="+c.Listen.Token)
		}
		return cmd
	}
	c.Ended = func(t, best *study.FrozenTrial) {
		ended++
		if t.State == study.Fail {
			failed++
		}
		last = best
		text := fmt.Sprintf("trial %d  %s  %s", t.Number, outcomeOf(t), paramsText(t))
		if best != nil && best != t {
			text += fmt.Sprintf("  (best %.6g, trial %d)", best.Values[0], best.Number)
		}
		say("%s", text)
	}
	c.Notice = func(line string) { say("%s", line) }
	if err := c.Open(); err != nil {
		return usage(err)
	}
	say("study %s: %d trials of %s, %s of %s, sampler %s; kept in %s", s.Name, s.Trials, s.Kind, s.Direction, s.Metric,
		s.Sampler, s.Where())
	say("%s", c.How())
	for _, line := range s.Notices() {
		say("%s", line)
	}
	for _, open := range opened {
		end, err := open()
		if err != nil {
			return errors.Join(err, c.Close())
		}
		defer end()
	}
	err = c.Run(ctx)
	if err != nil && ctx.Err() != nil {
		return console.InterruptedError{Err: fmt.Errorf("interrupted after %d trials: the same command goes on", ended)}
	}
	if err != nil {
		return usage(err)
	}
	text := fmt.Sprintf("done: %d trials, %d failed, in %s", ended, failed, time.Since(start).Round(time.Millisecond))
	if n := c.Foreign(); n > 0 {
		text += fmt.Sprintf(", and %d that other programs added", n)
	}
	if n := c.Threads(); n > 0 {
		text += fmt.Sprintf("; %s had up to %d threads", map[bool]string{
			false: "a worker", true: "this process"}[c.Lanes()], n)
	}
	say("%s", text)
	if last != nil {
		say("best: trial %d, %.6g: %s", last.Number, last.Values[0], paramsText(last))
	}
	if !asJSON {
		return nil
	}
	result := map[string]any{"study": s.Name, "storage": s.Where(), "trials": ended, "failed": failed,
		"foreign": c.Foreign(), "workers": s.Workers, "threads": s.Threads, "lanes": c.Lanes(),
		"worker_threads": c.Threads(), "worker_deaths": c.Deaths(), "wall_seconds": time.Since(start).Seconds()}
	if last != nil {
		result["best_trial"], result["best_value"], result["best_params"] = last.Number, console.Number(last.Values[0]),
			last.External()
	}
	return json.NewEncoder(a.Out).Encode(result)
}

// usage marks what is wrong with the spec as a mistake of the user.
func usage(err error) error {
	if _, ok := errors.AsType[*studies.SpecError](err); ok {
		return console.UsageError{Err: err}
	}
	return err
}

// outcomeOf says how a trial ended.
func outcomeOf(t *study.FrozenTrial) string {
	switch {
	case t.State == study.Fail:
		return "failed: " + console.ShortText(studies.Reason(t))
	case len(t.Values) == 0:
		return strings.ToLower(string(t.State))
	}
	var values []string
	for _, x := range t.Values {
		values = append(values, fmt.Sprintf("%.6g", x))
	}
	return strings.ToLower(string(t.State)) + "  " + strings.Join(values, ", ")
}

// paramsText is "pop=64 strategy.sigma=0.1".
func paramsText(t *study.FrozenTrial) string {
	external := t.External()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(external)) {
		if x, ok := external[name].(float64); ok {
			all = append(all, fmt.Sprintf("%s=%.4g", name, x))
			continue
		}
		all = append(all, fmt.Sprintf("%s=%v", name, external[name]))
	}
	return strings.Join(all, " ")
}

// studyWorkCommand is what worker processes run.
func studyWorkCommand(a *cli.App) *cobra.Command {
	var storage, name string
	var slot int
	cmd := &cobra.Command{
		Use: "work", Short: "Run trials of a study as one of its workers", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := studies.Worker(cmd.Context(), storage, name, slot, newMaker(a, "the study's spec"))
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&storage, "storage", "", "database of the study")
	cmd.Flags().StringVar(&name, "study", "", "name of the study")
	cmd.Flags().IntVar(&slot, "slot", 0, "number of the worker, from 0")
	return cmd
}

// openStudy opens a study to be looked at: by its spec's file, or by its database.
func openStudy(a *cli.App, at, name string) (*rdb.DB, *study.Study, error) {
	if strings.HasSuffix(at, ".toml") {
		s, err := readSpec(a, at, nil)
		if err != nil {
			return nil, nil, err
		}
		if at = s.Storage; name == "" {
			name = s.Name
		}
	}
	path, err := rdb.Path(at)
	if err != nil {
		return nil, nil, console.UsageError{Err: err}
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, nil, console.BadInput("%s is a folder: give the file of a study that was run, or its database",
			path)
	}
	if path != "" && !console.Exists(path) {
		return nil, nil, console.BadInput("there is no study in %s: give the file of a study that was run, or its "+
			"database", path)
	}
	if path == "" {
		path = rdb.Shown(at)
	}
	d, err := rdb.OpenReadOnly(at)
	if errors.Is(err, rdb.ErrNoStudies) {
		return nil, nil, console.BadInput("%s is no database of studies: give the file of a study that was run, or "+
			"its database", path)
	}
	if err != nil {
		return nil, nil, console.BadInput("%w", readable(path, err))
	}
	names, directions, err := d.Studies()
	err = readable(path, err)
	if err == nil && name == "" && len(names) == 1 {
		name = names[0]
	}
	if err == nil && directions[name] == nil {
		reason := fmt.Sprintf("%s has the studies %s", path, strings.Join(names, ", "))
		err = console.UsageError{Err: console.ChoiceError{Reason: reason, Choose: "study"}}
	}
	if err != nil {
		return nil, nil, errors.Join(err, d.Close())
	}
	st, err := study.New(name, study.Options{Storage: d, Directions: directions[name], Sampler: study.Random{}})
	return d, st, readable(path, err)
}

// readable names the file in an error that means that it is damaged.
func readable(path string, err error) error {
	if rdb.IsDamaged(err) {
		return console.BadInput("%s is a damaged or cut database (%w): take it from a copy", path, err)
	}
	return err
}

// lookCommand is a command that looks at a study.
func lookCommand(a *cli.App, use, short string,
	look func(st *study.Study, trials []*study.FrozenTrial) error) *cobra.Command {
	name := ""
	cmd := &cobra.Command{Use: use + " SPEC.toml|DATABASE", Short: short, Args: oneFile,
		RunE: func(_ *cobra.Command, args []string) error {
			d, st, err := openStudy(a, args[0], name)
			if err != nil {
				return err
			}
			trials, err := st.Trials()
			if err == nil {
				err = look(st, trials)
			}
			return errors.Join(readable(args[0], err), d.Close())
		}}
	cmd.Flags().StringVar(&name, "study", "", "name of the study, where the database has several")
	return cmd
}

func studyShowCommand(a *cli.App) *cobra.Command {
	return lookCommand(a, "show", "List the trials of a study, which may be under way",
		func(st *study.Study, trials []*study.FrozenTrial) error {
			count, foreign := map[study.State]int{}, 0
			attended := true
			if d, ok := st.Storage().(*rdb.DB); ok {
				var err error
				if attended, err = studies.IsRunning(d, st, trials); err != nil {
					return err
				}
			}
			abandoned := 0
			for _, t := range trials {
				count[t.State]++
				line := fmt.Sprintf("trial %d  %s  %s", t.Number, outcomeOf(t), paramsText(t))
				if t.SystemAttrs[study.SeesAttr] == nil && t.State != study.Waiting {
					foreign++
					line += "  (another program's)"
				} else if t.State == study.Running && !attended {
					abandoned++
					line += "  (nobody runs it)"
				}
				if !t.Feasible() {
					line += "  (breaks its constraints)"
				}
				if ignored, ok := study.System[[]string](t, study.IgnoredAttr); ok {
					line += "  (" + strings.Join(ignored, "; ") + ")"
				}
				if c, ok := study.System[study.Conflict](t, study.ConflictAttr); ok {
					line += fmt.Sprintf("  NOT DETERMINISTIC: digests %s and %s", c.First, c.Second)
				}
				fmt.Fprintln(a.Out, line)
			}
			others := ""
			if abandoned > 0 {
				others = fmt.Sprintf(", of which nobody runs %d: the command that began the study goes on with them",
					abandoned)
			}
			if foreign > 0 {
				others += fmt.Sprintf("; %d were added by other programs", foreign)
			}
			explained := false
			for i, d := range st.Directions() {
				var shares []string
				for _, x := range study.Importances(trials, i) {
					shares = append(shares, fmt.Sprintf("%s %.0f %%", x.Name, 100*x.Share))
				}
				if len(shares) > 0 {
					fmt.Fprintf(a.Out, "importances for objective %d (%s): %s\n", i, strings.ToLower(string(d)),
						strings.Join(shares, ", "))
					explained = true
				}
			}
			if explained {
				fmt.Fprintln(a.Out, "an importance is the share of the variance of the values' ranks that one "+
					"parameter alone explains (first-order sensitivity index)")
			}
			fmt.Fprintf(a.Out, "%s: %d trials, %d complete, %d pruned, %d failed, %d waiting, %d under way%s\n",
				st.Name,
				len(trials),
				count[study.Complete], count[study.Pruned], count[study.Fail], count[study.Waiting],
				count[study.Running],
				others)
			return nil
		})
}

func studyExportCommand(a *cli.App) *cobra.Command {
	out := ""
	cmd := lookCommand(a, "export", "Write the trials of a study as CSV or JSON lines",
		func(_ *study.Study, trials []*study.FrozenTrial) error {
			if out == "" {
				return console.BadInput("--out is missing: give the file to write, such as trials.csv or trials.jsonl")
			}
			if !strings.HasSuffix(out, ".csv") && !strings.HasSuffix(out, ".jsonl") {
				return console.BadInput("--out got %q, wants a file .csv or .jsonl", out)
			}
			text, err := exported(trials, strings.HasSuffix(out, ".csv"))
			if err != nil {
				return err
			}
			if err := os.WriteFile(out, text, 0o666); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "%d trials are in %s\n", len(trials), out)
			return nil
		})
	cmd.Flags().StringVar(&out, "out", "", "file to write, .csv or .jsonl")
	return cmd
}
