package parallelbench

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"xlarun/studies"
)

// Naps are a study of trials that sleep.
type Naps struct {
	Workers int     `json:"workers"`
	Trials  int     `json:"trials"`
	Mean    float64 `json:"mean"`   // seconds of a trial; 0: trivial ones
	Spread  float64 `json:"spread"` // standard deviation of their logarithms
	Window  int     `json:"window"` // trials that may be under way at a time
	Folder  string  `json:"folder"` // for the database
	Address string  `json:"address,omitempty"`
}

// Served is what the process of the coordinator took.
type Served struct {
	Processor float64 `json:"processor_seconds"` // of all of its threads, its start included
	Trials    int     `json:"trials"`
}

// Worked is what the process of the workers saw.
type Worked struct {
	// Span are the seconds from the start of the first trial to the end of the last, Asleep those that trials lasted, all together.
	Span      float64 `json:"span_seconds"`
	Asleep    float64 `json:"asleep_seconds"`
	Trials    int     `json:"trials"`
	Processor float64 `json:"processor_seconds"`
}

// Efficiency is the part of the workers' time in which they had a trial, 1 at best.
func (w Worked) Efficiency(workers int) float64 { return w.Asleep / (w.Span * float64(workers)) }

// Lost are the seconds of a worker's time that a trial costs beside its own.
func (w Worked) Lost(workers int) float64 {
	return (w.Span*float64(workers) - w.Asleep) / float64(w.Trials)
}

func (n Naps) spec() (*studies.Spec, error) {
	return studies.Parse(fmt.Appendf(nil, `name = "naps"
storage = "sqlite:///%s/study.db"
kind = "nap"
metric = "slept"
sampler = "grid"
trials = %d
window = %d
workers = 1
checkpoint-every = "none"
[run]
naps = %d
mean = %g
spread = %g
[[param]]
name = "which"
type = "int"
low = 0
high = %d
`, n.Folder, n.Trials, n.Window, n.Trials, n.Mean, n.Spread, n.Trials-1), nil)
}

// Serve coordinates the study and listens for workers on this machine; listening hears where.
func (n Naps) Serve(ctx context.Context, listening func(address string)) (s Served, err error) {
	spec, err := n.spec()
	if err != nil {
		return s, err
	}
	c := &studies.Coordinator{Spec: spec, Away: true, Listen: studies.Listen{Address: "127.0.0.1:0"}, Listening: listening}
	if err := c.Open(); err != nil {
		return s, err
	}
	if err := c.Run(ctx); err != nil {
		return s, err
	}
	s.Processor, s.Trials = processor(), n.Trials
	return s, nil
}

// Work runs the trials by workers that have a connection each, all in this process, until the study is over.
func (n Naps) Work(ctx context.Context) (w Worked, err error) {
	log := &napLog{zero: time.Now()}
	var all sync.WaitGroup
	failed := make([]error, n.Workers)
	for i := range n.Workers {
		all.Go(func() {
			failed[i] = studies.JoinStudy(ctx, studies.Join{URL: "nats://" + n.Address, Wait: 20 * time.Second}, naps{log})
		})
	}
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return w, err
	}
	if log.trials < n.Trials {
		return w, fmt.Errorf("%d of %d trials were run", log.trials, n.Trials)
	}
	return Worked{(log.last - log.first).Seconds(), log.asleep.Seconds(), log.trials, processor()}, nil
}

// processor are the seconds that this process has computed.
func processor() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
}
