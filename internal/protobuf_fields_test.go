package internal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
)

// Fields come back as they were written. A message that is cut within a field is none.
func TestFields(t *testing.T) {
	var m protobuf.Message
	m.Int(1, 300)
	m.Bytes(2, nil)
	whole := len(m)
	m.Float(3, 1)
	m.Text(2, "é")
	all, err := protobuf.Fields(m)
	require.NoError(t, err)
	require.Equal(t, []protobuf.Field{
		{Number: 1, Kind: protowire.VarintType, Value: 300, Bytes: []byte{0xac, 2}},
		{Number: 2, Kind: protowire.BytesType, Bytes: []byte{}},
		{Number: 3, Kind: protowire.Fixed32Type, Bytes: []byte{0, 0, 0x80, 0x3f}},
		{Number: 2, Kind: protowire.BytesType, Bytes: []byte("é")},
	}, all)
	for length := whole + 1; length < whole+5; length++ {
		_, err := protobuf.Fields(m[:length])
		require.Error(t, err, length)
	}
	all, err = protobuf.Fields(nil)
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = protobuf.Fields([]byte{0xff})
	require.Error(t, err)
}
