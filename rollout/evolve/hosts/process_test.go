package hosts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// quietBus loses all messages.
type quietBus struct{ connected bool }

func (*quietBus) Send(Message) int  { return 0 }
func (*quietBus) Largest() int      { return 1000 }
func (b *quietBus) Connected() bool { return b.connected }
func (*quietBus) Close()            {}

// 28.348: hosts counted as alive while their server was out.
func TestHostsWithoutTheirServer(t *testing.T) {
	bus := &quietBus{connected: true}
	var receive func(Message)
	identity := Identity{}
	p, err := Join("a", identity, 0, func(_ string, f func(Message)) (Bus, error) {
		receive = f
		return bus, nil
	})
	require.NoError(t, err)
	defer p.Close()
	receive(Message{Kind: Beat, From: "b", Run: identity.Digest()})
	require.Equal(t, []string{"a", "b"}, p.Hosts())
	bus.connected = false
	require.Equal(t, []string{"a"}, p.Hosts())
	bus.connected = true
	require.Equal(t, []string{"a", "b"}, p.Hosts(), "it was heard a moment ago")
}
