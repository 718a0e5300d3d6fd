package bytecode

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// caught is the sentence of a refusal.
func caught(f func()) (text string) {
	defer func() {
		if r := recover(); r != nil {
			text = r.(refusal).Error()
		}
	}()
	f()
	return ""
}

// Numbers of one to nine bytes, as MLIR's document of the format has them.
func TestNumbers(t *testing.T) {
	for want, raw := range map[uint64][]byte{
		0: {0x01}, 5: {0x0B}, 127: {0xFF}, 128: {0x02, 0x02}, 16383: {0xFE, 0xFF}, 16384: {0x04, 0x00, 0x02},
		1 << 40: {0x20, 0x00, 0x00, 0x00, 0x00, 0x40}, 1 << 55: {0x80, 0, 0, 0, 0, 0, 0, 0x80},
		1<<64 - 1: {0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF},
	} {
		c := &cursor{"test", raw}
		require.Equal(t, want, c.number(), "%x", raw)
		require.Empty(t, c.data)
		for n := range raw {
			require.Contains(t, caught(func() { (&cursor{"test", raw[:n]}).number() }), "its test ends too early")
		}
	}
	for want, b := range map[int64]byte{0: 0x01, -1: 0x03, 1: 0x05, -2: 0x07} {
		require.Equal(t, want, (&cursor{"test", []byte{b}}).signed())
	}
}

// What a file refers to is bounded: axes of a type, elements of a list, types that refer to themselves.
func TestBounds(t *testing.T) {
	axes := append([]byte{tensorTypeCode<<1 | 1, 65<<1 | 1}, make([]byte, 65)...)
	m := &module{types: []entry{{"vhlo", true, axes}}}
	require.Equal(t, "it has a tensor of 65 axes, want at most 64", caught(func() { m.shape(0) }))
	m.types[0].data = []byte{complexType<<1 | 1, 0x01}
	require.Equal(t, "complex<complex<unknown>>", m.element(0, 0))
	// tensor<8192xi64> of one number, which stands for all.
	m.types = []entry{{"vhlo", true, []byte{tensorTypeCode<<1 | 1, 0x03, 0x04, 0x00, 0x02, 0x03}},
		{"vhlo", true, []byte{14<<1 | 1}}}
	m.attributes = []entry{{"vhlo", true, append([]byte{tensorAttribute<<1 | 1, 0x01, 8<<1 | 1}, make([]byte, 8)...)}}
	require.Equal(t, "it has a list tensor<8192xi64>, want at most 4096 numbers of i64 or i1",
		caught(func() { m.list(0) }))
}

// Truth values are packed, eight in a byte.
func TestUnpack(t *testing.T) {
	require.Equal(t, []byte{1, 0, 1, 0, 0, 0, 0, 0, 1, 1}, unpack([]byte{0b101, 0b11}, 10))
	require.Equal(t, []byte{1}, unpack([]byte{0xFF}, 10))
	require.Equal(t, []byte{0}, unpack([]byte{0}, 1))
	require.Equal(t, []byte{7, 7, 7}, unpack([]byte{7, 7, 7}, 10)) // its size is wrong, and the tensor refuses it
}
