// Package command registers the commands study, serve, work and copy with the command line. A program has them if it
// imports this package.
package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/machine"
	"xlarun/studies"
	"xlarun/studies/study"
)

func init() {
	cli.Register(func(a *cli.App) []*cobra.Command {
		return []*cobra.Command{studyCommand(a), serveCommand(a), workCommand(a), copyCommand(a)}
	})
}

func studyCommand(a *cli.App) *cobra.Command {
	cmd := cli.Group("study", "", studyRunCommand(a), studyShowCommand(a), studyWatchCommand(a), studyBestCommand(a),
		studyPlotCommand(a), studyExportCommand(a), studyWorkCommand(a))
	cmd.Long = "A study tries settings of a kind of run. Its file names the kind, the metric that is the objective, " +
		"and the parameters; docs/how-to/studies.md has all keys. Trials run in worker processes, small ones many at " +
		"a time in one program (--trials-as). Workers, and the study itself, may be killed: the same command " +
		"continues, and the results are the same to the byte. They are kept in an SQLite file, or a PostgreSQL " +
		"server's database, of the schema of Optuna 5.0."
	cmd.Example = "  xlarun study run examples/study-cartpole.toml\n  xlarun study best " +
		"examples/study-cartpole.toml --config best.toml\n  xlarun study export runs/study-cartpole/study.db " +
		"--out trials.csv"
	return cmd
}

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
		if errors.As(err, new(*studies.SpecError)) {
			return nil, usage(err, path, over)
		}
		return nil, console.BadInput("%s: %w", path, err)
	}
	return s, usage(s.Check(newMaker(a, path)), path, over)
}

func studyRunCommand(a *cli.App) *cobra.Command {
	values, log := map[string]string{}, &console.LogFlags{}
	asJSON, grace := false, time.Duration(0)
	cmd := &cobra.Command{
		Use: "run SPEC.toml", Short: "Run a study, or continue it",
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := readSpec(a, args[0], values)
			if err == nil {
				err = saves(cmd.Context(), grace)
			}
			var to *slog.Logger
			if err == nil {
				to, err = log.Logger(a.Out)
			}
			if err != nil {
				return err
			}
			if parent := a.Getenv(envParent); parent != "" { // Python, which has the objective
				_ = os.Unsetenv(envParent) // it is no parent of what this process starts
				endWithParent(parent, endSelf)
			}
			c := &studies.Coordinator{Runs: newMaker(a, args[0])}
			return usage(runStudy(cmd.Context(), a, to, s, c, asJSON), args[0], values)
		},
	}
	specFlags(cmd, values, &asJSON)
	graceFlag(cmd, &grace)
	log.Add(cmd.Flags())
	return cmd
}

// graceFlag is --grace.
func graceFlag(cmd *cobra.Command, grace *time.Duration) {
	cmd.Flags().DurationVar(grace, "grace", console.DefaultGrace, console.GraceHelp)
}

