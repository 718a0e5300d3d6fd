package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"xlarun/studies/study"
)

// attempt is the run of a trial by a worker.
type attempt struct {
	*worker
	spec   *Spec
	job    *job
	trial  int64
	cancel context.CancelCauseFunc

	lastReport time.Time // when the last of the reports was sent

	mu         sync.Mutex
	reports    []study.Reported // the run changes them, and reads them without the lock
	lastStep   time.Time        // when the last round ended
	lastStored time.Time        // when the last checkpoint was stored
}

// runTrial runs the trial that the worker has got.
func (w *worker) runTrial(ctx context.Context, r reply) error {
	spec, err := specFrom(r.Job.Spec, r.Job.Call)
	if err != nil {
		return err
	}
	if spec.Programs() {
		if err := w.takeProgram(ctx, spec, r.Job); err != nil {
			return err
		}
	}
	attemptCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	a := &attempt{worker: w, spec: spec, job: r.Job, trial: r.Job.ID, cancel: cancel, lastStep: time.Now(),
		lastStored: time.Now()}
	over, began := make(chan struct{}), time.Now()
	go a.sendHeartbeats(attemptCtx, over)
	go a.watchLimits(over)
	result := a.run(attemptCtx)
	close(over)
	cause := context.Cause(attemptCtx)
	limit, _ := errors.AsType[*limitError](cause)
	switch {
	case cause == nil:
	case limit != nil:
		result = study.Result{State: study.Fail, Reason: limit.Error(), Intermediate: a.reports}
	case errors.Is(cause, errLost):
		noticeLost(a.trial)
		return nil
	case errors.Is(cause, errStalled): // perhaps of this machine: another worker gets it
		_, err := w.ask(ctx, releaseKind, request{Trial: a.trial, Stalled: true})
		return err
	default: // the worker has to end: another one gets the trial
		last, done := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer done()
		_, _ = w.ask(last, releaseKind, request{Trial: a.trial}) // without an answer the lease ends by itself
		return nil
	}
	err = a.sendResult(ctx, result, limit != nil)
	if errors.Is(err, errLost) {
		noticeLost(a.trial)
		err = nil
	} else if w.onEnded != nil && (err == nil || errors.Is(context.Cause(ctx), errOver)) {
		w.onEnded(a.job.Number, result, time.Since(began)) // the study may end before the result's answer arrives
	}
	if err == nil && limit != nil && !spec.Programs() {
		return limit // only the end of the process gives the memory back
	}
	return err
}

// noticeLost says that a trial was given to another worker.
func noticeLost(trial int64) {
	fmt.Fprintf(os.Stderr, "trial %d was given to another worker, since the study had not heard of this one for as "+
		"long as a lease: this worker takes the next trial\n", trial)
}

// sendResult sends the result to the coordinator, also if the worker has to end. limited says whether the result
// depends on this machine.
func (a *attempt) sendResult(ctx context.Context, r study.Result, limited bool) error {
	if ctx.Err() != nil {
		last, done := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer done()
		ctx = last
	}
	got, err := a.ask(ctx, resultKind, request{Trial: a.trial, Result: r, Limited: limited})
	if got.Note != "" {
		fmt.Fprintln(os.Stderr, got.Note)
	}
	if err == nil && got.Lost {
		return errLost
	}
	return err
}

// limitError ends a trial that took too much time or memory.
type limitError struct{ reason string }

func (e *limitError) Error() string { return e.reason }

// sendHeartbeats tells the coordinator that the trial runs, until over is closed. It ends the run if it makes no
// progress, and after the call that it is in if the trial belongs to another worker.
func (a *attempt) sendHeartbeats(ctx context.Context, over <-chan struct{}) {
	ttl, _ := a.spec.leaseTime() // it was checked
	stall, _ := a.spec.stall()
	tick := time.NewTicker(ttl / 4)
	defer tick.Stop()
	for lost := false; ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		a.mu.Lock()
		still := time.Since(a.lastStep)
		a.mu.Unlock()
		if stall > 0 && still > stall {
			a.end(errStalled, over)
			return
		}
		if lost {
			continue
		}
		short, done := context.WithTimeout(ctx, ttl/4)
		r, err := a.ask(short, beatKind, request{Trial: a.trial})
		done()
		if err == nil && r.Lost {
			lost = true
			a.cancel(errLost)
		}
	}
}

// end ends the run. A run that does not return, because it is inside a call, ends with the process.
func (a *attempt) end(cause error, over <-chan struct{}) {
	a.cancel(cause)
	select {
	case <-over:
	case <-time.After(graceTime + a.spec.programGrace()):
		if _, ok := errors.AsType[*limitError](cause); ok {
			last, done := context.WithTimeout(context.Background(), answerTimeout)
			a.mu.Lock()
			reports := a.reports
			a.mu.Unlock()
			_ = a.sendResult(last, study.Result{State: study.Fail, Reason: cause.Error(), Intermediate: reports}, true)
			done()
		}
		fmt.Fprintln(os.Stderr, cause)
		os.Exit(1)
	}
}

