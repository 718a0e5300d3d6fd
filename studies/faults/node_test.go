package faults

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"xlarun/graph"
	"xlarun/internal/messaging"
	"xlarun/internal/ramdisk"
	"xlarun/rollout/run"
	"xlarun/rollout/settings"
	"xlarun/studies"
	"xlarun/studies/internal/decision"
	"xlarun/xlabridge"
)

// wave is a kind of run that computes a few numbers slowly.
type wave struct {
	run.Common
	X     float64 `set:"x"`
	Y     int     `set:"y"`
	Steps int64   `set:"steps" min:"1"`
	Wait  string  `set:"wait"` // of a step
}

func (w *wave) Job() *run.Job {
	return &run.Job{Title: "wave", Last: w.Steps, Board: func() []run.DisplayRow { return nil },
		Start:    func(context.Context, xlabridge.Backend) (run.Run, error) { return &waving{wave: w}, nil },
		Measures: func() []string { return []string{"loss"} }}
}

// waving is a run of a wave. Its sum depends on all steps.
type waving struct {
	*wave
	step int64
	sum  float64
}

func (w *waving) Step(context.Context) (run.Metrics, error) {
	d, err := time.ParseDuration(w.Wait)
	if err != nil {
		return run.Metrics{}, err
	}
	time.Sleep(d)
	w.step++
	w.sum = math.Sin(w.sum + w.X + float64(w.Seed))
	loss := w.sum/100 + (w.X-.3)*(w.X-.3) + math.Abs(float64(w.Y-4)) + 1/float64(w.step)
	return run.Metrics{Step: w.step, Values: []run.Value{{Name: "loss", Number: loss}}}, nil
}

func (w *waving) Snapshot(ctx context.Context) (run.Snapshot, error) {
	const pad = 10000 // numbers: a checkpoint has several parts
	return run.Snapshot{Step: w.step, Arrays: map[string]*graph.Array{"sum": graph.Float64s([]float64{w.sum}, 1),
		"pad": graph.Float64s(make([]float64, pad), pad)}}, nil
}

func (w *waving) Restore(ctx context.Context, s run.Snapshot) error {
	sum, err := graph.Floats(s.Arrays["sum"])
	if err != nil {
		return err
	}
	w.step, w.sum = s.Step, sum[0]
	return nil
}
func (w *waving) Describe() *run.Capabilities { return &run.Capabilities{} }
func (w *waving) Profile() run.Profile        { return run.Profile{} }
func (w *waving) Close() error                { return nil }

// waves makes waves.
type waves struct{}

func (waves) Resolve(kind string, values map[string]any) (run.Experiment, error) {
	if kind != "wave" {
		return nil, fmt.Errorf("there is no kind %q", kind)
	}
	w := &wave{Steps: 8, Wait: "0s"}
	return w, settings.Values(values).Apply(w, "wave", "")
}
func (waves) Backend(context.Context, run.Experiment) (xlabridge.Backend, error) { return nil, nil }

// nodeVariable is the environment variable that makes the test's binary a node: the JSON of its nodeArgs.
const nodeVariable = "XLARUN_TEST_NODE"

// usualVersion is that of nodes. Without one strangers were not refused.
const usualVersion = "one"

// nodeArgs say what a node does.
type nodeArgs struct {
	Clock  string // the file of its wall clock; "": that of the machine
	Spec   string // of a coordinator, the text of its spec
	Listen string // of a coordinator
	Log    string // of a coordinator: the file of its events
	Join   string // of a worker: the URLs
	// Version is that of xlarun.
	Version string
	// of a worker of the coordinator's machine
	Storage, Study string
}

// command returns the command of a node.
func (a nodeArgs) command() *exec.Cmd {
	text, err := json.Marshal(a)
	if err != nil {
		panic(err) // these are texts
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), nodeVariable+"="+string(text), studies.TokenVariable+"=secret")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func TestMain(m *testing.M) {
	text := os.Getenv(nodeVariable)
	if text == "" {
		ramdisk.Use()
		os.Exit(m.Run())
	}
	var a nodeArgs
	err := json.Unmarshal([]byte(text), &a)
	if err == nil && a.Clock != "" {
		err = shiftClock(a.Clock)
	}
	if err == nil {
		err = a.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// clockJumped is what a node says when its wall clock was set, stoodStill when it was suspended.
const (
	clockJumped = "-- the wall clock jumped by"
	stoodStill  = "-- the process stood still for"
)

// watchClock says when the wall clock is set, and when the process stood still.
func watchClock() {
	for wall, at := time.Now().Round(0), monotonic(); ; time.Sleep(5 * time.Millisecond) {
		wallNow, now := time.Now().Round(0), monotonic()
		if d := wallNow.Sub(wall) - (now - at); d.Abs() > time.Second/2 {
			fmt.Fprintln(os.Stderr, clockJumped, d)
		}
		if now-at > shortForm.lease {
			fmt.Fprintln(os.Stderr, stoodStill, now-at)
		}
		wall, at = wallNow, now
	}
}

// run is what a node does.
func (a nodeArgs) run() error {
	go watchClock()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	switch {
	case a.Join != "":
		return studies.JoinStudy(ctx, studies.Join{Version: cmp.Or(a.Version, usualVersion), Server: messaging.Server{
			Address: messaging.Address{URLs: []string{a.Join}}, Token: "secret", Wait: time.Minute}}, waves{})
	case a.Storage != "":
		return studies.Worker(ctx, a.Storage, a.Study, 0, "", "", waves{})
	}
	log, err := os.OpenFile(a.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	s, err := studies.Parse([]byte(a.Spec), nil)
	if err != nil {
		return err
	}
	c := &studies.Coordinator{Spec: s, Version: usualVersion, NoWorkers: true,
		Listen: studies.Listen{Address: a.Listen, Token: "secret"}}
	pid := os.Getpid()
	first, at := time.Now(), monotonic()
	ctx = decision.Observe(ctx, func(d decision.Decision) {
		e := event{Decision: d, Coordinator: pid, At: at + d.Instant.Sub(first)} // to the nanosecond within a process
		if err := writeEvent(log, e); err != nil {
			panic(err)
		}
	})
	c.Notice = func(line string) {
		fmt.Fprintln(os.Stderr, line)
	}
	return errors.Join(c.Run(ctx), log.Close())
}

// writeEvent adds an event to a coordinators' file.
func writeEvent(f *os.File, e event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return err
}
