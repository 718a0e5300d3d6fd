package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
)

// lastPart matches the part after the last colon of FILE:STUDY and FILE:N. That part has no slash, unlike the rest of a
// path or of a server's address after a colon.
var lastPart = regexp.MustCompile(`^(.+):([^:/]+)$`)

// studyArguments splits FILE, FILE:N, FILE:STUDY or FILE:STUDY:N, and returns the arguments of study best for it. A
// file that exists is never split, and a number at the end is a trial.
func studyArguments(text string) (args []string) {
	file, study, trial := text, "", ""
	if parts := lastPart.FindStringSubmatch(file); parts != nil && !console.Exists(file) {
		if _, err := strconv.ParseUint(parts[2], 10, 31); err == nil {
			file, trial = parts[1], parts[2]
		}
	}
	if parts := lastPart.FindStringSubmatch(file); parts != nil && !console.Exists(file) {
		file, study = parts[1], parts[2]
	}
	args = []string{file, "--json", "--config", "-"}
	if trial != "" {
		args = append(args, "--trial", trial)
	}
	if study != "" {
		args = append(args, "--study", study)
	}
	return args
}

// programOf returns the path of the program that has a command: this one, or that of studies. setting is the flag that
// needs it, with its value.
func (a *App) programOf(command, setting string) (string, error) {
	for _, commands := range registered {
		for _, c := range commands(a) {
			if c.Name() == command {
				return os.Executable()
			}
		}
	}
	path, err := a.find(studyProgram)
	if errors.As(err, new(console.UsageError)) {
		err = console.BadInput("%s: %w", setting, err)
	}
	return path, err
}

// fromStudy reads the config of the trial that --from-study names. The program of studies makes it: this one links no
// databases.
func (a *App) fromStudy(ctx context.Context, k run.Kind, g *flagValues) error {
	if g.own.study == "" {
		return nil
	}
	program, err := a.programOf("study", "--from-study "+g.own.study)
	if err != nil {
		return err
	}
	args := studyArguments(g.own.study)
	text, err := a.output(ctx, program, append([]string{"study", "best"}, args...)...)
	if err != nil {
		return console.BadInput("--from-study %s: %s", g.own.study, g.refusal(args, text, err))
	}
	var best struct{ Config string }
	if err := json.Unmarshal(text, &best); err != nil {
		return fmt.Errorf("--from-study %s: %s answers what is no line of JSON: %w", g.own.study, program, err)
	}
	if g.trial, err = parseConfig("--from-study "+g.own.study, []byte(best.Config)); err != nil {
		return err
	}
	if kindName, err := g.trial.kind(); err != nil {
		return err
	} else if kindName != k.Name {
		return console.BadInput("--from-study %s: its trials are runs of %s: use xlarun %s --from-study %s",
			g.own.study, kindName, kindName, g.own.study)
	}
	return nil
}

// refusal says why study best failed with these arguments, by its line of JSON if there is one. Its flags are not those
// of a run.
func (g *flagValues) refusal(args []string, line []byte, err error) string {
	var f console.Failure
	if json.Unmarshal(line, &f) != nil {
		return err.Error()
	}
	switch f.Choose {
	case "study":
		advice := f.Reason + ": say which by --from-study " + args[0] + ":STUDY"
		if i := slices.Index(args, "--trial"); i >= 0 {
			advice += ":" + args[i+1]
		}
		return advice
	case "trial":
		return f.Reason + ": say which by --from-study " + g.own.study + ":N"
	}
	return strings.TrimPrefix(f.Message, "xlarun study best: ")
}
