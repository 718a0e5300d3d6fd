// Package cache keeps compiled programs in a folder, one file an entry, so that the next process
// loads in milliseconds what this one compiled in seconds; and beside them the plans that tuners measured.
//
// An entry is found by its content-addressed Key and is believed only after every byte of it was
// checked against the checksum in its header. Whatever is wrong with an entry makes it a miss with
// a reason, and the next Put repairs it. Files appear under their name by rename only, after their
// bytes are on disk, so that processes writing at the same time never see each other's halves.
//
// Entries are code that will run. In a folder that several users share, each is served what they put
// there themselves, and what root did, unless others can write to the file; the entries of other users
// are no use and no damage, and are not pruned.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
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
type Cache struct {
	dir, suffix string
	limit       int64 // bytes that a Put leaves, of this cache and its plans together; 0: any
}

// New is the cache of programs in the folder, which the first Put makes.
func New(dir string) *Cache { return &Cache{dir: dir, suffix: programSuffix} }

// Limited is the cache, where each Put removes what was used longest ago, of programs and plans
// together, until at most limit bytes are left; 0 is without limit. What was just put stays.
func (c *Cache) Limited(limit int64) *Cache { return &Cache{c.dir, c.suffix, limit} }

// Plans is the cache of plans that stands beside a cache of programs: in the folder "plans" next to it.
func (c *Cache) Plans() *Cache {
	return &Cache{dir: filepath.Join(filepath.Dir(c.dir), "plans"), suffix: planSuffix}
}

// Dir is the cache's folder.
func (c *Cache) Dir() string { return c.dir }

// DefaultLimit is what a cache of programs and its plans may take where nobody says otherwise, in bytes.
const DefaultLimit = 2_000_000_000

const (
	programSuffix = ".xlaprogram"
	planSuffix    = ".xlaplan"
	tmpPrefix     = ".tmp-"
	// usedInterval keeps a hit from writing to the disk each time.
	usedInterval = time.Minute
	// tmpAge is how old a temporary file is that nobody has locked for certain: what a process that died left.
	tmpAge = time.Minute
)

func (c *Cache) path(key Key) string { return filepath.Join(c.dir, key.String()+c.suffix) }

// ErrAbsent is the miss of a program that was never stored.
var ErrAbsent = errors.New("not in the cache yet")

// Get returns the compiled bytes under the key. Any error is a miss and says why; ErrAbsent is
// the ordinary one. The entry counts as used now.
func (c *Cache) Get(key Key) ([]byte, Metadata, error) {
	path := c.path(key)
	data, err := readEntry(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, Metadata{}, ErrAbsent
	}
	if err != nil {
		return nil, Metadata{}, err
	}
	e, err := decode(data)
	if err != nil {
		return nil, Metadata{}, err
	}
	if e.key != key {
		return nil, Metadata{}, fmt.Errorf("entry is damaged: it is filed under a key that is not its own (%.12s)",
			e.key)
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

// Put stores the compiled bytes under the key, over whatever was there, and keeps the cache within its
// limit.
func (c *Cache) Put(key Key, meta Metadata, payload []byte) error {
	data, err := encode(entry{key: key, meta: meta, payload: payload})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir, 0o755); err != nil {
		return err
	}
	c.sweep()
	if err := c.write(c.path(key), data); err != nil {
		return err
	}
	if c.limit > 0 {
		// What cannot be removed is said by whoever prunes by hand.
		_, _ = prune(c.limit, c.path(key), c, c.Plans())
	}
	return nil
}

// write makes the file path of the bytes, whole or not at all.
func (c *Cache) write(path string, data []byte) (err error) {
	f, err := createTemp(c.dir)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	lockFile(f) // until it is closed: the file is somebody's
	if _, err = f.Write(data); err != nil {
		return err
	}
	// Without it a crash after the rename may leave a whole name on half a file.
	if err = f.Sync(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil && isFolder(path) {
		// The name is the cache's own: whatever the folder is, it is no entry.
		if err = os.RemoveAll(path); err == nil {
			err = os.Rename(f.Name(), path)
		}
	}
	if err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return syncDir(c.dir)
}

// createTemp makes a new file in the folder, as readable as the user lets files be: others may be served from a folder
// that is root's.
func createTemp(dir string) (*os.File, error) {
	for {
		name := filepath.Join(dir, fmt.Sprintf("%s%016x", tmpPrefix, rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// sweep removes the temporary files of processes that died.
func (c *Cache) sweep() {
	files, _ := os.ReadDir(c.dir)
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), tmpPrefix) || !file.Type().IsRegular() {
			continue
		}
		// A file that is older and that nobody has locked is nobody's: its maker locks it as soon as it is there.
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > tmpAge {
			removeUnlocked(filepath.Join(c.dir, file.Name()))
		}
	}
}

// isFolder tells whether the path is a folder, and no link to one.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
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
	return remove(c.path(key))
}

// remove takes the file away, or the folder that lies in its place.
func remove(path string) error {
	err := os.Remove(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil && isFolder(path):
		return os.RemoveAll(path)
	}
	return err
}
