package hosts

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
)

// Note is what remains at the server of a run, and of an island, which has Done alone.
type Note struct {
	Done       bool   // else it has begun
	Run        string // Identity.Digest
	Goal       string // that it has reached
	Generation int64  // that a host has done
	Time       time.Time
	Host       string
}

const (
	// noteEvery is the time between two notes of a run under way.
	noteEvery = 5 * time.Second
	// savedAfter is the time after its first generation at which a run has a checkpoint, and leaves its first note: one
	// that has lost all it had may begin again.
	savedAfter = 15 * time.Second
	// tellAfter is the time after which a host says that it waits for others.
	tellAfter = time.Second
	// elsewhereTime is how long a host that would begin a run anew waits for one that is further on, and one that
	// continues a run for the others.
	elsewhereTime = 30 * time.Second
)

// ElsewhereError is the error of a host that would begin a run of which another host has a state.
type ElsewhereError struct {
	Host       string
	Generation int64
	Since      time.Duration
}

// ErrorCode returns the code of a line of JSON: the other host may answer later.
func (*ElsewhereError) ErrorCode() string { return messaging.CodeNoServer }

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("this run was at generation %d on host %s %v ago, and no host that is as far answers: "+
		"continue it with --resume and the run folder of such a host, or try again when one is back; to compute all "+
		"of it again give another name after the server's address", e.Generation, e.Host, e.Since.Round(time.Second))
}

// OverError is the error of a host that comes after the run is done. Without a generation the address file says so.
type OverError struct {
	Generation int64
	Since      time.Duration
}

// ErrorCode returns the code of a line of JSON.
func (*OverError) ErrorCode() string { return messaging.CodeOver }

func (e *OverError) Error() string {
	if e.Generation == 0 {
		return "the run is over: the address file of its server says so"
	}
	return fmt.Sprintf("the other hosts were done %v ago, after generation %d, and no more hosts join: give another "+
		"name after the server's address to compute all of it again", e.Since.Round(time.Second), e.Generation)
}

// Over tells the server that the run has reached its goal. A server that keeps nothing is no error: hosts that come
// later compute all of it.
func (p *Process) Over(goal string) {
	p.mu.Lock()
	n := Note{true, p.host.run, goal, p.host.Generation(), time.Now(), p.host.id}
	p.mu.Unlock()
	_ = p.bus.Write(n)
}

// Write tells a server, under the name of the run or the island.
func (n Note) Write(conn *nats.Conn, name string) error {
	text, err := json.Marshal(n)
	if err != nil {
		return err
	}
	kv, err := notes(conn)
	if err != nil {
		return err
	}
	_, err = kv.Put(name, text)
	return err
}

// notes tells the server how far the run is, until Close. A server that moved hears of it too.
func (p *Process) notes() {
	every := time.NewTicker(noteEvery)
	defer every.Stop()
	var first time.Time // when this host had done a generation
	for ended := false; !ended; {
		select {
		case <-p.end:
			ended = true
		case <-every.C:
		}
		p.mu.Lock()
		n := Note{Run: p.host.run, Generation: p.host.Generation(), Time: time.Now(), Host: p.host.id}
		p.mu.Unlock()
		if first.IsZero() && n.Generation > 0 {
			first = n.Time
		}
		_, connected := p.bus.Connected()
		if first.IsZero() || n.Time.Sub(first) < savedAfter || !connected {
			continue
		}
		if old, err := p.bus.Read(); err != nil || old.Run != n.Run || old.Generation < n.Generation {
			_ = p.bus.Write(n)
		}
	}
}
