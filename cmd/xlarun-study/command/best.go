package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"xlarun/cmd/xlarun/cli"
	"xlarun/cmd/xlarun/console"
	"xlarun/graph/safetensors"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/studies"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// best are the flags of study best.
type best struct {
	app            *cli.App
	name           string // of the study
	trial          int    // -1: the best
	config, member string
	json           bool
	result         bestResult
	trials         []*study.FrozenTrial // of the study
}

// bestResult is the line of JSON.
type bestResult struct {
	Trials []json.RawMessage `json:"trials"`           // as export writes them
	Config string            `json:"config,omitempty"` // the text that --config - would write
}

func studyBestCommand(a *cli.App) *cobra.Command {
	b := &best{app: a}
	cmd := &cobra.Command{
		Use: "best SPEC.toml|DATABASE", Args: oneFile,
		Short: "Show the best trial of a study, of several objectives all that no other is better than",
		Long: "Best shows the best trial of a study. --config writes the config of its run, with all settings in " +
			"full precision, which xlarun KIND CONFIG repeats to the byte; of a trial with several seeds, with the " +
			"seed 0. --member repeats the runs of all seeds and keeps the best member, judged on new episodes. " +
			"The config of a trial of the sampler pbt is a run from the start with the settings that it ended " +
			"with, which does not repeat it; --member repeats the trials that it goes on from, too.",
		Example: "  xlarun study best examples/study-cartpole.toml --config best.toml\n  xlarun study best " +
			"examples/study-cartpole.toml --member champion.safetensors\n  xlarun evolve --from-study " +
			"examples/study-cartpole.toml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("trial") && b.trial < 0 {
				return console.BadInput("--trial got %d, wants the number of a trial, from 0", b.trial)
			}
			return b.run(cmd.Context(), args[0])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&b.name, "study", "", "name of the study, where the database has several")
	f.IntVar(&b.trial, "trial", -1, "number of another trial than the best")
	f.StringVar(&b.config, "config", "", "file to write the trial's config to, - for stdout")
	f.StringVar(&b.member, "member", "", "file to write the trained member to, FILE.safetensors; the trial's run is "+
		"repeated")
	f.BoolVar(&b.json, "json", false, "end stdout with one line of JSON: the trials, and the config of --config -")
	return cmd
}

func (b *best) run(ctx context.Context, source string) error {
	if b.member != "" && filepath.Ext(b.member) != ".safetensors" {
		return console.BadInput("--member got %s, wants a file that ends in .safetensors", b.member)
	}
	d, st, err := openStudy(b.app, source, b.name)
	if err != nil {
		return err
	}
	spec, t, err := b.show(d, st, source)
	err = errors.Join(damagedAsBadInput(source, err), d.Close())
	if err == nil && b.member != "" {
		err = b.train(ctx, source, spec, t)
	}
	if err != nil || !b.json {
		return err
	}
	return b.app.PrintJSON(b.result)
}

// show prints the trials, and writes the config. It returns the trial and its study's spec if one of them is asked for.
func (b *best) show(d *rdb.DB, st *study.Study, source string) (*studies.Spec, *study.FrozenTrial, error) {
	trials, err := st.Trials()
	if err != nil {
		return nil, nil, err
	}
	b.trials = trials
	chosen, err := b.choose(st, trials)
	if err != nil {
		return nil, nil, err
	}
	lines, err := trialsJSON(chosen)
	if err != nil {
		return nil, nil, err
	}
	for line := range bytes.Lines(lines) {
		b.result.Trials = append(b.result.Trials, line)
	}
	if b.config != "-" {
		for _, t := range chosen {
			fmt.Fprintf(b.app.Out, "trial %d  %s  %s\n", t.Number, outcomeOf(t), paramsText(t))
		}
	}
	if b.config != "-" && len(chosen) == 1 {
		for i, metric := range studies.MetricNames(d, st) {
			if text := luck(metric, chosen[0].Values[i]); text != "" {
				fmt.Fprintln(b.app.Out, text)
			}
		}
	}
	if b.config == "" && b.member == "" {
		return nil, nil, nil
	}
	if len(chosen) > 1 {
		reason := fmt.Sprintf("no trial of %s is better than all others in %d objectives", st.Name,
			len(st.Directions()))
		return nil, nil, console.UsageError{Err: console.ChoiceError{Reason: reason, Choose: "trial"}}
	}
	spec, err := studies.SpecOf(d, st.ID())
	if err != nil {
		return nil, nil, console.BadInput("%s: %w", source, err)
	}
	if b.config != "" {
		err = b.writeConfig(source, spec, chosen[0])
	}
	return spec, chosen[0], err
}

