package xlabridge_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"github.com/golang/snappy"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/xlabridge/internal/riegeli"
)

// Sizes of the file format.
const blockSize, blockHeader, chunkHeader = 1 << 16, 24, 40

// recordsFile writes records as a file with one chunk, packed as kind says: 's' or 0. Checksums are zeros.
func recordsFile(kind byte, records ...[]byte) []byte {
	pack := func(b []byte) []byte {
		if kind == 0 {
			return b
		}
		return append(protowire.AppendVarint(nil, uint64(len(b))), snappy.Encode(nil, b)...)
	}
	var sizes []byte
	for _, r := range records {
		sizes = protowire.AppendVarint(sizes, uint64(len(r)))
	}
	sizes = pack(sizes)
	chunk := protowire.AppendVarint([]byte{kind}, uint64(len(sizes)))
	chunk = slices.Concat(chunk, sizes, pack(slices.Concat(records...)))
	header := func(kind byte, size, count int) []byte {
		h := make([]byte, chunkHeader)
		binary.LittleEndian.PutUint64(h[8:], uint64(size))
		binary.LittleEndian.PutUint64(h[24:], uint64(count)<<8|uint64(kind))
		return h
	}
	stream := slices.Concat(header('s', 0, 0), header('r', len(chunk), len(records)), chunk)
	var out []byte
	for at := 0; at < len(stream); at += blockSize - blockHeader {
		block := make([]byte, blockHeader)
		if at == 0 {
			copy(block, "\x83\xafp\xd1\r\x88J?")
		}
		out = slices.Concat(out, block, stream[at:min(at+blockSize-blockHeader, len(stream))])
	}
	return out
}

// Records are read through the headers of blocks, packed and plain, and in files within records.
func TestRiegeliRecords(t *testing.T) {
	long := bytes.Repeat([]byte("abcdefg"), 30000)
	for _, kind := range []byte{0, 's'} {
		inner := recordsFile(kind, []byte("inside"), nil)
		first, outer := []byte("first"), append([]byte("head "), inner...)
		got, err := riegeli.Records(recordsFile(kind, first, long, outer))
		require.NoError(t, err)
		require.Len(t, got, 5)
		require.Equal(t, [][]byte{first, long, outer}, got[:3])
		require.Equal(t, "inside", string(got[3]))
		require.Empty(t, got[4])
	}
}

// What is not whole is an error, wherever it ends.
func TestRiegeliBrokenRecords(t *testing.T) {
	whole := recordsFile('s', bytes.Repeat([]byte("xyz"), 100), []byte("end"))
	for n := range len(whole) {
		if n == blockHeader || n == blockHeader+chunkHeader { // a file without chunks, or with the first one alone
			continue
		}
		_, err := riegeli.Records(whole[:n])
		require.Error(t, err, "%d of %d bytes", n, len(whole))
	}
	for at := blockHeader + chunkHeader + 8; at < len(whole); at++ { // no change makes it crash
		broken := slices.Clone(whole)
		broken[at] ^= 0xff
		_, _ = riegeli.Records(broken)
	}
	_, err := riegeli.Records(nil)
	require.EqualError(t, err, "it is no file of records")
	_, err = riegeli.Records(recordsFile('b', []byte("x")))
	require.ErrorContains(t, err, "compressed in a way that is not known here")
}
