package cache

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzDecode looks for entries that decode panics on, and for ones that it takes although they are damaged.
func FuzzDecode(f *testing.F) {
	whole, err := encode(entry{key: NewKey([]byte("a")), meta: Metadata{Name: "program"}, payload: []byte("payload")})
	require.NoError(f, err)
	f.Add(whole)
	f.Add(whole[:headerSize])
	f.Fuzz(func(t *testing.T, file []byte) {
		e, err := decode(file)
		if err != nil {
			return
		}
		again, err := encode(e)
		require.NoError(t, err)
		other, err := decode(again)
		require.NoError(t, err)
		require.Equal(t, e, other)
	})
}
