package studies

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
)

// Hosted knows which runs the hosts at a message server compute. It learns it from their messages.
type Hosted struct {
	mu   sync.Mutex
	conn *nats.Conn // nil: the server does not run yet
	runs map[string]*hostedRun
}

type hostedRun struct {
	digest     string // hosts.Identity.Digest
	generation int64
	heard      map[string]time.Time // hosts
}

// RunStatus describes a run that hosts compute.
type RunStatus struct {
	Name       string
	Hosts      int   // that are alive
	Generation int64 // the last one that a host has done
}

// hostsSubject is what hosts of all runs send to all others.
const hostsSubject = messaging.Run + "*.all"

// watch reads the messages of a server.
func (r *Hosted) watch(conn *nats.Conn) error {
	r.mu.Lock()
	r.conn, r.runs = conn, map[string]*hostedRun{}
	r.mu.Unlock()
	if _, err := conn.Subscribe(hostsSubject, func(m *nats.Msg) {
		x, err := hosts.Decode(m.Data)
		if err != nil {
			return
		}
		if alone := r.take(strings.Split(m.Subject, ".")[2], x, time.Now()); alone && m.Reply != "" {
			_ = m.Respond(nil) // as the server says of a greeting that nobody gets, see hosts.Bus
		}
	}); err != nil {
		return err
	}
	return conn.Flush() // the server has the subscription
}

// take learns from a message, and reports whether its sender is the only host.
func (r *Hosted) take(name string, m hosts.Message, now time.Time) (alone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.runs[name]
	if x == nil || x.digest != m.Run && len(x.alive(now)) == 0 {
		x = &hostedRun{digest: m.Run, heard: map[string]time.Time{}}
		r.runs[name] = x
	}
	if x.digest != m.Run { // the others refuse it
		return false
	}
	x.generation = max(x.generation, m.Generation) // a host that is behind sends an earlier one
	if x.heard[m.From] = now; m.Kind == hosts.Leave {
		delete(x.heard, m.From)
	}
	return len(x.alive(now)) == 1
}

// alive returns the hosts that were heard lately, and forgets the others.
func (x *hostedRun) alive(now time.Time) map[string]time.Time {
	for host, heard := range x.heard {
		if now.Sub(heard) > hosts.AliveFor {
			delete(x.heard, host)
		}
	}
	return x.heard
}

// Now returns the runs, also those whose hosts have left, by name.
func (r *Hosted) Now() (all []RunStatus) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name, x := range r.runs {
		all = append(all, RunStatus{name, len(x.alive(time.Now())), x.generation})
	}
	slices.SortFunc(all, func(a, b RunStatus) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Ping returns an error if the server does not answer until ctx ends.
func (r *Hosted) Ping(ctx context.Context) error {
	r.mu.Lock()
	conn := r.conn
	r.mu.Unlock()
	if conn == nil || !answering(ctx, conn) {
		return errors.New("the message server does not answer")
	}
	return nil
}

// answering reports whether a server answers before ctx ends.
func answering(ctx context.Context, conn *nats.Conn) bool {
	return conn.IsConnected() && conn.FlushWithContext(ctx) == nil
}
