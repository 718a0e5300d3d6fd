// Package cache keeps compiled programs in a folder, one file an entry, so that the next process
// loads in milliseconds what this one compiled in seconds; and beside them the plans that tuners measured.
//
// An entry is found by its content-addressed Key and is believed only after every byte of it was
// checked against the checksum in its header. Whatever is wrong with an entry makes it a miss with
// a reason, and the next Put repairs it. Files appear under their name by rename only, after their
// bytes are on disk, so that processes writing at the same time never see each other's halves.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Key is the content address of a program: the hash of all that the compiled bytes depend on.
type Key [sha256.Size]byte

// String is the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// ParseKey reads a key as String writes it.
func ParseKey(text string) (Key, error) {
	var k Key
	bytes, err := hex.DecodeString(text)
	if err != nil || len(bytes) != len(k) {
		return Key{}, fmt.Errorf("cache key %q: wanted %d hexadecimal digits", text, 2*len(k))
	}
	return Key(bytes), nil
}

// NewKey hashes the parts, each with its length, so that moving a byte from one part to the next
// gives another key. The version of the entry format is part of it.
func NewKey(parts ...[]byte) Key {
	h := sha256.New()
	writePart(h, fmt.Appendf(nil, "xlarun program cache %d", formatVersion))
	for _, part := range parts {
		writePart(h, part)
	}
	return Key(h.Sum(nil))
}

func writePart(h hash.Hash, part []byte) {
	fmt.Fprintf(h, "%d:", len(part))
	h.Write(part)
}

// Metadata describes an entry to people; no decision hangs on it.
type Metadata struct {
	// Name is the program's, or a plan in words.
	Name string `json:"name"`
	// Purpose is what the program was compiled for, such as an experiment; empty where nobody said.
	Purpose string `json:"purpose,omitempty"`
	// Created is when the entry was written, UTC.
	Created time.Time `json:"created"`
	// CompileSeconds is what the entry saves: the time of compiling, or of measuring plans.
	CompileSeconds float64 `json:"compile_seconds"`
	// Plugin is the fingerprint of the plugin that compiled it, or that a plan was measured with.
	Plugin string `json:"plugin"`
	// Platform is the plugin's name of its platform, "cpu" or "cuda".
	Platform string `json:"platform"`
}

// Cache is a folder of compiled programs, or of plans. Its methods may be called from many goroutines
// and, on the same folder, from many processes.
type Cache struct{ dir, suffix string }

// New is the cache of programs in the folder, which the first Put makes.
func New(dir string) *Cache { return &Cache{dir, programSuffix} }

// Plans is the cache of plans that stands beside a cache of programs: in the folder "plans" next to it.
func (c *Cache) Plans() *Cache {
	return &Cache{filepath.Join(filepath.Dir(c.dir), "plans"), planSuffix}
}

// Dir is the cache's folder.
func (c *Cache) Dir() string { return c.dir }

const (
	programSuffix = ".xlaprogram"
	planSuffix    = ".xlaplan"
	tmpPrefix     = ".tmp-"
	// usedInterval keeps a hit from writing to the disk each time.
	usedInterval = time.Minute
	// tmpAge is when a temporary file can only be the leftover of a process that died.
	tmpAge = time.Hour
)

func (c *Cache) path(key Key) string { return filepath.Join(c.dir, key.String()+c.suffix) }

// ErrAbsent is the miss of a program that was never stored.
var ErrAbsent = errors.New("not in the cache yet")

// Get returns the compiled bytes under the key. Any error is a miss and says why; ErrAbsent is
// the ordinary one. The entry counts as used now.
func (c *Cache) Get(key Key) ([]byte, Metadata, error) {
	path := c.path(key)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Metadata{}, ErrAbsent
	}
	if err != nil {
		return nil, Metadata{}, fmt.Errorf("entry cannot be read: %w", err)
	}
	e, err := decode(data)
	if err != nil {
		return nil, Metadata{}, err
	}
	if e.key != key {
		return nil, Metadata{}, fmt.Errorf("entry is damaged: it is filed under a key that is not its own (%.12s)", e.key)
	}
	touch(path)
	return e.payload, e.meta, nil
}

// touch makes the file's modification time the time of its last use. A folder that cannot be
// written to serves hits all the same.
func touch(path string) {
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > usedInterval {
		_ = os.Chtimes(path, now, now)
	}
}

// Put stores the compiled bytes under the key, over whatever was there.
func (c *Cache) Put(key Key, meta Metadata, payload []byte) error {
	data, err := encode(entry{key: key, meta: meta, payload: payload})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(c.dir, tmpPrefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		// Without it a crash after the rename may leave a whole name on half a file.
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(f.Name(), c.path(key))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return err
	}
	return syncDir(c.dir)
}

// syncDir makes a rename in the folder last through a crash.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Remove takes the entry away; one that is not there is no error.
func (c *Cache) Remove(key Key) error {
	err := os.Remove(c.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
