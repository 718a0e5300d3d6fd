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
		require.Equal(t, m, again)
	})
}
