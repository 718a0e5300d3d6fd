package studies

import (
	"context"
	"errors"
	"slices"
	"time"
)

// WorkerStatus describes a worker.
type WorkerStatus struct {
	ID       string
	Trial    int64 // number of the trial that it runs; -1 for none
	Threads  int
	Done     int // trials that it has finished
	LastSeen time.Time
	Leased   []int64 // IDs of the trials that it has a lease on

	waits bool // for a trial
}

// Status is what a coordinator knows of its workers.
type Status struct {
	Ready   bool           // requests of workers are answered
	Workers []WorkerStatus // all that were heard
	Working int            // how many of them were heard within two leases
	Deaths  int            // see Deaths
}

// Status returns what is known of the workers. It may be called while the study runs.
func (c *Coordinator) Status() Status {
	s := c.server.Load()
	if s == nil {
		return Status{Deaths: c.Deaths()}
	}
	workers := s.workerStatus()
	s.mu.Lock()
	ready := s.answers
	s.mu.Unlock()
	return Status{ready, workers, s.working(), c.Deaths()}
}

// Ping returns an error if the message server at which workers ask does not answer until ctx ends.
func (c *Coordinator) Ping(ctx context.Context) error {
	s := c.server.Load()
	if s == nil && c.Join != nil {
		return errors.New("the message server of --join has not answered yet")
	}
	if s == nil {
		return nil
	}
	for _, p := range s.places {
		if !answering(ctx, p.Conn) {
			return errors.New("the message server of --join does not answer")
		}
	}
	return nil
}

// workerStatus returns the workers that have sent requests.
func (s *server) workerStatus() (all []WorkerStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.leases.Holders()
	for _, w := range s.workers {
		status := *w
		for trial, worker := range held {
			if worker == w.ID {
				status.Leased = append(status.Leased, trial)
			}
		}
		slices.Sort(status.Leased)
		all = append(all, status)
	}
	return all
}

// noteRequest notes a request of a worker. That processors are of several kinds is said once. s.mu is held.
func (s *server) noteRequest(q request) {
	w := s.workers[q.Worker]
	if w == nil {
		w = &WorkerStatus{ID: q.Worker, Trial: -1}
		s.workers[q.Worker] = w
	}
	w.LastSeen, w.Threads = s.now(), max(w.Threads, q.Threads)
	switch {
	case q.Processor == "" || s.processor == severalKinds:
	case s.processor == "":
		s.processor = q.Processor
	case s.processor != q.Processor:
		s.processor = severalKinds
		s.notice("workers have processors of several kinds, such as that of %s: the last digits of a trial's result "+
			"depend on which one runs it", q.Worker)
	}
}

// severalKinds stands for processors of which no one is the kind of all workers.
const severalKinds = "several"

// working returns the number of workers that were heard within two leases. One that waits for a trial is heard four
// times in a lease.
func (s *server) working() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		if s.now().Sub(w.LastSeen) < 2*s.ttl {
			n++
		}
	}
	return n
}
