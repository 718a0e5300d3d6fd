package hosts

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"xlarun/internal/messaging"
)

// quietBus loses all messages.
type quietBus struct {
	connection uint64
	connected  bool
	over       bool
}

func (*quietBus) Send(Message) int               { return 0 }
func (*quietBus) Greet(context.Context, Message) {}
func (*quietBus) Largest() int                   { return 1000 }
func (b *quietBus) Connected() (uint64, bool)    { return b.connection, b.connected }
func (b *quietBus) IsOver() bool                 { return b.over }
func (*quietBus) Close()                         {}
func (*quietBus) Write(Note) error               { return errors.New("it keeps nothing") }
func (*quietBus) Read() (Note, error)            { return Note{}, errors.New("it keeps nothing") }

// Hosts counted as alive while their server was out. A host counted as one that has left before it
// could be heard after an outage.
func TestHostsWithoutTheirServer(t *testing.T) {
	bus := &quietBus{connected: true}
	var receive func(Message)
	identity := Identity{}
	p, err := Join(t.Context(), "a", identity, 0, func(_ context.Context, _ string, f func(Message)) (Bus, error) {
		receive = f
		return bus, nil
	})
	require.NoError(t, err)
	defer p.Close()
	set := func(connection uint64, connected bool) {
		p.mu.Lock() // the beats look at the bus
		defer p.mu.Unlock()
		bus.connection, bus.connected = connection, connected
	}
	later := func(d time.Duration) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.start = p.start.Add(-d)
	}
	beat := func() { receive(Message{Kind: Beat, From: "b", Run: identity.Digest()}) }
	require.Equal(t, Presence{[]string{"a"}, true, true}, p.Presence())
	beat()
	require.Equal(t, Presence{[]string{"a", "b"}, true, true}, p.Presence())
	set(0, false)
	require.Equal(t, Presence{[]string{"a"}, false, false}, p.Presence())
	set(1, true)
	require.Equal(t, Presence{[]string{"a", "b"}, true, false}, p.Presence(), "it was heard a moment ago")

	set(1, false)
	p.Presence()
	later(AliveFor + time.Second)
	p.Presence() // as a beat does
	set(2, true)
	require.Equal(t, Presence{[]string{"a"}, true, false}, p.Presence(), "it has not left, nobody was heard yet")
	later(time.Second)
	beat()
	require.Equal(t, Presence{[]string{"a", "b"}, true, false}, p.Presence())
	later(AliveFor)
	beat()
	require.Equal(t, Presence{[]string{"a", "b"}, true, true}, p.Presence())

	later(AliveFor + time.Second)
	set(3, true) // an outage that nobody saw
	require.Equal(t, Presence{[]string{"a"}, true, false}, p.Presence())
	later(AliveFor + time.Second)
	require.Equal(t, Presence{[]string{"a"}, true, true}, p.Presence(), "now it has left")
}

// slowBus has other hosts that answer late.
type slowBus struct {
	quietBus
	answer func()
}

func (b *slowBus) Greet(ctx context.Context, _ Message) { go b.answer(); <-ctx.Done() }

// The Hello of another host that joins ended the wait for an answer: a host that joined late began with generation 0.
func TestJoinWaitsForAnAnswer(t *testing.T) {
	for _, c := range []struct {
		digest string
		err    string
	}{{Identity{}.Digest(), ""}, {"another", "seed"}} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			p, err := Join(t.Context(), "a", Identity{}, 0, func(_ context.Context, _ string,
				receive func(Message)) (Bus, error) {
				return &slowBus{quietBus{connected: true}, func() {
					time.Sleep(50 * time.Millisecond)
					receive(Message{Kind: Hello, From: "b", Run: Identity{}.Digest()})
					time.Sleep(50 * time.Millisecond)
					receive(Message{Kind: Welcome, From: "c", Run: c.digest, Generation: 5,
						Identity: Identity{"seed": c.err}})
				}}, nil
			})
			require.Equal(t, 100*time.Millisecond, time.Since(begun))
			if c.err != "" {
				require.ErrorAs(t, err, new(*IdentityError))
				return
			}
			require.NoError(t, err)
			_, ahead := p.host.ahead(p.now())
			require.NotNil(t, ahead, "it knows that c is ahead")
			p.Close()
		})
	}
}

