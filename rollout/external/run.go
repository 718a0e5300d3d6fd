// Package external runs any program as a run: a trial of a study whose kind is "exec". The program gets its parameters
// as arguments, environment variables and a file, and prints its values as lines of JSON:
//
//	{"step": 3, "loss": 0.2}
//
// Lines of stdout without numbers are no values, so a program may print other things too. Steps are whole numbers that
// do not decrease. A line without one is the next step if it has a metric of the study, else it belongs to the step
// before it. A command with {values} gives its values in that file alone, so that stdout may have any lines.
package external

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"xlarun/rollout/run"
)

// Name is the kind of such runs in the file of a study.
const Name = "exec"

// LastStep is the largest step of a program. Databases of studies have no larger ones.
const LastStep = math.MaxInt32

// Program is a program, and what one run of it gets.
type Program struct {
	Command []string       // its words, with placeholders
	Params  map[string]any // by name
	Metrics []string       // of the study
	Trial   int64
	Seed    int
	Threads int
	Folder  string // of the run, which Start makes; another attempt's has -2, … at its end
	Secret  string // a variable of this process that the program does not get
}

// Start starts the program. Its state is not known: the run has no snapshots.
func (p *Program) Start() (started run.Run, err error) {
	if err := p.makeFolder(); err != nil {
		return nil, err
	}
	words, err := p.Arguments()
	if err != nil {
		return nil, fmt.Errorf("the command %w", err)
	}
	params, err := json.Marshal(p.Params)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Folder, paramsFile), append(params, '\n'), 0o666)
	}
	if err != nil {
		return nil, err
	}
	values, err := os.Create(filepath.Join(p.Folder, valuesFile))
	if err != nil {
		return nil, err
	}
	r := &running{folder: p.Folder, metrics: p.Metrics, missing: map[string]string{}, from: []*lines{newLines(values)}}
	for _, name := range p.Metrics {
		r.missing[name] = ""
	}
	defer func() {
		if err != nil {
			_ = r.closeFiles()
		}
	}()
	var written [2]*os.File
	for i, name := range []string{outFile, errFile} {
		if written[i], err = os.Create(filepath.Join(p.Folder, name)); err != nil {
			return nil, err
		}
		defer func() { _ = written[i].Close() }() // the program has its own
	}
	if !slices.ContainsFunc(p.Command, func(word string) bool {
		return slices.Contains(placeholder.FindAllString(word, -1), "{values}")
	}) {
		printed, err := os.Open(filepath.Join(p.Folder, outFile))
		if err != nil {
			return nil, err
		}
		r.from = append(r.from, newLines(printed))
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = p.environment()
	if r.process, err = start(cmd, written[0], written[1]); err != nil {
		return nil, err
	}
	return r, nil
}

// makeFolder makes a new folder: a program of an earlier attempt, on another machine, may still write into its own.
func (p *Program) makeFolder() error {
	first, err := filepath.Abs(p.Folder)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(first), 0o777)
	}
	if err != nil {
		return err
	}
	p.Folder = first
	for n := 2; ; n++ {
		if err := os.Mkdir(p.Folder, 0o777); !errors.Is(err, fs.ErrExist) {
			return err
		}
		p.Folder = fmt.Sprintf("%s-%d", first, n)
	}
}

// running is a program under way.
type running struct {
	*process
	folder  string
	metrics []string
	missing map[string]string // metrics without a value so far: what the program gave instead, "" for nothing
	from    []*lines
	step    int64       // of the last values
	hasStep bool        // there were values of a step
	more    []run.Value // that came for a step after the round that it ended
}

// Step waits for values of another step, or for the end of the program.
func (r *running) Step(ctx context.Context) (run.Metrics, error) {
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	for pause := shortest; ; pause = min(2*pause, longest) {
		ended := r.ended() // before the files are read: they are whole then
		for _, from := range r.from {
			if m, err := r.read(ctx, from, ended); m.Values != nil || err != nil {
				return m, err
			}
		}
		if ended {
			return r.end()
		}
		select {
		case <-ctx.Done():
			return run.Metrics{}, context.Cause(ctx)
		case <-r.exited:
		case <-time.After(pause):
		}
	}
}

// read reads lines up to one with values of another step. Without such a line it returns nothing.
func (r *running) read(ctx context.Context, from *lines, ended bool) (run.Metrics, error) {
	for {
		line, err := from.next(ctx, ended)
		if line == nil || err != nil {
			return run.Metrics{}, err
		}
		step, values, others, err := readLine(line)
		if err != nil {
			return run.Metrics{}, err
		}
		for _, v := range values {
			delete(r.missing, v.Name)
		}
		for name, field := range others {
			if text, missing := r.missing[name]; missing && text == "" {
				r.missing[name] = noNumber(name, field)
			}
		}
		if len(values) == 0 {
			from.note(line, others)
			continue
		}
		isStep := step >= 0 || slices.ContainsFunc(values, func(v run.Value) bool {
			return slices.Contains(r.metrics, v.Name)
		})
		if step < 0 {
			step = r.step + 1
		}
		values = joined(values, r.more)
		switch {
		case isStep && r.hasStep && step < r.step:
			return run.Metrics{}, fmt.Errorf("the program gave values of step %d after those of step %d: steps must "+
				"not decrease, and a line without one is the next step", step, r.step)
		case !isStep || r.hasStep && step == r.step:
			r.more = values
			continue
		}
		r.step, r.hasStep, r.more = step, true, nil
		return run.Metrics{Step: step, Values: values}, nil
	}
}

// joined returns values, and those of others with other names.
func joined(values, others []run.Value) []run.Value {
	m := run.Metrics{Values: values}
	for _, v := range others {
		if _, ok := m.Get(v.Name); !ok {
			values = append(values, v)
		}
	}
	return values
}

// end returns the last round of a program that has ended.
func (r *running) end() (run.Metrics, error) {
	if err := r.failure(r.folder); err != nil {
		return run.Metrics{}, err
	}
	i := slices.IndexFunc(r.metrics, func(name string) bool { return r.missing[name] != "" })
	switch {
	case !r.hasStep && len(r.more) == 0:
		unread := cmp.Or(r.from[0].unread, r.from[len(r.from)-1].unread)
		if i >= 0 {
			unread = r.missing[r.metrics[i]]
		}
		return run.Metrics{}, errors.New(`the program ended without values: let it print a line such as ` +
			`{"step": 1, "loss": 0.5}` + unread)
	case i >= 0:
		return run.Metrics{}, fmt.Errorf("the program ended without a value of %s%s", r.metrics[i],
			r.missing[r.metrics[i]])
	}
	return run.Metrics{Step: r.step, Values: r.more, Done: true}, nil
}

// errState is the error of a run without a known state.
var errState = errors.New("the state of a program is not known")

// Snapshot implements run.Run.
func (r *running) Snapshot(context.Context) (run.Snapshot, error) { return run.Snapshot{}, errState }

// Restore implements run.Run.
func (r *running) Restore(context.Context, run.Snapshot) error { return errState }

// Describe implements run.Run.
func (r *running) Describe() *run.Capabilities { return &run.Capabilities{} }

// Profile implements run.Run.
func (r *running) Profile() run.Profile { return run.Profile{} }

// Close ends the program, if it has not ended.
func (r *running) Close() error {
	r.stop()
	return r.closeFiles()
}

func (r *running) closeFiles() (err error) {
	for _, from := range r.from {
		err = errors.Join(err, from.file.Close())
	}
	return err
}