// writeConfig writes the config of a trial's run.
func (b *best) writeConfig(source string, spec *studies.Spec, t *study.FrozenTrial) error {
	if spec.Programs() {
		return b.writeParams(spec, t)
	}
	text, err := b.app.ConfigOf(spec.Kind, source, spec.Values(t.External(), 0))
	if err != nil {
		return err
	}
	if b.config == "-" && b.json {
		b.result.Config = text
		return nil
	}
	if b.config == "-" {
		_, err = fmt.Fprint(b.app.Out, text)
		return err
	}
	if err := console.WriteFile(b.config, []byte(text)); err != nil {
		return console.BadInput("--config %s cannot be written: %w", b.config, console.Cause(err))
	}
	seeds := ""
	if spec.Seeds > 1 {
		seeds = fmt.Sprintf(", with the first of its %d seeds", spec.Seeds)
	}
	if spec.GoesOn() {
		_, err = fmt.Fprintf(b.app.Out, "the settings that it ended with are in %s: xlarun %s %s starts a run with "+
			"them from the beginning, which does not repeat the trial%s\n", b.config, spec.Kind, b.config, seeds)
		return err
	}
	_, err = fmt.Fprintf(b.app.Out, "its config is in %s: xlarun %s %s repeats it%s\n", b.config, spec.Kind, b.config,
		seeds)
	return err
}

// writeParams writes the parameters of a trial that is a program, as the program gets them.
func (b *best) writeParams(spec *studies.Spec, t *study.FrozenTrial) error {
	text, err := spec.ProgramParams(t)
	switch {
	case err != nil:
		return err
	case b.config == "-" && b.json:
		return console.BadInput("trials of %s are programs, which have no config of a run: give the parameters of "+
			"study best to the program", spec.Name)
	case b.config == "-":
		_, err = fmt.Fprintf(b.app.Out, "%s\n", text)
		return err
	}
	if err := console.WriteFile(b.config, append(text, '\n')); err != nil {
		return console.BadInput("--config %s cannot be written: %w", b.config, console.Cause(err))
	}
	_, err = fmt.Fprintf(b.app.Out, "the parameters of its program are in %s, as JSON\n", b.config)
	return err
}

// choose returns the best trials, or the one that is asked for.
func (b *best) choose(st *study.Study, trials []*study.FrozenTrial) ([]*study.FrozenTrial, error) {
	if b.trial >= 0 {
		i := slices.IndexFunc(trials, func(t *study.FrozenTrial) bool { return t.Number == int64(b.trial) })
		if i < 0 {
			return nil, console.BadInput("there is no trial %d: %s has the trials 0 to %d", b.trial, st.Name,
				len(trials)-1)
		}
		return trials[i : i+1], nil
	}
	chosen := study.Best(trials, st.Directions())
	if len(chosen) > 0 {
		return chosen, nil
	}
	if slices.ContainsFunc(trials, func(t *study.FrozenTrial) bool { return t.State == study.Complete }) {
		return nil, fmt.Errorf("no complete trial of %s keeps its constraints", st.Name)
	}
	return nil, fmt.Errorf("no trial of %s is complete", st.Name)
}