// Waits for other hosts end with their context, and after a time: a host whose others never came waited for ever.
func TestWaitsEndWithTheirContext(t *testing.T) {
	quiet := func(context.Context, string, func(Message)) (Bus, error) { return &quietBus{connected: true}, nil }
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Join(over, "a", Identity{}, 0, quiet)
	require.ErrorIs(t, err, context.Canceled)
	p, err := Join(t.Context(), "a", Identity{}, 0, quiet)
	require.NoError(t, err)
	defer p.Close()
	require.ErrorIs(t, p.WaitFor(over, 2, time.Hour, "goal", nil), context.Canceled)
	require.Equal(t, &messaging.CodedError{Code: messaging.CodeNoServer, Text: "too few hosts have joined in 1ms " +
		"(--wait), 1 of 2 (--hosts): start the others within that time, or give a longer one"},
		p.WaitFor(t.Context(), 2, time.Millisecond, "goal", nil))
	require.NoError(t, p.WaitFor(t.Context(), 1, 0, "goal", nil))
}

// Hosts that continue a run wait for the others, but not for those that have ended: the first one computed alone what
// all shared before.
func TestHostsWaitAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var receive func(Message)
		bus := &keepingBus{quietBus{connected: true}, Note{Done: true, Run: Identity{}.Digest(), Goal: "goal"}}
		p, err := Join(t.Context(), "a", Identity{}, 0, func(_ context.Context, _ string,
			f func(Message)) (Bus, error) {
			receive = f
			return bus, nil
		})
		require.NoError(t, err)
		defer p.Close()
		p.Jump(7)
		began := time.Now()
		time.AfterFunc(9*time.Second, func() {
			receive(Message{Kind: Hello, From: "b", Run: Identity{}.Digest(), Generation: 6})
		})
		require.NoError(t, p.WaitFor(t.Context(), 2, time.Hour, "goal", nil))
		require.Equal(t, 9*time.Second, time.Since(began))
		require.NoError(t, p.WaitFor(t.Context(), 3, time.Hour, "goal", nil))
		require.Equal(t, 9*time.Second+elsewhereTime, time.Since(began))
	})
}

// A host whose address file says that the run is over does not wait for its server: it did, and failed.
func TestAHostWhoseRunIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &quietBus{over: true}
		p, err := Join(t.Context(), "a", Identity{}, 0, func(context.Context, string, func(Message)) (Bus, error) {
			return bus, nil
		})
		require.NoError(t, err)
		defer p.Close()
		require.ErrorAs(t, p.Reach(t.Context(), 0, time.Hour), new(*OverError), "waits")
		require.NoError(t, p.Reach(t.Context(), time.Hour, time.Hour), "goes on alone")
		time.Sleep(2 * time.Hour)
		require.ErrorAs(t, p.Reach(t.Context(), time.Hour, time.Hour), new(*OverError), "was alone for too long")
		require.ErrorAs(t, p.WaitFor(t.Context(), 2, time.Hour, "", nil), new(*OverError), "waits for others")
	})
}

// keepingBus loses all messages; its server keeps a note.
type keepingBus struct {
	quietBus
	note Note
}

func (b *keepingBus) Write(n Note) error  { b.note = n; return nil }
func (b *keepingBus) Read() (Note, error) { return b.note, nil }

