package studies

import (
	"context"
	"errors"
	"os"
	"time"

	"xlarun/internal/messaging"
	"xlarun/studies/rdb"
	"xlarun/studies/study"
)

// workerExecutor runs trials in worker processes, of this machine and of others that join. The workers ask a server,
// which gives each trial to one of them. Both outlive a session: trials go on while the storage is away.
type workerExecutor struct {
	c       *Coordinator
	bus     *bus
	server  *server
	orphans bool // workers of an earlier coordinator may live

	check *time.Ticker // supervise is called
	beat  *time.Ticker // the database gets a heartbeat of each trial that runs
}

const (
	// checkEvery is the time between two calls of supervise; it is less where leases are short.
	checkEvery = 100 * time.Millisecond
	// queuedPerWorker is the number of open trials per worker where trials are asked ahead: there is always a free one.
	queuedPerWorker = 4
)

// openWorkers starts the workers of this machine, the bus and the server that answers workers.
func (c *Coordinator) openWorkers(ctx context.Context) (x *workerExecutor, err error) {
	name := c.Spec.Name
	x = &workerExecutor{c: c, orphans: c.remote()}
	for slot := range c.pool.Size {
		held, err := locked(c.workdir.slot(name, slot))
		x.orphans = x.orphans || held || err != nil
	}
	_ = c.pool.StartMissing() // workers start while the bus opens; supervise sees the errors
	if x.bus, err = openBus(c.Listen, c.workdir.socket(name)); err != nil {
		return nil, err
	}
	if x.server, err = newServer(ctx, c, x.bus); err != nil {
		x.bus.close()
		return nil, &retryable{err}
	}
	if c.Join != nil {
		if err := x.server.join(ctx, *c.Join); err != nil {
			x.server.close()
			x.bus.close()
			return nil, err
		}
	}
	c.server.Store(x.server)
	switch {
	case c.Listening == nil:
	case c.Join != nil:
		c.Listening(c.Join.Full())
	case c.Listen.Address != "":
		c.Listening(x.bus.address())
	}
	x.check, x.beat = time.NewTicker(min(x.server.ttl/8, checkEvery)), time.NewTicker(x.server.ttl/4)
	return x, nil
}

// close ends the workers and the bus. err is how the study ended; close returns it.
func (x *workerExecutor) close(ctx context.Context, err error) error {
	defer x.bus.close()
	defer x.server.close() // else it connects again for ever
	x.check.Stop()
	x.beat.Stop()
	for _, w := range x.server.workerStatus() {
		x.c.threads = max(x.c.threads, w.Threads)
	}
	if ctx.Err() == nil && !errors.As(err, new(*retryable)) {
		x.server.end()
	}
	began := time.Now()
	if ctx.Err() != nil { // else workers of other machines get what those of this one give back
		x.server.giveNone()
	}
	x.c.pool.Stop() // while the server still answers: workers that end give their trials back
	if ctx.Err() != nil && x.c.Listen.Address != "" && x.c.Leave != nil {
		x.server.leave(x.c.Leave() - time.Since(began))
	}
	if err != nil {
		return err
	}
	if x.c.remote() { // the server still has to tell other machines
		_ = wait(ctx, max(x.c.Linger, 50*time.Millisecond))
	}
	return nil
}

// remote reports whether workers of other machines may join.
func (c *Coordinator) remote() bool { return c.Listen.Address != "" || c.Join != nil }

// room implements executor.
func (x *workerExecutor) room(p progress) int {
	n := x.c.Spec.windowRoom(p)
	if x.c.Spec.ahead() {
		n = max(n, queuedPerWorker*max(x.c.Spec.Workers, x.server.working())-len(p.open))
	}
	return n
}

// start implements executor.
func (x *workerExecutor) start(_ context.Context, open []*study.FrozenTrial) error {
	err := x.server.update(open, x.orphans)
	if errors.As(err, new(*messaging.CodedError)) {
		return err
	}
	if err != nil {
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

// supervise checks that the study is still there, and replaces workers that have died.
func (x *workerExecutor) supervise() error {
	if err := x.c.db.Exists(x.c.study.ID()); errors.Is(err, rdb.ErrDeleted) {
		return err
	}
	for _, id := range x.c.deadWorkers() { // before new workers take their slots: their trials are free at once
		x.server.workerDied(id)
	}
	if err := x.server.recordDeaths(); err != nil {
		return err
	}
	return x.c.pool.StartMissing()
}

// newPool returns the worker processes of this machine; none is started yet.
func (c *Coordinator) newPool() *Pool {
	name := c.Spec.Name
	size := c.Spec.Workers
	if c.NoWorkers {
		size = 0
	}
	return &Pool{Size: size, Threads: c.Spec.Threads, Command: c.Command,
		Log: func(slot int) string { return c.workdir.log(name, slot) },
		Occupied: func(slot int) bool { // by a worker that an earlier coordinator started
			held, _ := locked(c.workdir.slot(name, slot)) // a worker says what hinders it
			return held
		},
		Died: func(slot int, err error) {
			if err != nil {
				c.deaths.Add(1)
			}
			if id, dead := c.deadWorker(slot); dead && c.server.Load() != nil { // before another one takes the slot
				c.server.Load().workerDied(id)
			}
			if err != nil {
				c.notice("worker %d ended: %v%s", slot, err, lastLogLine(c.workdir.log(name, slot)))
			}
		}}
}

// deadWorkers returns the ids of workers of this machine that have ended, in slots that have no other worker yet.
func (c *Coordinator) deadWorkers() (ids []string) {
	for slot := range c.pool.Size {
		if id, dead := c.deadWorker(slot); dead {
			ids = append(ids, id)
		}
	}
	return ids
}

// deadWorker returns the id of the last worker of a slot, and whether it has certainly ended. A process that ends is
// not always that worker: one that finds the lock of the slot taken ends at once.
func (c *Coordinator) deadWorker(slot int) (id string, dead bool) {
	path := c.workdir.slot(c.Spec.Name, slot)
	text, err := os.ReadFile(path + ".id") // before the look at the lock, which a worker holds when it writes this
	if err != nil {
		return "", false
	}
	held, err := locked(path)
	return string(text), err == nil && !held
}