// train repeats the runs of a trial, and keeps the best member of them.
func (b *best) train(ctx context.Context, source string, spec *studies.Spec, t *study.FrozenTrial) (err error) {
	if spec.Programs() {
		return console.BadInput("trials of %s are programs, which have no members: leave --member out", spec.Name)
	}
	if console.Exists(b.member) {
		return console.BadInput("--member %s is there already: give another name", b.member)
	}
	dir, err := os.MkdirTemp("", "xlarun-study-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var before []*run.Snapshot // the last round of a trial that goes on from others, by seed
	if spec.GoesOn() {
		fmt.Fprintf(b.app.Out, "repeating it, after the trials that it goes on from\n")
		runs := newMaker(b.app, source)
		before, err = spec.LastRoundOfPBT(ctx, runs, b.trials, t)
		if err = errors.Join(err, runs.close()); err != nil { // the run below opens a backend of its own
			return err
		}
	}
	members := make([]member, spec.Seeds)
	for seed := range members {
		if members[seed], err = b.repeat(ctx, source, spec, t, dir, seed, before); err != nil {
			return err
		}
	}
	highest := slices.MinFunc(members, byScore)
	data, err := os.ReadFile(highest.path)
	if err != nil {
		return err
	}
	if err := console.WriteFile(b.member, data); err != nil {
		return console.BadInput("--member %s cannot be written: %w", b.member, console.Cause(err))
	}
	of := ""
	if n := len(members); n > 1 {
		of = fmt.Sprintf(" of the %d seeds", n)
	}
	if highest.words != "" {
		_, err = fmt.Fprintf(b.app.Out, "the best member%s, with %s, is in %s\n", of, highest.words, b.member)
		return err
	}
	_, err = fmt.Fprintf(b.app.Out, "the best member%s, with a mean return of %v over new episodes, is in %s: "+
		"xlarun play %s\n", of, highest.score, b.member, b.member)
	return err
}

// member is the best member of a run.
type member struct {
	path  string            // of its file
	score episode.EvalScore // over new episodes
	words string            // the score of a member that plays no episodes; "" for others
}

// byScore orders members by their scores, the best first.
func byScore(a, b member) int { return a.score.Compare(b.score) }

// repeat repeats a run of a trial in a folder, and returns its best member. If states before the last rounds are given,
// it repeats that round.
func (b *best) repeat(ctx context.Context, source string, spec *studies.Spec, t *study.FrozenTrial, dir string,
	seed int, before []*run.Snapshot) (best member, err error) {
	text, err := b.app.ConfigOf(spec.Kind, source, spec.Values(t.External(), seed))
	if err != nil {
		return member{}, err
	}
	config, folder := filepath.Join(dir, "trial.toml"), filepath.Join(dir, fmt.Sprintf("seed-%d", seed))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return member{}, err
	}
	streams := b.app.Streams
	var shown strings.Builder
	streams.Out, streams.Err = io.Discard, &shown
	args := []string{spec.Kind, "--config", config, "--out", folder}
	switch {
	case before == nil:
		fmt.Fprintf(b.app.Out, "repeating its run with the seed %d\n", seed)
	case before[seed] == nil:
		args = append(args, "--rounds", "1")
	default:
		args = []string{spec.Kind, "--resume", folder, "--drop-rows", "--rounds", "1"}
		if err := stoppedRun(folder, spec.Kind, text, *before[seed]); err != nil {
			return member{}, err
		}
	}
	if cli.Run(ctx, args, streams) != cli.StatusOK {
		if ctx.Err() != nil {
			return member{}, console.ErrInterrupted
		}
		return member{}, fmt.Errorf("the run of the trial failed: %s", strings.TrimSpace(shown.String()))
	}
	path := filepath.Join(folder, run.BestMember+".safetensors")
	file, err := safetensors.Open(path)
	if err != nil {
		return member{}, console.BadInput("a run of %s saves no best member: leave --member out", spec.Kind)
	}
	for key, words := range map[string]string{"test_accuracy": "the test accuracy", "elo": "the Elo rating"} {
		if x, err := strconv.ParseFloat(file.Metadata()[key], 64); err == nil {
			m := member{path: path, words: fmt.Sprintf("%s %.4g", words, x)}
			if m.score.Mean = x; math.IsNaN(x) {
				m.words = "no rating"
			}
			return m, file.Close()
		}
	}
	score, err := episode.SavedScore(file.Metadata())
	return member{path: path, score: score}, errors.Join(err, file.Close())
}

// stoppedRun makes the folder of a run that was stopped in a state. Its rows are not known.
func stoppedRun(dir, kind, config string, at run.Snapshot) error {
	folder, err := runfolder.Create(dir, runfolder.Options{})
	if err != nil {
		return err
	}
	k, _ := run.Lookup(kind)
	_, err = folder.SaveCheckpoint(runfolder.Checkpoint{Step: at.Step, Kind: k.Name, Format: k.Version, Config: config,
		Arrays: at.Arrays, Info: map[string]string{session.InfoVersion: console.Version(), session.InfoDone: "false"}})
	return errors.Join(err, folder.Write("config.toml", []byte(config)), folder.Close())
}
