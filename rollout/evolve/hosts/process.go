package hosts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"xlarun/internal/messaging"
)

// Bus carries messages between the hosts of a run. It calls the function that it was opened with for each message that
// arrives, from any goroutine.
type Bus interface {
	// Send sends a message and returns its size in bytes. A message that is lost costs time only.
	Send(m Message) int
	// Greet sends Hello and waits until ctx ends, in which time the others answer. It returns at once if the bus knows
	// that there are none: a NATS server says of a request that nobody subscribes to its subject ("no responders").
	Greet(ctx context.Context, hello Message)
	// Largest is the largest number of bytes of Message.Data.
	Largest() int
	// Connected reports whether messages reach the other hosts now, as far as the bus knows. connection is another
	// number after an outage, however short it was.
	Connected() (connection uint64, ok bool)
	// IsOver reports whether the server is away for good, since the run is over.
	IsOver() bool
	// Write lets the server keep a note after all hosts have left, and Read returns the newest one. A server that is
	// away, or that keeps nothing, is an error.
	Write(n Note) error
	Read() (Note, error)
	// Close sends what is waiting and ends the connection.
	Close()
}

// Open opens a bus for a host. It may wait for a server, until ctx ends.
type Open func(ctx context.Context, id string, receive func(Message)) (Bus, error)

// Worker computes for a Process.
type Worker interface {
	// Compute returns the rows of chunks of the generation under way.
	Compute(chunks []int) ([][]byte, error)
	// State returns the state before the generation under way, with the metrics of the rounds after another one, for
	// a host that is behind.
	State(ctx context.Context, after int64) ([]byte, error)
}

// Process is a host that is connected to the others. Methods are not for use by several goroutines at a time.
type Process struct {
	bus     Bus
	start   time.Time
	end     chan struct{} // closed by Close
	running sync.WaitGroup
	greeted func() // ends Join's wait

	mu         sync.Mutex
	host       *Host
	changed    chan struct{} // gets a value when a message has arrived
	err        error         // of a message
	connection uint64        // of the bus
	settled    time.Duration // when all hosts that are alive have been heard since the last outage
	lost       time.Duration // when the server was found to be away; -1: it is there
}

// welcomeTime is how long a host that joins waits for an answer of the others.
const welcomeTime = 300 * time.Millisecond

