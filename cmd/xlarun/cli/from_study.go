package cli

import (
	"context"
	"os"
	"regexp"
	"strings"

	"xlarun/cmd/xlarun/console"
	"xlarun/rollout/run"
)

// studyProgram is the program that reads databases of studies.
const studyProgram = "xlarun-study"

// trialOf matches FILE:N.
var trialOf = regexp.MustCompile(`^(.+):(\d+)$`)

// programOf returns the path of the program that has a command: this one, or another.
func (a *App) programOf(command, other string) (string, error) {
	for _, commands := range registered {
		for _, c := range commands(a) {
			if c.Name() == command {
				return os.Executable()
			}
		}
	}
	return a.find(other)
}

// fromStudy reads the config of the trial that --from-study names. The program of studies makes it: this one links no
// databases.
func (a *App) fromStudy(ctx context.Context, k run.Kind, g *flagValues) error {
	if g.own.study == "" {
		return nil
	}
	file, trial := g.own.study, "-1"
	if parts := trialOf.FindStringSubmatch(file); parts != nil && !console.Exists(file) {
		file, trial = parts[1], parts[2]
	}
	program, err := a.programOf("study", studyProgram)
	if err != nil {
		return err
	}
	text, err := a.output(ctx, program, "study", "best", file, "--config", "-", "--trial", trial)
	if err != nil {
		return console.BadInput("--from-study %s: %s", g.own.study, strings.TrimPrefix(err.Error(),
			"xlarun study best: "))
	}
	if g.trial, err = parseConfig("--from-study "+g.own.study, text); err != nil {
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