// saves says that the command saves what it has within --grace after SIGTERM.
func saves(ctx context.Context, grace time.Duration) error {
	console.Saves(ctx, grace)
	return console.CheckGrace(grace)
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

// runStudy runs a study to its end. It calls the functions in opened when the study is open, and at its end the
// functions that they return.
func runStudy(ctx context.Context, a *cli.App, log *slog.Logger, s *studies.Spec, c *studies.Coordinator, asJSON bool,
	opened ...func() (end func(), err error)) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	start, ended, failed := machine.ProcessStart(), 0, 0
	var last *study.FrozenTrial
	say := func(format string, args ...any) { log.Info(fmt.Sprintf(format, args...)) }
	c.Spec, c.Version = s, console.Version()
	c.Command = func(slot int) *exec.Cmd {
		// The address has no password: a worker finds its coordinator by it and opens no database.
		cmd := exec.Command(self, "study", "work", "--storage", s.Where(), "--study", s.Name, "--slot",
			fmt.Sprint(slot), "--exec", s.Exec)
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
		if c.Earlier(t) {
			return
		}
		text := fmt.Sprintf("trial %d  %s  %s", t.Number, outcomeOf(t), paramsText(t))
		facts := trialFacts(t)
		if best != nil {
			facts = append(facts, slog.Any("best", console.Number(best.Values[0])),
				slog.Int64("best_trial", best.Number))
		}
		if best != nil && best != t {
			text += fmt.Sprintf("  (best %.6g, trial %d)", best.Values[0], best.Number)
		}
		log.LogAttrs(ctx, levelOf(t.State), text, facts...)
	}
	c.Notice = func(line string) { log.Warn(line) }
	if err := c.Open(); err != nil {
		return err
	}
	say("study %s: %s of %s, %s of %s, sampler %s; kept in %s", s.Name, trialCount(s.Trials), s.Kind, s.Direction,
		s.Metric, s.Sampler, s.Where())
	say("%s", c.Description())
	if n := c.EarlierTrials(); n > 0 {
		say("%s had ended before: xlarun study show lists them", trialCount(n))
	}
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
		return console.InterruptedError{Err: fmt.Errorf("interrupted after %s: the same command goes on",
			trialCount(ended))}
	}
	if err != nil {
		return err
	}
	took := time.Since(start).Round(time.Millisecond)
	text := fmt.Sprintf("done: %s, %d failed, in %s", trialCount(ended), failed, took)
	switch n := c.EarlierTrials(); {
	case n == ended:
		text = fmt.Sprintf("nothing was left to do: %s, %d failed, had ended before", trialCount(ended), failed)
	case n > 0:
		text = fmt.Sprintf("done: %s, %d failed, %d of them now, in %s", trialCount(ended), failed, ended-n, took)
	}
	if n := c.Foreign(); n > 0 {
		text += fmt.Sprintf(", and %d that other programs added", n)
	}
	if n := c.Threads(); n > 0 {
		text += fmt.Sprintf("; %s had up to %d threads of the operating system", map[bool]string{
			false: "a worker", true: "this process"}[c.Lanes()], n)
	}
	say("%s", text)
	if last != nil {
		say("best: trial %d, %.6g: %s", last.Number, last.Values[0], paramsText(last))
		if text := luck(s.Metric, last.Values[0]); text != "" {
			say("%s", text)
		}
	}
	if !asJSON {
		return nil
	}
	result := map[string]any{"study": s.Name, "storage": s.Where(), "trials": ended,
		"earlier_trials": c.EarlierTrials(), "failed": failed,
		"foreign": c.Foreign(), "workers": s.Workers, "threads": s.Threads, "lanes": c.Lanes(),
		"worker_threads": c.Threads(), "worker_deaths": c.Deaths(), "wall_seconds": time.Since(start).Seconds()}
	if last != nil {
		result["best_trial"], result["best_value"], result["best_params"] = last.Number, console.Number(last.Values[0]),
			last.External()
	}
	return json.NewEncoder(a.Out).Encode(result)
}

// usage marks what is wrong with the spec as a mistake of the user. It names the flag that gave the value, else the
// spec's file and the key.
func usage(err error, path string, flags map[string]string) error {
	e, ok := errors.AsType[*studies.SpecError](err)
	if !ok {
		return err
	}
	if flags["exec"] != "" && e.Key == "command" { // the key of the same in a file
		e.Key = "exec"
	}
	if _, given := flags[e.Key]; given {
		return console.BadInput("%s", e.Of("--"+e.Key))
	}
	return console.BadInput("%s: %w", path, err)
}

// studyWorkCommand is what worker processes run.
func studyWorkCommand(a *cli.App) *cobra.Command {
	var storage, name, program string
	var slot int
	cmd := &cobra.Command{
		Use: "work", Short: "Run trials of a study as one of its workers", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := studies.Worker(cmd.Context(), storage, name, slot, console.Version(), program,
				newMaker(a, "the study's spec"))
			if cmd.Context().Err() != nil {
				return nil
			}
			return err
		},
	}
	cmd.Flags().StringVar(&storage, "storage", "", "database of the study")
	cmd.Flags().StringVar(&name, "study", "", "name of the study")
	cmd.Flags().IntVar(&slot, "slot", 0, "number of the worker, from 0")
	cmd.Flags().StringVar(&program, "exec", "", "program that a trial is")
	return cmd
}