// Join connects a host after a number of generations with the other hosts of a run. It goes on with the first answer,
// so that a host that joins late knows how far the others are. The error is *IdentityError if the one that answers
// computes another run; WaitFor and Round return that of a later answer.
func Join(ctx context.Context, id string, identity Identity, generation int64, open Open) (*Process, error) {
	p := &Process{start: time.Now(), end: make(chan struct{}), changed: make(chan struct{}, 1),
		host: New(id, identity, generation), lost: -1}
	early := make(chan struct{})
	bus, err := open(ctx, id, func(m Message) {
		<-early // p.bus and p.greeted are set
		p.receive(m)
	})
	if err != nil {
		return nil, err
	}
	greet, greeted := context.WithTimeout(ctx, welcomeTime)
	defer greeted()
	p.greeted = greeted
	p.bus = bus
	p.connection, _ = bus.Connected()
	close(early)
	hello := p.host.Hello()
	p.running.Go(p.beat)
	p.running.Go(p.notes)
	p.bus.Greet(greet, hello)
	if err = ctx.Err(); err == nil {
		p.mu.Lock()
		err = p.err
		p.mu.Unlock()
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// now returns the time since the process began.
func (p *Process) now() time.Duration { return time.Since(p.start) }

// receive takes a message.
func (p *Process) receive(m Message) {
	p.mu.Lock()
	out, err := p.host.Receive(p.now(), m)
	if p.err == nil {
		p.err = err
	}
	p.mu.Unlock()
	p.send(out)
	if err != nil || m.Kind == Welcome { // a Hello is of a host that joins, too
		p.greeted()
	}
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *Process) send(out []Message) {
	for _, m := range out {
		n := p.bus.Send(m)
		p.mu.Lock()
		p.host.Stats.Bytes += int64(n)
		p.mu.Unlock()
	}
}

// beat says that the host is alive, until Close.
func (p *Process) beat() {
	every := time.NewTicker(BeatEvery)
	defer every.Stop()
	for {
		select {
		case <-p.end:
			return
		case <-every.C:
		}
		p.Presence() // it sees an outage soon
		p.mu.Lock()
		out := p.host.Beat()
		p.mu.Unlock()
		p.send(out)
	}
}

// Presence says which hosts of a run are there, as one process sees it at one time.
type Presence struct {
	// Hosts has the names of the hosts that are alive, this one too, in order. While this host is not connected, that
	// is this one.
	Hosts     []string
	Connected bool // this host reaches the others; see Bus
	// Settled reports that a host that is not in Hosts has left. For AliveFor after an outage it may only not have been
	// heard yet.
	Settled bool
}

// Presence returns the hosts as this process sees them now.
func (p *Process) Presence() Presence {
	p.mu.Lock()
	defer p.mu.Unlock()
	connection, connected := p.bus.Connected()
	now := p.now()
	if !connected || connection != p.connection {
		p.connection, p.settled = connection, now+AliveFor
	}
	switch {
	case connected:
		p.lost = -1
	case p.lost < 0:
		p.lost = now
	}
	if !connected {
		return Presence{Hosts: []string{p.host.ID()}}
	}
	return Presence{p.host.Alive(now), true, now >= p.settled}
}

// AwayError is the error of a host whose server does not answer for too long.
type AwayError struct{ Since time.Duration }

func (e *AwayError) Error() string {
	return fmt.Sprintf("the server has not answered for %v", e.Since.Round(time.Second))
}

// ErrorCode returns the code of a line of JSON.
func (*AwayError) ErrorCode() string { return messaging.CodeNoServer }

// Reach returns an *AwayError if the server has been away for a time, alone. If that is 0, it waits for the server, up
// to another time, wait, and returns an *AwayError then. It is an *OverError if the run is over.
func (p *Process) Reach(ctx context.Context, alone, wait time.Duration) error {
	for {
		connected := p.Presence().Connected
		p.mu.Lock()
		away := p.now() - p.lost
		p.mu.Unlock()
		switch {
		case connected || alone > 0 && away < alone:
			return nil
		case p.bus.IsOver():
			return &OverError{}
		case alone > 0 || away >= wait:
			return &AwayError{away}
		}
		if err := p.wait(ctx, reachEvery); err != nil {
			return err
		}
	}
}

// reachEvery is the time between two looks at a server that is away.
const reachEvery = 100 * time.Millisecond

// ID returns the name of this host.
func (p *Process) ID() string { return p.host.ID() }

// Newest returns the number of generations that the host which is the furthest of those that are alive has done.
func (p *Process) Newest() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ahead := p.host.ahead(p.now()); ahead != nil {
		return ahead.generation
	}
	return p.host.Generation()
}

// WaitFor waits until a number of hosts have joined, or until another host has begun. Hosts that left after a
// generation count. After tellAfter it calls tell with what it waits for; tell may be nil. The error is an *OverError
// if the server knows that the same run has reached the same goal, or is away for good. It is an *ElsewhereError if the
// server knows that another host has a state of the run, and no host that is ahead answers. After the time wait the
// error has messaging.CodeNoServer. A host that continues a run asks the server nothing, and goes on after
// elsewhereTime at most: the others may have ended.
func (p *Process) WaitFor(ctx context.Context, hosts int, wait time.Duration, goal string,
	tell func(line string)) error {
	var left Note
	elsewhere, again, flag := false, p.host.Generation() > 0, " (--wait)"
	if again {
		wait, flag = min(wait, elsewhereTime), ""
	} else {
		var err error
		if left, elsewhere, err = p.left(goal); err != nil {
			return err
		}
	}
	for began, told := time.Now(), tell == nil; ; {
		p.mu.Lock()
		n, err := p.host.Count(p.now()), p.err
		_, ahead := p.host.ahead(p.now())
		p.mu.Unlock()
		if err != nil || n >= hosts && !elsewhere || ahead != nil {
			return err
		}
		if elsewhere && time.Since(began) >= elsewhereTime {
			newer, is, err := p.left(goal) // the run may have gone on meanwhile
			if err != nil {
				return err
			}
			if is {
				left = newer
			}
			return &ElsewhereError{left.Host, left.Generation, time.Since(left.Time)}
		}
		if p.bus.IsOver() {
			return &OverError{}
		}
		if n < hosts && time.Since(began) >= wait {
			if again {
				return nil
			}
			return &messaging.CodedError{Code: messaging.CodeNoServer, Text: fmt.Sprintf("too few hosts have joined "+
				"in %v (--wait), %d of %d (--hosts): start the others within that time, or give a longer one", wait,
				n, hosts)}
		}
		if !told && time.Since(began) >= tellAfter {
			text := fmt.Sprintf("waiting for hosts: %d of %d, for %v at most%s", n, hosts, wait, flag)
			if elsewhere {
				text = fmt.Sprintf("waiting %v for a host that has a state of this run, which was at generation %d "+
					"on host %s %v ago", elsewhereTime, left.Generation, left.Host,
					time.Since(left.Time).Round(time.Second))
			}
			tell(text)
			told = true
		}
		if err := p.wait(ctx, BeatEvery); err != nil {
			return err
		}
	}
}

// left returns the note that an earlier process of the run has left, and whether the run is elsewhere: another host may
// have its state. The error is an *OverError if it has reached the goal.
func (p *Process) left(goal string) (n Note, elsewhere bool, err error) {
	n, err = p.bus.Read()
	switch {
	case err != nil || n.Run != p.host.run:
		return n, false, nil
	case n.Done && n.Goal == goal:
		return n, false, &OverError{n.Generation, time.Since(n.Time)}
	}
	return n, !n.Done, nil
}

// ErrClosed is the error of a wait that Close ended.
var ErrClosed = errors.New("the host has left the run")

// wait waits for a message.
func (p *Process) wait(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.end:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-p.changed:
	case <-timer.C:
	}
	return nil
}

