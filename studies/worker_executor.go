package studies

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// workerExecutor runs trials in worker processes, of this machine and of others that join. The workers ask a server,
// which gives each trial to one of them.
type workerExecutor struct {
	c      *Coordinator
	broker *broker
	server *server
	cancel context.CancelFunc // ends the server's requests to the broker

	check *time.Ticker // supervise is called
	beat  *time.Ticker // the database gets a heartbeat of each trial that runs
}

const (
	// checkEvery is the time between two calls of supervise; it is less where leases are short.
	checkEvery = 100 * time.Millisecond
	// queuedPerWorker is the number of open trials per worker where trials are asked ahead: the queue never runs dry.
	queuedPerWorker = 4
)

// openWorkers starts the workers of this machine, the message broker and the server that answers workers. An error is
// *retryable if the broker's files are at fault.
func (c *Coordinator) openWorkers(ctx context.Context) (*workerExecutor, error) {
	ttl, err := c.Spec.leaseTime()
	if err != nil {
		return nil, err
	}
	name := c.Spec.Name
	dead := c.deadWorkers()
	_ = c.pool.StartMissing() // workers start while the broker opens; supervise sees the errors
	b, err := openBroker(c.workdir.broker(name), c.workdir.socket(name), c.Listen, ttl)
	if errors.As(err, new(*net.OpError)) {
		return nil, err // the address is in use: the files are fine
	}
	if err != nil {
		return nil, &retryable{err}
	}
	if b.damage != "" {
		c.notice("the store of the message server could not be used (%s): it is made anew, from the database", b.damage)
	}
	if listening := b.address(); listening != "" && c.Listening != nil {
		c.Listening(listening)
	}
	inner, cancel := context.WithCancel(context.WithoutCancel(ctx)) // workers that end give their trials back
	if c.server, err = newServer(inner, c, b); err != nil {
		cancel()
		b.close()
		return nil, &retryable{err}
	}
	for _, id := range dead {
		c.server.workerDied(id)
	}
	return &workerExecutor{c: c, broker: b, server: c.server, cancel: cancel,
		check: time.NewTicker(min(ttl/8, checkEvery)), beat: time.NewTicker(ttl / 4)}, nil
}

// close ends the workers and the broker. err is how the study ended; close returns it. Workers live on if a new session
// goes on with the study.
func (x *workerExecutor) close(ctx context.Context, err error) error {
	defer x.broker.close()
	defer x.cancel()
	x.check.Stop()
	x.beat.Stop()
	for _, w := range x.server.workerStatus() {
		x.c.threads = max(x.c.threads, w.Threads)
	}
	if errors.As(err, new(*retryable)) {
		return err
	}
	if ctx.Err() == nil {
		x.broker.announceEnd()
	}
	x.c.pool.Stop() // while the server still answers
	if err != nil {
		return err
	}
	x.broker.close()
	return x.c.workdir.clear(x.c.Spec.Name)
}

// room implements executor.
func (x *workerExecutor) room(p progress) int {
	n := x.c.Spec.windowRoom(p)
	if x.c.Spec.ahead() {
		n = max(n, queuedPerWorker*max(x.c.Spec.Workers, x.server.working())-len(p.open))
	}
	return n
}

// start implements executor: each open trial is in the queue, or a worker has it.
func (x *workerExecutor) start(ctx context.Context, open []*study.FrozenTrial) error {
	ids := make([]int64, len(open))
	for i, t := range open {
		ids[i] = t.ID
	}
	if err := x.server.reconcile(ctx, ids); err != nil {
		return &retryable{err}
	}
	return nil
}

// wait implements executor.
func (x *workerExecutor) wait(ctx context.Context) (err error) {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-x.server.changed:
		return nil
	case err = <-x.server.errs:
	case <-x.check.C:
		err = x.supervise()
	case <-x.beat.C:
		err = x.c.db.Beat(x.server.running()...)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rdb.ErrDeleted):
		return x.c.deleted()
	}
	return &retryable{err}
}

// supervise checks that the study and the broker's files are still there, and replaces workers that have died.
func (x *workerExecutor) supervise() error {
	if err := x.c.db.Exists(x.c.study.ID()); errors.Is(err, rdb.ErrDeleted) {
		return err
	}
	if err := x.broker.checkStore(); err != nil {
		return err
	}
	for _, id := range x.c.deadWorkers() { // before new workers take their slots: their trials are free at once
		x.server.workerDied(id)
	}
	return x.c.pool.StartMissing()
}

// newPool returns the worker processes of this machine; none is started yet.
func (c *Coordinator) newPool() *Pool {
	name := c.Spec.Name
	size := c.Spec.Workers
	if c.Away {
		size = 0
	}
	return &Pool{Size: size, Threads: c.Spec.Threads, Command: c.Command,
		Log: func(slot int) string { return c.workdir.log(name, slot) },
		// a worker that an earlier coordinator started
		Occupied: func(slot int) bool { return locked(c.workdir.slot(name, slot)) },
		Died: func(slot int, err error) {
			if err != nil {
				c.deaths.Add(1)
			}
			if id, e := os.ReadFile(c.workdir.slot(name, slot) + ".id"); e == nil && c.server != nil {
				c.server.workerDied(string(id))
			}
			if err != nil {
				c.notice("worker %d ended: %v%s", slot, err, lastLogLine(c.workdir.log(name, slot)))
			}
		}}
}

// deadWorkers returns the ids of workers of this machine that have ended, in slots that have no other worker yet.
func (c *Coordinator) deadWorkers() (ids []string) {
	for slot := range c.pool.Size {
		path := c.workdir.slot(c.Spec.Name, slot)
		id, err := os.ReadFile(path + ".id")
		if err == nil && !locked(path) {
			ids = append(ids, string(id))
		}
	}
	return ids
}
