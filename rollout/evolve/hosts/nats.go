package hosts

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"xlarun/internal/messaging"
)

const (
	// headerRoom is what a message takes beside its data.
	headerRoom = 4096
	// outageBuffer bounds the bytes of messages that wait while the server is away.
	outageBuffer = 64 << 20
)

// On returns the Open of a bus on a NATS server, for the run with the server's name. While the server is away, messages
// wait.
func On(s messaging.Server) Open {
	return func(ctx context.Context, id string, receive func(Message)) (Bus, error) {
		conn, err := s.Connect(ctx, id, nats.ReconnectWait(200*time.Millisecond), nats.ReconnectBufSize(outageBuffer),
			nats.NoEcho(), nats.IgnoreAuthErrorAbort()) // a server that restarts may refuse for a moment
		if err != nil {
			return nil, err
		}
		b := &natsBus{conn: conn, address: s.Address, prefix: messaging.Run + s.Name + "."}
		take := func(m *nats.Msg) {
			if message, err := Decode(m.Data); err == nil {
				receive(message)
			}
		}
		for _, subject := range []string{"all", "to." + token(id)} {
			sub, err := conn.Subscribe(b.prefix+subject, take)
			if err == nil {
				err = sub.SetPendingLimits(-1, -1) // states are large
			}
			if err != nil {
				conn.Close()
				return nil, err
			}
		}
		if err := conn.Flush(); err != nil {
			conn.Close()
			return nil, s.Unreachable(err)
		}
		return b, nil
	}
}

// token makes a host's name a token of a subject.
func token(id string) string {
	return strings.NewReplacer(".", "_", " ", "_", "*", "_", ">", "_").Replace(id)
}

// natsBus is a Bus on a NATS server.
type natsBus struct {
	conn    *nats.Conn
	address messaging.Address
	prefix  string
}

func (b *natsBus) Send(m Message) int {
	subject := "all"
	if m.To != "" {
		subject = "to." + token(m.To)
	}
	data := m.Encode()
	_ = b.conn.Publish(b.prefix+subject, data) // a lost message costs time only
	if m.Kind != State {
		// The client's goroutine that writes to the connection may run now. On one core it would otherwise not run
		// before the next chunk is computed. A flush of the client would do the same, but has the server answer each
		// time.
		runtime.Gosched()
	}
	return len(data)
}

// Greet sends a request, as the server answers one that nobody gets. The others answer by messages of their own.
func (b *natsBus) Greet(ctx context.Context, hello Message) {
	_, _ = b.conn.RequestWithContext(ctx, b.prefix+"all", hello.Encode())
}

func (b *natsBus) Largest() int {
	if n := int(b.conn.MaxPayload()); n > 2*headerRoom {
		return n - headerRoom
	}
	return headerRoom
}

func (b *natsBus) Connected() (connection uint64, ok bool) {
	ok = b.conn.IsConnected() // before the number, so that it is not of an earlier connection
	return b.conn.Stats().Reconnects, ok
}

func (b *natsBus) IsOver() bool { return !b.conn.IsConnected() && b.address.IsOver() }

func (b *natsBus) Close() {
	_ = b.conn.FlushTimeout(time.Second)
	b.conn.Close()
}

const (
	// notesFor is how long the server keeps them.
	notesFor = 30 * 24 * time.Hour
	// noteTimeout is how long the server may take to write or read one.
	noteTimeout = 2 * time.Second
)

// notes returns the bucket. There is none if the server keeps nothing (it runs without JetStream).
func notes(conn *nats.Conn) (nats.KeyValue, error) {
	js, err := conn.JetStream(nats.MaxWait(noteTimeout))
	if err != nil {
		return nil, err
	}
	return messaging.Bucket(js, nats.KeyValueConfig{Bucket: messaging.Runs, TTL: notesFor})
}

func (b *natsBus) Write(n Note) error { return n.Write(b.conn, b.address.Name) }

func (b *natsBus) Read() (n Note, err error) {
	kv, err := notes(b.conn)
	if err != nil {
		return n, err
	}
	entry, err := kv.Get(b.address.Name)
	if err != nil {
		return n, err
	}
	return n, json.Unmarshal(entry.Value(), &n)
}