// Round takes part in the generation under way, which has a number of chunks, until the rows of all are there. It
// computes `limit` chunks at a time. It returns the rows in order, or a state of another host that has got further:
// the caller restores it and calls Jump. If it returns neither, the caller computes the generation alone and calls Led.
func (p *Process) Round(ctx context.Context, chunks, limit int, w Worker) (
	rows [][]byte, state *Checkpoint, err error) {
	for {
		p.mu.Lock()
		p.host.Resize(chunks)
		a, err := p.host.Next(p.now(), limit), p.err
		p.mu.Unlock()
		if err != nil {
			return nil, nil, err
		}
		p.send(a.Send)
		if err := p.sendState(ctx, a.SendStateTo, w); err != nil {
			return nil, nil, err
		}
		switch {
		case a.State != nil:
			return nil, a.State, nil
		case a.Lead:
			return nil, nil, nil
		case a.Complete:
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.host.Finish(), nil, nil
		case len(a.Compute) > 0:
			if err := p.compute(a.Compute, w); err != nil {
				return nil, nil, err
			}
		default:
			began := time.Now()
			if err := p.wait(ctx, a.Wait); err != nil {
				return nil, nil, err
			}
			p.mu.Lock()
			p.host.Stats.WaitTime += time.Since(began)
			p.mu.Unlock()
		}
	}
}

// compute computes chunks and announces their rows.
func (p *Process) compute(chunks []int, w Worker) error {
	rows, err := w.Compute(chunks)
	if err != nil {
		return err
	}
	p.mu.Lock()
	out, err := p.host.Computed(p.now(), chunks, rows)
	p.mu.Unlock()
	p.send(out)
	return err
}

// sendState sends the state to hosts that want it.
func (p *Process) sendState(ctx context.Context, to map[string]int64, w Worker) error {
	for name, after := range to {
		data, err := w.State(ctx, after)
		if err != nil {
			return err
		}
		p.mu.Lock()
		out := p.host.StateFragments(name, data, p.bus.Largest())
		p.mu.Unlock()
		p.send(out)
	}
	return nil
}

// Led ends a generation that this host computed alone.
func (p *Process) Led() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host.Led(p.now())
}

// Last gives the last state to hosts that are behind: nobody else would lead them to the end. It has all rounds, as
// one that has just joined gets it, too.
func (p *Process) Last(ctx context.Context, w Worker) error {
	p.mu.Lock()
	behind := p.host.Behind(p.now())
	p.mu.Unlock()
	if !behind {
		return nil
	}
	return p.sendState(ctx, map[string]int64{"": 0}, w)
}

// Jump goes on after a number of generations, with a state of another host.
func (p *Process) Jump(generation int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.host.Jump(generation)
}

// Stats returns what this host did so far.
func (p *Process) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.host.Stats
}

// Close leaves the run.
func (p *Process) Close() {
	select {
	case <-p.end:
		return
	default:
	}
	close(p.end)
	p.running.Wait()
	p.bus.Send(p.host.Leave())
	p.bus.Close()
}
