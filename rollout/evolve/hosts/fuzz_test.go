package hosts

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode looks for messages that Decode panics on. A message that it takes is the same after another round.
func FuzzDecode(f *testing.F) {
	f.Add(Message{Kind: Leave, From: "a", Data: []byte("data")}.Encode())
	f.Add([]byte{0})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		again, err := Decode(m.Encode())
		require.NoError(t, err)
		require.Equal(t, m.Encode(), again.Encode())
	})
}

// FuzzReceive looks for messages of the same run that a host panics on.
func FuzzReceive(f *testing.F) {
	for _, kind := range []Kind{Hello, Beat, Rows, RowsRequest, State, Leave} {
		f.Add(Message{Kind: kind, From: "b", Generation: 1, Chunks: []int{0}, Fragments: 1,
			Data: []byte("data")}.Encode())
	}
	identity := Identity{"seed": "1"}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		h := New("a", identity, 0)
		h.Resize(3)
		m.Run = identity.Digest()
		_, _ = h.Receive(0, m)
		_ = h.Next(0, 2)
	})
}
