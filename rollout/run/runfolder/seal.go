package runfolder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// A checkpoint's checksum is the CRC-32C of the whole file, in hexadecimal, where the checksum's own digits count as
// zeros. It stands in the metadata, in front of what it is the sum of, so that the file is gone through once: it is
// written with zeros, and the digits are put in at the end.
const (
	noChecksum = "00000000"
	// beforeChecksum is what precedes the digits in the header; in a string of the header its quotes have backslashes.
	beforeChecksum = `"` + keyChecksum + `":"`
)

// sealer passes a safetensors file on and sums it up.
type sealer struct {
	to   *sink
	sum  uint32
	head []byte // the file's begin, up to the end of the header
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

// headLength is how long a file's begin is, up to the end of its header, as far as that is known.
func headLength(begin []byte) int {
	if len(begin) < 8 {
		return 8
	}
	return 8 + int(binary.LittleEndian.Uint64(begin))
}

// seal puts the digits in.
func (s *sealer) seal() error {
	at := checksumPlace(s.head)
	if at < 0 {
		return errors.New("the header has no place for the checksum")
	}
	if s.to.err != nil {
		return nil // the sink tells
	}
	_, err := s.to.file.WriteAt(fmt.Appendf(nil, "%08x", s.sum), int64(at))
	return err
}

// checksumPlace is where the digits stand in a file's begin, or -1.
func checksumPlace(head []byte) int {
	if at := bytes.Index(head, []byte(beforeChecksum)); at >= 0 && at+len(beforeChecksum)+len(noChecksum) <= len(head) {
		return at + len(beforeChecksum)
	}
	return -1
}

// checkSeal sums a file of size bytes up again; the header is known to fit in it.
func checkSeal(file io.ReaderAt, size int64, want string) error {
	head := make([]byte, 8)
	if _, err := file.ReadAt(head, 0); err != nil {
		return err
	}
	head = append(head, make([]byte, headLength(head)-8)...)
	if _, err := file.ReadAt(head[8:], 8); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	at := checksumPlace(head)
	if at < 0 {
		return errors.New("it has no checksum")
	}
	copy(head[at:], noChecksum)
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
