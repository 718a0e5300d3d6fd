package studies

import (
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
}

// WorkerStatus returns the workers that run trials of the study. It may be called while the study runs.
func (c *Coordinator) WorkerStatus() []WorkerStatus {
	if s := c.status.Load(); s != nil {
		return s.workerStatus()
	}
	return nil
}

// workerStatus returns the workers that have sent requests.
func (s *server) workerStatus() (all []WorkerStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		status := *w
		for trial, l := range s.leases {
			if l.Worker == w.ID && s.alive(l) {
				status.Leased = append(status.Leased, trial)
			}
		}
		slices.Sort(status.Leased)
		all = append(all, status)
	}
	return all
}

// noteWorker records a request of a worker. number is the trial that it has got; -1: it has got none. s.mu is held.
func (s *server) noteWorker(q request, number int64) {
	w := s.workers[q.Worker]
	if w == nil {
		w = &WorkerStatus{ID: q.Worker, Trial: -1}
		s.workers[q.Worker] = w
	}
	w.LastSeen, w.Threads = s.now(), max(w.Threads, q.Threads)
	if number >= 0 {
		w.Trial = number
	}
}

// noteIdle records that a worker runs no trial. s.mu is held.
func (s *server) noteIdle(worker string) {
	if w := s.workers[worker]; w != nil {
		w.Trial = -1
	}
}

// leased reports whether a worker has a lease that lasts. s.mu is held.
func (s *server) leased(worker string) bool {
	for _, l := range s.leases {
		if l.Worker == worker && s.alive(l) {
			return true
		}
	}
	return false
}

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
