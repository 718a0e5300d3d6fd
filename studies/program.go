package studies

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/rollout/external"
	"xlarun/rollout/run"
	"xlarun/studies/study"
)

// Programs reports whether a trial is a program (package external). The names of its parameters are the program's own.
func (s *Spec) Programs() bool { return s.Kind == external.Name }

// culprit is what is to blame if all trials fail.
func (s *Spec) culprit() string {
	if s.Programs() {
		return "the program or the spec"
	}
	return "the spec"
}

// usePrograms sets the defaults of a study whose trials are programs.
func (s *Spec) usePrograms() { s.Kind, s.ReportEvery, s.Checkpoint = external.Name, 1, "none" }

// setCommand sets the command that a file gives: a text, or a list of its words.
func (s *Spec) setCommand(value any) error {
	list, ok := value.([]any)
	if !ok {
		s.Exec, ok = value.(string)
	}
	for _, word := range list {
		_, isText := word.(string)
		ok = ok && isText
	}
	if !ok {
		return wrong("command", "got %v, wants the words of a command, such as [\"python\", \"train.py\"]", value)
	}
	if list != nil {
		text, err := json.Marshal(list)
		s.Exec = string(text)
		return err
	}
	return nil
}

// checkPrograms returns an error if programs cannot have these settings.
func (s *Spec) checkPrograms() error {
	switch {
	case !s.Programs() && s.Exec != "":
		return wrong("command", "is given, but the kind is %s: take the kind %s, or leave it out", s.Kind,
			external.Name)
	case !s.Programs():
		return nil
	case s.Sampler == samplerPBT:
		return wrong("sampler", "got pbt, which goes on from states that a program does not give: take another one")
	case s.Pruner == "hyperband":
		return wrong("pruner", "got hyperband, which needs the last step of a run: take asha or median")
	case s.Checkpoint != "none":
		return wrong("checkpoint-every", "got %s, but a program has no checkpoints: leave it out", s.Checkpoint)
	case s.Memory != 0:
		return wrong("memory", "limits workers, not their programs: leave it out, and let the command set a limit "+
			"(ulimit -v)")
	case s.TrialsAs == trialsVectorized:
		return wrong("trials-as", "got vectorized, but trials are programs: leave it out")
	}
	for _, name := range external.Reserved {
		_, fixed := s.Fixed[name]
		if fixed || slices.ContainsFunc(s.Space, func(p study.Param) bool { return p.Name == name }) {
			return wrong("param."+name, "has the name of what each program gets (%s): take another one",
				strings.Join(external.Reserved, ", "))
		}
	}
	names, variables := slices.Sorted(maps.Keys(s.Fixed)), map[string]string{}
	for _, p := range s.Space {
		names = append(names, p.Name)
	}
	for _, name := range names {
		variable := external.Variable(name)
		if other, taken := variables[variable]; taken {
			return wrong("param."+name, "has the environment variable %s, as %s has: rename one of them", variable,
				other)
		}
		variables[variable] = name
	}
	if s.Exec == "" {
		return nil // whoever runs trials gives it
	}
	if _, err := external.Split(s.Exec); err != nil {
		return wrong("command", "%v", err)
	}
	examples, err := s.Examples()
	if err != nil {
		return err
	}
	for _, params := range examples {
		if _, err := s.program(params, 0, 0).Arguments(); err != nil {
			return wrong("command", "%v", err)
		}
	}
	return nil
}

// findProgram returns an error if this machine has no program for the trials.
func (s *Spec) findProgram() error {
	if s.Exec == "" {
		return wrong("command", "is missing: the kind %s wants the program that a trial is, such as command = "+
			"[\"python\", \"train.py\", \"--lr={lr}\"]", s.Kind)
	}
	if err := external.Find(s.Exec); err != nil {
		return wrong("command", "%v", err)
	}
	return nil
}

// program returns what a trial runs with a seed. Its folder is in runs of the working directory, on each machine.
func (s *Spec) program(params map[string]any, trial int64, seed int) *external.Program {
	all := maps.Clone(s.Fixed)
	maps.Copy(all, params)
	command, _ := external.Split(s.Exec) // it was checked
	return &external.Program{Command: command, Params: all, Metrics: s.Metrics(), Trial: trial, Seed: seed,
		Threads: s.Threads,
		Folder:  filepath.Join("runs", "study-"+s.Name, "trials", fmt.Sprint(trial), fmt.Sprint("seed-", seed)),
		Secret:  credentials.TokenVariable}
}

// ProgramParams returns what the program of a trial gets, as JSON.
func (s *Spec) ProgramParams(t *study.FrozenTrial) ([]byte, error) {
	return json.MarshalIndent(s.program(t.External(), t.Number, 0).Params, "", "  ")
}

// ownWorkerOf is what names of the machine's own workers with a command begin with.
func ownWorkerOf(command string) string {
	return fmt.Sprintf("%s%.8x:", ownWorker, sha256.Sum256([]byte(command)))
}

// startPrograms starts the programs of a trial, one for each seed. Steps of a program may begin at 0.
func (s *Spec) startPrograms(params map[string]any, trial int64) (all seeds, err error) {
	for seed := range s.Seeds {
		r, err := s.program(params, trial, seed).Start()
		if err != nil {
			return all, err
		}
		all = append(all, &seedRun{run: r, last: external.LastStep, metrics: run.Metrics{Step: -1}})
	}
	return all, nil
}

// programGrace is how long a program may take to end.
func (s *Spec) programGrace() time.Duration {
	if s.Programs() {
		return external.Grace
	}
	return 0
}

// takeProgram sets the command of a trial to this worker's own: no command comes over a network. A worker without one,
// or with one that does not fit, gives the trial back and ends.
func (w *worker) takeProgram(ctx context.Context, s *Spec, j *job) error {
	s.Exec = w.exec
	params, err := j.params()
	if err != nil {
		return err
	}
	problem := ""
	if w.exec == "" {
		problem = "a worker runs no command that comes over a network: give the study's here, --exec COMMAND"
	} else if _, err := s.program(params, j.Number, 0).Arguments(); err != nil {
		problem = fmt.Sprintf("the command of --exec %v", err)
	}
	if problem == "" {
		return nil
	}
	_, err = w.ask(ctx, releaseKind, request{Trial: j.ID})
	return errors.Join(&messaging.CodedError{Code: messaging.CodeRefused,
		Text: "trials of this study are programs, and " + problem}, err)
}
