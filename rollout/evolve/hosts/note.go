package hosts

import (
	"encoding/json"
	"fmt"
	"time"

	"xlarun/internal/messaging"
)

// Board is a Bus whose server keeps a text after all hosts have left.
type Board interface {
	Write(text []byte) error
	Read() ([]byte, error)
}

// note is what remains at the server of a run that is done.
type note struct {
	Run        string // Identity.Digest
	Goal       string
	Generation int64
	Time       time.Time
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
	b, ok := p.bus.(Board)
	if !ok {
		return
	}
	p.mu.Lock()
	n := note{p.host.run, goal, p.host.Generation(), time.Now()}
	p.mu.Unlock()
	if text, err := json.Marshal(n); err == nil {
		_ = b.Write(text)
	}
}

// note returns what an earlier run of the same name has left at the server.
func (p *Process) note() (n note, ok bool) {
	b, ok := p.bus.(Board)
	if !ok {
		return n, false
	}
	text, err := b.Read()
	return n, err == nil && json.Unmarshal(text, &n) == nil
}
