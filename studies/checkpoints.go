package studies

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// checkpoints are files of the coordinator: the newest state of each open trial, and the states at the ends of trials
// of population-based training. A file that is lost or damaged costs time only. A file is the digest of the rest of it,
// and the rest. It is sent in parts.
type checkpoints struct{ dir string }

// partSize in bytes is that of a part: beats come through within a second over a link of 100 KB/s.
const partSize = 64 << 10

// withDigest returns a file with data.
func withDigest(data []byte) []byte {
	sum := sha256.Sum256(data)
	return append(sum[:], data...)
}

// errDamaged is the error of a file that is not what was sent.
var errDamaged = errors.New("it is damaged")

// withoutDigest returns the data of a file.
func withoutDigest(file []byte) ([]byte, error) {
	if err := verify(bytes.NewReader(file)); err != nil {
		return nil, err
	}
	return file[sha256.Size:], nil
}

// trialFile and endFile are the names of the files of a trial: of its ID while it is open, and of its number.
func trialFile(id int64) string   { return strconv.FormatInt(id, 10) }
func endFile(number int64) string { return fmt.Sprintf("end-%d", number) }

func (c checkpoints) path(name string) string { return filepath.Join(c.dir, filepath.Base(name)) }

// has reports whether there is a file.
func (c checkpoints) has(name string) bool {
	_, err := os.Stat(c.path(name))
	return err == nil
}

// part is a part of a file on its way.
type part struct {
	Number int
	Of     int // number of parts
	Digest []byte
	Data   []byte
}

// keep stores a part. With the last one the file takes the place of the former one, if all parts are there. Parts of
// several files of a name may come at the same time. A part of the file that is there changes nothing.
func (c checkpoints) keep(name string, p part) error {
	if c.holds(name, p.Digest) {
		return nil
	}
	partial := c.path(name) + "." + hex.EncodeToString(p.Digest)
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(partial, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(p.Data, int64(p.Number)*partSize)
	last := p.Number == p.Of-1
	if last && err == nil {
		err = verify(f)
	}
	if err = errors.Join(err, f.Close()); err == nil && last {
		err = os.Rename(partial, c.path(name))
	}
	if err != nil {
		_ = os.Remove(partial)
		if c.holds(name, p.Digest) { // the last part came twice at a time
			return nil
		}
	}
	return err
}

// holds reports whether there is a whole file whose digest begins with these bytes.
func (c checkpoints) holds(name string, digest []byte) bool {
	f, err := os.Open(c.path(name))
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	first := make([]byte, len(digest))
	_, err = f.ReadAt(first, 0)
	return err == nil && bytes.Equal(first, digest) && verify(f) == nil
}

// verify compares a file with its digest.
func verify(f io.ReaderAt) error {
	want, sum := make([]byte, sha256.Size), sha256.New()
	if _, err := f.ReadAt(want, 0); err != nil {
		return errDamaged
	}
	if _, err := io.Copy(sum, io.NewSectionReader(f, sha256.Size, 1<<62)); err != nil {
		return err
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return errDamaged
	}
	return nil
}

// fetch reads a part of a file. Of is 0 if there is none.
func (c checkpoints) fetch(name string, number int) (p part, err error) {
	f, err := os.Open(c.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err != nil {
		return p, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return p, err
	}
	p = part{Number: number, Of: int((info.Size() + partSize - 1) / partSize), Data: make([]byte, partSize)}
	n, err := f.ReadAt(p.Data, int64(number)*partSize)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	p.Data = p.Data[:n]
	return p, err
}

// remove removes a file, and what has come of one.
func (c checkpoints) remove(name string) {
	partial, _ := filepath.Glob(c.path(name) + ".*")
	for _, path := range append(partial, c.path(name)) {
		_ = os.Remove(path) // it only takes room
	}
}
