// Package riegeli reads the files of records in which plugins serialize programs
// (riegeli/doc/riegeli_records_file_format.md of Google's Riegeli). Checksums of its own are not compared.
package riegeli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/golang/snappy"
	"google.golang.org/protobuf/encoding/protowire"
)

// magic begins a file: the header of the first block.
var magic = []byte{0x83, 0xaf, 'p', 0xd1, '\r', 0x88, 'J', '?'}

const (
	blockSize   = 1 << 16
	blockHeader = 24
	chunkHeader = 40
	// mostDecoded is the most bytes of a chunk. A plugin's chunks have at most some megabytes.
	mostDecoded = 1 << 31
)

// Is reports whether bytes begin as a file of records.
func Is(file []byte) bool { return bytes.HasPrefix(file, magic) }

// Records returns the records of a file. Where a record holds a file of its own, that file's records follow.
func Records(file []byte) ([][]byte, error) {
	if !Is(file) {
		return nil, errors.New("it is no file of records")
	}
	var stream []byte // the file without the headers of its blocks
	for at := 0; at < len(file); at += blockSize {
		block := file[at:min(at+blockSize, len(file))]
		if len(block) < blockHeader {
			return nil, errors.New("it ends within the header of a block")
		}
		stream = append(stream, block[blockHeader:]...)
	}
	var all [][]byte
	for len(stream) > 0 {
		if len(stream) < chunkHeader {
			return all, errors.New("it ends within the header of a chunk")
		}
		size := binary.LittleEndian.Uint64(stream[8:])
		kind := stream[24]
		count := binary.LittleEndian.Uint64(stream[24:]) >> 8
		stream = stream[chunkHeader:]
		if size > uint64(len(stream)) {
			return all, errors.New("it ends within a chunk")
		}
		if kind == 'r' {
			records, err := simple(stream[:size], count)
			if err != nil {
				return all, err
			}
			for _, r := range records {
				all = append(all, r)
				// The end of a file within a record is not known: other bytes follow it. So an error after its
				// first record is no error of it.
				if inner := bytes.Index(r, magic); inner >= 0 {
					more, err := Records(r[inner:])
					if err != nil && len(more) == 0 {
						return all, err
					}
					all = append(all, more...)
				}
			}
		}
		stream = stream[size:]
	}
	return all, nil
}

// simple returns the records of a chunk of simple records: their sizes, then their bytes.
func simple(chunk []byte, count uint64) ([][]byte, error) {
	if len(chunk) == 0 {
		return nil, errors.New("a chunk is empty")
	}
	packed := chunk[0]
	size, n := protowire.ConsumeVarint(chunk[1:])
	if n < 0 || size > uint64(len(chunk)-1-n) {
		return nil, errors.New("a chunk ends within its sizes")
	}
	chunk = chunk[1+n:]
	sizes, err := unpack(packed, chunk[:size])
	if err != nil {
		return nil, err
	}
	values, err := unpack(packed, chunk[size:])
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for range count {
		length, n := protowire.ConsumeVarint(sizes)
		if n < 0 || length > uint64(len(values)) {
			return nil, errors.New("a record is longer than its chunk")
		}
		all = append(all, values[:length])
		sizes, values = sizes[n:], values[length:]
	}
	return all, nil
}

// unpack returns the bytes of a buffer, whose size stands in front of it if it is compressed.
func unpack(packed byte, buffer []byte) ([]byte, error) {
	if packed == 0 {
		return buffer, nil
	}
	if packed != 's' {
		return nil, fmt.Errorf("a chunk is compressed in a way that is not known here (%q)", packed)
	}
	size, n := protowire.ConsumeVarint(buffer)
	if n < 0 || size > mostDecoded {
		return nil, errors.New("a chunk has no size")
	}
	if got, err := snappy.DecodedLen(buffer[n:]); err != nil || uint64(got) != size {
		return nil, errors.New("a chunk is not as long as it says")
	}
	out, err := snappy.Decode(nil, buffer[n:])
	if err != nil {
		return nil, fmt.Errorf("a chunk cannot be unpacked: %w", err)
	}
	return out, nil
}
