package runfolder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A checkpoint's checksum is the CRC-32C of the whole file, in hexadecimal, with zeros for the checksum's own digits.
// It is part of the metadata, before the arrays. The file is written once, with zeros there; at the end, the digits
// replace them.
const (
	noChecksum = "00000000"
	// beforeChecksum precedes the digits in the header. It cannot be part of a value: quotes in values have
	// backslashes.
	beforeChecksum = `"` + keyChecksum + `":"`
)

// sealer passes a safetensors file on and computes its checksum.
type sealer struct {
	to   *sink
	sum  uint32
	head []byte // the start of the file, up to the end of the header
}

// Write implements io.Writer.
func (s *sealer) Write(p []byte) (int, error) {
	s.sum = crc32.Update(s.sum, castagnoli, p)
	for rest := p; len(rest) > 0 && len(s.head) < headLength(s.head); {
		n := min(headLength(s.head)-len(s.head), len(rest))
		s.head, rest = append(s.head, rest[:n]...), rest[n:]
	}
	return s.to.Write(p)
}

// headLength returns the length of a file's start up to the end of its header, or 8 if its length is not known yet.
func headLength(begin []byte) int {
	if len(begin) < 8 {
		return 8
	}
	return 8 + int(binary.LittleEndian.Uint64(begin))
}

// seal writes the digits.
func (s *sealer) seal() error {
	place := checksumPlace(s.head)
	if place < 0 {
		return errors.New("the header has no place for the checksum")
	}
	if s.to.err != nil {
		return nil // sink.fill returns it
	}
	_, err := s.to.file.WriteAt(fmt.Appendf(nil, "%08x", s.sum), int64(place))
	return err
}

// checksumPlace returns the offset of the digits in a file's start, or -1.
func checksumPlace(head []byte) int {
	if i := bytes.Index(head, []byte(beforeChecksum)); i >= 0 && i+len(beforeChecksum)+len(noChecksum) <= len(head) {
		return i + len(beforeChecksum)
	}
	return -1
}

// checkSeal computes the checksum of a file of size bytes again. The header is known to fit into the file.
func checkSeal(file io.ReaderAt, size int64, want string) error {
	head := make([]byte, 8)
	if _, err := file.ReadAt(head, 0); err != nil {
		return err
	}
	head = append(head, make([]byte, headLength(head)-8)...)
	if _, err := file.ReadAt(head[8:], 8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	place := checksumPlace(head)
	if place < 0 {
		return errors.New("it has no checksum")
	}
	copy(head[place:], noChecksum)
	sum := crc32.New(castagnoli)
	sum.Write(head)
	rest := size - int64(len(head))
	if _, err := io.CopyBuffer(sum, io.NewSectionReader(file, int64(len(head)), rest),
		make([]byte, max(1, min(rest, 1<<20)))); err != nil {
		return err
	}
	if got := fmt.Sprintf("%08x", sum.Sum32()); got != want {
		return fmt.Errorf("its checksum is %s, the file says %s", got, want)
	}
	return nil
}
