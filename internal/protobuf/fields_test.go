package protobuf

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// Fields come back as they were written. A message that is cut within a field is none.
func TestFields(t *testing.T) {
	var m Message
	m.Int(1, 300)
	m.Bytes(2, nil)
	whole := len(m)
	m.Float(3, 1)
	m.Text(2, "é")
	all, err := Fields(m)
	require.NoError(t, err)
	require.Equal(t, []Field{{1, protowire.VarintType, 300, []byte{0xac, 2}}, {2, protowire.BytesType, 0, []byte{}},
		{3, protowire.Fixed32Type, 0, []byte{0, 0, 0x80, 0x3f}}, {2, protowire.BytesType, 0, []byte("é")}}, all)
	for length := whole + 1; length < whole+5; length++ {
		_, err := Fields(m[:length])
		require.Error(t, err, length)
	}
	all, err = Fields(nil)
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = Fields([]byte{0xff})
	require.Error(t, err)
}
