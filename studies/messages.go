package studies

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
	"xlarun/rollout/evolve/hosts"
)

// Messages is a message server without a study: for runs that several hosts compute together.
type Messages struct {
	Listen    Listen
	Listening func(address string) // is called with the address, HOST:PORT; nil: it is not
	// UntilDone ends the server when the runs, and all islands that have begun, have reached their goals and all
	// clients have left quietFor ago, and with ErrNobody when there was no client for nobodyFor.
	UntilDone bool
	// Leave returns the time that hosts and workers have to leave after the end of ctx; nil: none.
	Leave  func() time.Duration
	Hosted *Hosted // learns which runs there are; nil: nobody asks
}

// ErrNobody is the error of a message server that nobody uses.
var ErrNobody error = &messaging.CodedError{Code: messaging.CodeNoServer, Text: "nobody has used the message server"}

// Times of a server that ends by itself. Tests shorten them.
var (
	quietFor  = 10 * time.Second
	nobodyFor = 30 * time.Minute
	lookEvery = 100 * time.Millisecond
)

// Serve runs the server until ctx ends.
func (m Messages) Serve(ctx context.Context) error {
	b, err := openBus(m.Listen, "")
	if err != nil {
		return err
	}
	defer b.close()
	return m.untilEnd(ctx, b)
}

// untilEnd waits for the end of a server that runs.
func (m Messages) untilEnd(ctx context.Context, b *bus) error {
	conn, err := b.connect(m.Listen.own())
	if err != nil {
		return err
	}
	defer conn.Close()
	if m.Hosted != nil {
		if err := m.Hosted.watch(conn); err != nil {
			return err
		}
	}
	if m.Listening != nil {
		m.Listening(b.address()) // now, so that Hosted knows of the first greeting
	}
	clients := func() int { return b.server.NumClients() - 1 }
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for last := time.Now(); ctx.Err() == nil; {
		select {
		case <-ctx.Done():
		case <-look.C:
		}
		if clients() > 0 {
			last = time.Now()
		}
		switch quiet := time.Since(last); {
		case !m.UntilDone:
		case quiet >= quietFor && reachedGoal(conn) && clients() == 0: // nobody has come meanwhile
			return nil
		case quiet >= nobodyFor:
			return fmt.Errorf("%w for %v, and no run has reached its goal", ErrNobody, nobodyFor)
		}
	}
	if m.Leave != nil {
		own, _ := conn.GetClientID()
		for over := time.Now().Add(m.Leave()); b.carries(own) && time.Now().Before(over); {
			<-look.C
		}
	}
	return nil
}

// carries reports whether the server carries messages between clients, beside one with an own number: hosts, or workers
// and their coordinator. Others, such as islands, only ask for what it keeps, and that is lost with it anyway.
func (b *bus) carries(own uint64) bool {
	all, err := b.server.Connz(&natsserver.ConnzOptions{Subscriptions: true, Limit: math.MaxInt32})
	return err == nil && slices.ContainsFunc(all.Conns, func(c *natsserver.ConnInfo) bool {
		return c.Cid != own && slices.ContainsFunc(c.Subs, func(subject string) bool {
			return strings.HasPrefix(subject, "xlarun.")
		})
	})
}

// reachedGoal reports whether runs and islands have left notes, all of which say that they are done.
func reachedGoal(conn *nats.Conn) bool {
	js, err := conn.JetStream(nats.MaxWait(time.Second))
	if err != nil {
		return false
	}
	notes, err := js.KeyValue(messaging.Runs)
	if err != nil {
		return false
	}
	names, err := messaging.Keys(notes)
	return err == nil && len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		entry, err := notes.Get(name)
		var note hosts.Note
		return err != nil || json.Unmarshal(entry.Value(), &note) != nil || !note.Done
	})
}