// watchLimits ends a trial that takes too much time or memory.
func (a *attempt) watchLimits(over <-chan struct{}) {
	began := time.Now()
	limit, _ := a.spec.Limit() // it was checked
	most := int64(a.spec.Memory)
	if limit == 0 && most == 0 {
		return
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if limit > 0 && time.Since(began) > limit {
			a.end(&limitError{fmt.Sprintf("it took more than %s", limit)}, over)
			return
		}
		if most > 0 && resident() > most {
			a.end(&limitError{fmt.Sprintf("its worker took more than %d bytes of memory", most)}, over)
			return
		}
	}
}

// resident returns the memory of this process in bytes; 0 if it is not known.
func resident() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// run runs the trial from its last checkpoint and returns its result.
func (a *attempt) run(ctx context.Context) (r study.Result) {
	defer func() {
		if p := recover(); p != nil {
			debug.PrintStack()
			r = study.Result{State: study.Fail, Reason: fmt.Sprintf("the run panicked: %v", p),
				Intermediate: a.reports}
		}
	}()
	params, err := a.job.params()
	if err != nil {
		return study.Result{State: study.Fail, Reason: err.Error()}
	}
	var from *checkpoint
	if a.job.Stored {
		if from, err = a.fetch(ctx, trialFile(a.trial)); err != nil {
			fmt.Fprintf(os.Stderr, "trial %d begins anew: its checkpoint cannot be read (%v)\n", a.job.Number, err)
		} else {
			a.setReports(from.Reported)
		}
	}
	end, err := a.runFrom(ctx, params, from)
	if errors.Is(err, errRestore) && from != nil {
		fmt.Fprintf(os.Stderr, "trial %d begins anew: %v\n", a.job.Number, err)
		a.setReports(nil)
		end, err = a.runFrom(ctx, params, nil)
	}
	r = resultOf(end, a.reports, err)
	if err == nil && r.State == study.Fail && a.spec.Programs() {
		r.Reason += ": the program gave NaN or null"
	}
	return r
}

// runFrom runs the trial from a checkpoint, or from its start if from is nil. A trial of population-based training
// starts at the end of another trial.
func (a *attempt) runFrom(ctx context.Context, params map[string]any, from *checkpoint) (end outcome, err error) {
	h := hooks{trial: a.job.Number, report: a.report(ctx), checkpoint: a.checkpointWhenDue(ctx), from: from,
		until: a.job.PBT.Until}
	if h.until > 0 {
		h.end = func(p *checkpoint) { a.storeEnd(ctx, a.job.Number, p) }
		if from == nil {
			if h.from, err = a.parentState(ctx); err != nil {
				return outcome{}, err
			}
		}
	}
	end, err = a.spec.objective(ctx, a.runs, params, h)
	if n := len(a.job.PBT.Before); n > 0 && from == nil && errors.Is(err, errRestore) {
		err = fmt.Errorf("the state that trial %d ended with is of runs of another make (parameters of pbt that are "+
			"numbers have to leave states as they are): %v", a.job.PBT.Before[n-1].Number, err)
	}
	return end, err
}

// resultOf returns the result of a trial whose objective returned end and err. The value at the end of a complete trial
// is its last report, about which no pruner is asked: curves reach the end, as Optuna's do.
func resultOf(end outcome, reports []study.Reported, err error) study.Result {
	r := study.Result{State: study.Complete, Values: end.values, Intermediate: reports}
	switch {
	case errors.Is(err, errStopped):
		r.State = study.Pruned
	case err != nil:
		r.State, r.Values, r.Reason = study.Fail, nil, err.Error()
		return r
	}
	if slices.ContainsFunc(end.values, math.IsNaN) {
		r.State, r.Values, r.Reason = study.Fail, nil, fmt.Sprintf("the objective is not a number: %v", end.values)
		return r
	}
	if r.State == study.Complete && len(end.values) == 1 {
		if n := len(reports); n > 0 && reports[n-1].Step == end.step { // a program may end long after its last value
			reports = reports[:n-1]
		}
		r.Intermediate = append(slices.Clip(reports), study.Reported{Step: end.step, Value: end.values[0]})
	}
	return r
}

func (a *attempt) setReports(all []study.Reported) {
	a.mu.Lock()
	a.reports = all
	a.mu.Unlock()
}

// report returns a function that reports a value to the coordinator and returns whether the pruner stops the trial.
// Without a pruner it sends one a second, for those who watch: the result has them all.
func (a *attempt) report(ctx context.Context) func(step, last int64, value float64) (bool, error) {
	return func(step, last int64, value float64) (bool, error) {
		a.setReports(append(a.reports, study.Reported{Step: step, Value: value}))
		if a.spec.Pruner == "none" && time.Since(a.lastReport) < time.Second {
			return false, nil
		}
		a.lastReport = time.Now()
		r, err := a.ask(ctx, reportKind, request{Trial: a.trial, Step: step, Last: last, Value: value})
		if err == nil && r.Lost {
			a.cancel(errLost)
			return false, errLost
		}
		return r.Stop, err
	}
}
