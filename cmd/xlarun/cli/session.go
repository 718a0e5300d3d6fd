package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"syscall"
	"time"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/display"
	"xlarun/cmd/xlarun/machine"
	"xlarun/cmd/xlarun/play"
	"xlarun/cmd/xlarun/plots"
	"xlarun/envs"
	"xlarun/internal/messaging"
	"xlarun/rollout/episode"
	"xlarun/rollout/run"
	"xlarun/rollout/run/runfolder"
	"xlarun/rollout/run/session"
	"xlarun/rollout/settings"
	"xlarun/xlabridge"
)

// pictureFrames is the largest number of frames of best.gif. A longer episode is shown with steps left out.
const pictureFrames = 100

// runTask runs a task: a new run, or one that o.resume names. m is its mirror; nil: it has none.
func (a *App) runTask(ctx context.Context, t *task, o ownFlags, m *mirror, screen *screen) error {
	if o.out != "none" { // else nothing can go on
		console.Saves(ctx, o.grace)
	}
	options := runfolder.Options{Keep: t.session.Keep, EventsBySteps: t.session.Axis == "steps",
		Patience: a.patience, DropRows: o.drop, Disk: a.disk,
		Notice: screen.Notice}
	if m != nil {
		options.Saved = m.save
	}
	var folder *runfolder.Folder
	var resume *runfolder.Checkpoint
	var skipped []string // notices about checkpoints that cannot be used
	var err error
	switch {
	case o.resume != "":
		folder, resume, skipped, err = t.reopen(o.resume, options)
	case o.out != "none":
		if o.fresh {
			if err := runfolder.Clear(o.out, options); err != nil {
				return console.BadInput("--out %s cannot be started anew: %w", o.out, err)
			}
		}
		folder, err = a.newFolder(o.out, t.title(), options)
	}
	if err != nil {
		return err
	}
	screen.open(t, folder)
	if len(t.notices) > 0 {
		screen.say(strings.Join(t.notices, "; "))
	}
	for _, line := range skipped {
		screen.Notice(line)
	}
	on, stop := context.WithCancel(ctx)
	defer stop()
	if m != nil {
		go m.follow(on, folder, screen.Notice, stop)
	}
	outcome, err := session.Run(on, session.Options{Kind: t.Kind, Experiment: t.Experiment, Job: t.job, Folder: folder,
		Resume: resume, Cadence: t.cadence, Ends: t.ends, Version: console.Version(), Observer: screen,
		TimePhases: screen.left == nil, Draw: drawEpisode, Pictures: drawPictures, Start: machine.ProcessStart(),
		Stop:  screen.left,
		Grace: func() time.Duration { return console.GraceOf(ctx) },
		Open: func(ctx context.Context, p run.Progress) (xlabridge.Backend, error) {
			p.Notice("opening the " + t.on().Backend + " backend")
			b, err := a.OpenBackend(ctx, t.on(), p)
			if err == console.ErrInterrupted {
				err = session.ErrInterrupted
			}
			return b, err
		},
		Config: func(chosen settings.Values, over bool) (string, error) {
			switch {
			case over:
				return t.config(t.stored)
			case resume != nil:
				return t.text, nil
			}
			return t.configWith(chosen)
		}})
	var behind error
	if m != nil {
		behind = m.end(ctx, folder.Dir())
	}
	if coded, ok := errors.AsType[console.Coded](err); ok && coded.ErrorCode() == messaging.CodeOver {
		// engines take any status except 0 for a failure
		screen.log.Info(err.Error())
		if o.json {
			return a.PrintJSON(map[string]any{"over": true})
		}
		return nil
	}
	err = withMirror(ctx, sessionError(err), behind)
	if !o.json || outcome == nil || outcome.JSON == nil {
		return err
	}
	return a.EndJSON(outcome.JSON, err)
}

// withMirror returns the error of a run with that of its mirror. The run's own says what its status is, unless the
// mirror ended it.
func withMirror(ctx context.Context, err, behind error) error {
	interrupted := errors.As(err, new(console.InterruptedError))
	switch {
	case behind == nil:
		return err
	case err == nil || interrupted && ctx.Err() == nil && refused(behind):
		return behind
	case interrupted:
		return console.InterruptedError{Err: fmt.Errorf("%w; %w", err, behind)}
	}
	return fmt.Errorf("%w; %v", err, behind)
}

// sessionError converts an error of a session to one of the command line.
func sessionError(err error) error {
	if errors.As(err, new(session.InterruptedError)) {
		return console.InterruptedError{Err: err}
	}
	if _, ok := err.(*settings.Error); ok {
		return settingError(err)
	}
	return err
}