// A host began at generation 0 while the hosts that were further on were silent or gone. It waits for one of them, and
// ends with a sentence, unless one answers, the run has another identity, or nobody had a state for long enough.
func TestARunThatIsElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bus := &keepingBus{quietBus: quietBus{connected: true}}
		var receive func(Message)
		join := func(id string, identity Identity) *Process {
			open := func(_ context.Context, _ string, f func(Message)) (Bus, error) {
				receive = f
				return bus, nil
			}
			p, err := Join(t.Context(), id, identity, 0, open)
			require.NoError(t, err)
			return p
		}
		first := join("a", Identity{})
		require.NoError(t, first.WaitFor(t.Context(), 1, time.Hour, "goal", nil))
		first.Jump(7)
		time.Sleep(savedAfter)
		require.Zero(t, bus.note, "no checkpoint has it for sure")
		first.Jump(9)
		require.EqualValues(t, 9, first.Newest())
		time.Sleep(2 * noteEvery)
		require.EqualValues(t, 9, bus.note.Generation, "it was that of a note before this one")
		first.Jump(11)
		first.Close()
		time.Sleep(time.Minute)

		fresh := join("b", Identity{})
		defer fresh.Close()
		began := time.Now()
		var told []string
		err := fresh.WaitFor(t.Context(), 1, time.Hour, "goal", func(line string) {
			told = append(told, line)
			bus.note.Generation, bus.note.Time = 12, time.Now() // it goes on, but does not answer
		})
		require.Equal(t, []string{
			"waiting 30s for a host that has a state of this run, which was at generation 11 on host a 1m1s ago"}, told)
		var elsewhere *ElsewhereError
		require.ErrorAs(t, err, &elsewhere)
		require.Equal(t, ElsewhereError{"a", 12, elsewhereTime - tellAfter}, *elsewhere)
		require.Equal(t, elsewhereTime, time.Since(began))
		require.Equal(t, messaging.CodeNoServer, elsewhere.ErrorCode())
		require.ErrorContains(t, err, "this run was at generation 12 on host a 29s ago, and no host that is as far")
		require.ErrorContains(t, err, "continue it with --resume and the run folder of such a host")
		receive(Message{Kind: Beat, From: "a", Run: Identity{}.Digest(), Generation: 9})
		require.NoError(t, fresh.WaitFor(t.Context(), 1, time.Hour, "goal", nil), "it is back")
		other := join("c", Identity{"seed": "2"})
		defer other.Close()
		require.NoError(t, other.WaitFor(t.Context(), 1, time.Hour, "goal", nil))
	})
}

// lastBus keeps the states that are sent.
type lastBus struct {
	quietBus
	states []Message
}

func (b *lastBus) Send(m Message) int {
	if m.Kind == State {
		b.states = append(b.states, m)
	}
	return 0
}

// afterWorker's state is the generation after which it has the rounds.
type afterWorker struct{}

func (afterWorker) Compute([]int) ([][]byte, error) { return nil, nil }
func (afterWorker) State(_ context.Context, after int64) ([]byte, error) {
	return []byte{'a' + byte(after)}, nil
}

// A host that has just joined, which the one that leads has not heard of, gets the last state, too. It lacked the
// rounds that the others had.
func TestTheLastStateHasAllRounds(t *testing.T) {
	bus, identity := &lastBus{quietBus: quietBus{connected: true}}, Identity{}
	var receive func(Message)
	p, err := Join(t.Context(), "a", identity, 9, func(_ context.Context, _ string, f func(Message)) (Bus, error) {
		receive = f
		return bus, nil
	})
	require.NoError(t, err)
	defer p.Close()
	receive(Message{Kind: Beat, From: "b", Run: identity.Digest(), Generation: 5})
	p.host.whole.add(time.Millisecond)
	rows, state, err := p.Round(t.Context(), 4, 1, afterWorker{})
	require.NoError(t, err)
	require.Nil(t, rows)
	require.Nil(t, state)
	p.Led()
	require.NoError(t, p.Last(t.Context(), afterWorker{}))
	require.Len(t, bus.states, 1)
	require.Equal(t, "a", string(bus.states[0].Data), "the rounds after none")
	require.EqualValues(t, 10, bus.states[0].Generation)
	require.Empty(t, bus.states[0].To)
}