// screen is the display of a run, as the observer of its session.
type screen struct {
	display.Reporter // nil before open
	app              *App
	out              io.Writer
	left             <-chan struct{} // closed when nobody reads stdout any more; nil: it is a terminal
	log              *slog.Logger    // to out
	json             bool            // the display is the log
}

// newScreen returns a display that is not open.
func (a *App) newScreen(flags *console.LogFlags) (s *screen, err error) {
	s = &screen{app: a, out: a.Out, json: flags.JSON()}
	if _, live := display.Terminal(a.Out, a.Getenv); !live {
		r := &pipe{Writer: a.Out, left: make(chan struct{})}
		s.out, s.left = r, r.left
	}
	s.log, err = flags.Logger(s.out)
	return s, err
}

// open makes the display.
func (s *screen) open(t *task, folder *runfolder.Folder) {
	b := display.Board{Command: t.Name + " " + t.job.Title, Setup: t.job.Setup, Unit: t.Unit,
		Last: t.job.Last, Picture: t.Picture, Rows: t.job.Board(), Round: t.Round, Work: t.Work,
		Start: machine.ProcessStart()}
	if t.unlimited {
		b.Last = 0
	}
	if t.job.Title == t.Name {
		b.Command = t.Name
	}
	if folder != nil {
		b.Folder = folder.Dir()
	}
	if s.json {
		s.Reporter = display.NewRecords(s.log, b)
	} else {
		s.Reporter = display.NewReporter(s.out, s.app.Getenv, b)
	}
}

// say shows a line that is no problem.
func (s *screen) say(line string) {
	if s.json {
		s.log.Info(line)
	} else {
		s.Notice(line)
	}
}

// Notice shows a line. Before open, it is dropped.
func (s *screen) Notice(line string) {
	if s.Reporter != nil {
		s.Reporter.Notice(line)
	}
}

// Progress shows how far a long round is.
func (s *screen) Progress(p session.Progress) { s.Reporter.Progress(display.Progress(p)) }

// Report shows the numbers of a round.
func (s *screen) Report(n session.RoundReport) {
	p := n.Profile
	seconds := func(x float64) time.Duration { return time.Duration(x * float64(time.Second)) }
	s.Reporter.Report(display.RoundReport{Metrics: n.Metrics, StepsPerSecond: n.StepsPerSecond,
		RoundsPerSecond: n.RoundsPerSecond, Devices: console.DevicesText(p.Devices, n.Backend), Plan: planText(p),
		Cache: p.Cache, Trace: seconds(p.TraceSeconds), Compile: seconds(p.CompileSeconds), Memory: n.Memory,
		Phases: n.Phases, Map: n.Map})
}

// planText returns the plan, with the precision where the run chose it. Without a folder nothing else says so.
func planText(p *run.Profile) string {
	chosen, ok := p.Chosen["precision"]
	switch {
	case !ok:
		return p.Plan
	case p.Plan == "":
		return fmt.Sprintf("precision %v", chosen)
	}
	return fmt.Sprintf("%s, precision %v", p.Plan, chosen)
}

// Close shows the summary.
func (s *screen) Close(o *session.Outcome) error {
	s.Reporter.Close(o.Summary...)
	return nil
}

// pipe is stdout without a terminal. Its reader may leave: then the run ends as if it had been interrupted.
type pipe struct {
	io.Writer
	once sync.Once
	left chan struct{}
}

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (int, error) {
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.once.Do(func() { close(p.left) })
	}
	return n, err
}

// drawEpisode draws an episode of a run's best member.
func drawEpisode(env envs.Environment, rec *episode.Recording, which string) ([]byte, error) {
	return play.Draw(env, rec, which, pictureFrames)
}

// curvesAfter is the least time that a run computes before its learning curves are drawn at its end. Drawing takes a
// tenth of a second, which would delay the end of a short run. It is a variable for tests.
var curvesAfter = 5 * time.Second

// drawPictures draws the learning curves of a run, and the archive of a run of qd. It draws none of a short run, and
// leaves out what cannot be drawn.
func drawPictures(dir string, metrics []string, computed time.Duration) (pictures []run.File) {
	if computed < curvesAfter {
		return nil
	}
	defer func() { _ = recover() }() // from the drawing library
	if picture, err := plots.Curves(dir, metrics); err == nil {
		pictures = append(pictures, run.File{Name: "curves.png", Data: picture})
	}
	if picture, err := plots.Archive(dir); err == nil {
		pictures = append(pictures, run.File{Name: "archive.png", Data: picture})
	}
	return pictures
}
