// Package cache stores compiled programs in a folder, one file for each, so that later processes load them in
// milliseconds. It also stores the plans that tuners measured.
//
// An entry has a content-addressed Key and is used only after all its bytes were checked against the checksum in its
// header. An entry with any defect is a miss with a reason, and the next Put repairs it. A file gets its name by a
// rename after its bytes are on disk, so processes never read files that others are still writing.
//
// Entries are code that will run. In a shared folder, a user gets only their own entries and root's, and only if others
// cannot write to the file. The entries of other users are misses without damage, and are not pruned.
package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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

// Key is the content address of a program: a hash of everything that the compiled bytes depend on.
type Key [sha256.Size]byte

// String returns the key in hexadecimal.
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

// NewKey hashes the version of the entry format and the parts. Each part is hashed with its length, so moving a byte
// from one part to the next gives another key.
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

// Metadata describes an entry, mostly for users.
type Metadata struct {
	// Name is the name of the program, or a description of the plan.
	Name string `json:"name"`
	// Purpose describes the use of the program, such as an experiment. It may be empty.
	Purpose string `json:"purpose,omitempty"`
	// Created is the time when the entry was written, in UTC.
	Created time.Time `json:"created"`
	// CompileSeconds is the time of compiling, or of measuring plans, which the entry saves.
	CompileSeconds float64 `json:"compile_seconds"`
	// Plugin is the fingerprint of the plugin that compiled the program or ran the measurements of a plan.
	Plugin string `json:"plugin"`
	// Platform is the plugin's name of its platform, "cpu" or "cuda". The kind of the device follows it in a line of
	// its own, if it is not a CPU's.
	Platform string `json:"platform"`
	// Program identifies the program's text and options, without the plugin and the device. It may be empty.
	Program string `json:"program,omitempty"`
	// Memory is what the compiler said of the program's memory. Empty: the plugin has to be asked.
	Memory json.RawMessage `json:"memory,omitempty"`
	// Ahead is not empty for a program that was compiled without its device: what the compiler said about it.
	Ahead json.RawMessage `json:"ahead,omitempty"`
}

// AcceleratorPlatform is Metadata.Platform for an accelerator of a kind.
func AcceleratorPlatform(platform, kind string) string { return platform + "\n" + kind }

// Device returns the kind of the device that the entry is for, as its driver names it; "" for a CPU.
func (m Metadata) Device() string {
	platform, kind, _ := strings.Cut(m.Platform, "\n")
	if platform == "cpu" {
		return ""
	}
	return kind
}

// Cache is a folder of compiled programs or of plans. Many goroutines and processes may use the same folder.
type Cache struct {
	dir, suffix string
	limit       int64 // largest size of this cache and its plans together after a Put, in bytes; 0 means none
}

// New returns the cache of programs in a folder. The first Put makes the folder.
func New(dir string) *Cache { return &Cache{dir: dir, suffix: programSuffix} }

// Limited returns the cache with a limit in bytes; 0 means none. Each Put removes the least recently used programs and
// plans until the rest fits. The new entry stays.
func (c *Cache) Limited(limit int64) *Cache { return &Cache{c.dir, c.suffix, limit} }

// Plans returns the cache of plans that belongs to a cache of programs, in the folder "plans" beside it.
func (c *Cache) Plans() *Cache {
	return &Cache{dir: filepath.Join(filepath.Dir(c.dir), "plans"), suffix: planSuffix}
}

// Dir returns the cache's folder.
func (c *Cache) Dir() string { return c.dir }

// How a program came from a cache, in the line of a report.
const (
	Hit  = "hit"  // loaded from the cache
	Miss = "miss" // compiled, and stored unless a reason says why not
	Off  = "off"  // compiled; there is no cache
)

// DefaultLimit is the default limit of a cache of programs and its plans, in bytes.
const DefaultLimit = 2_000_000_000

const (
	programSuffix = ".xlaprogram"
	planSuffix    = ".xlaplan"
	tmpPrefix     = ".tmp-"
	// usedInterval is the precision of the time of last use. It limits the writes to disk.
	usedInterval = time.Minute
	// tmpAge is the age from which an unlocked temporary file must be of a killed process.
	tmpAge = time.Minute
)

func (c *Cache) path(key Key) string { return filepath.Join(c.dir, key.String()+c.suffix) }

// ErrAbsent is the error of Get for a program that was never stored.
var ErrAbsent = errors.New("not in the cache yet")

// Get returns the compiled bytes under the key, and updates the entry's time of last use. Any error is a miss with a
// reason, usually ErrAbsent.
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

// touch sets the file's modification time, which is the time of its last use. It ignores errors: a read-only folder
// still has hits.
func touch(path string) {
	now := time.Now()
	if info, err := os.Stat(path); err == nil && now.Sub(info.ModTime()) > usedInterval {
		_ = os.Chtimes(path, now, now)
	}
}

// Put stores the compiled bytes under the key, replaces an old entry, and keeps the cache within its limit.
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
		// Errors are ignored here. Prune reports them.
		_, _ = prune(c.limit, c.path(key), c, c.Plans())
	}
	return nil
}

// write writes the file path. A failure leaves the old file.
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
	lockFile(f) // until it is closed, so that sweep of another process leaves the file
	if _, err = f.Write(data); err != nil {
		return err
	}
	// Without Sync, a crash after the rename may leave half a file under the final name.
	if err = f.Sync(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil && isFolder(path) {
		// A folder with the name of an entry is removed.
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

// createTemp makes a new file in the folder. Other users may read it, because they may use a folder of root.
func createTemp(dir string) (*os.File, error) {
	for {
		name := filepath.Join(dir, fmt.Sprintf("%s%016x", tmpPrefix, rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// sweep removes the temporary files of killed processes.
func (c *Cache) sweep() {
	files, _ := os.ReadDir(c.dir)
	for _, file := range files {
		if !strings.HasPrefix(file.Name(), tmpPrefix) || !file.Type().IsRegular() {
			continue
		}
		// Its process locks a file as soon as it exists, so an older unlocked file is of a killed process.
		if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > tmpAge {
			removeUnlocked(filepath.Join(c.dir, file.Name()))
		}
	}
}

// isFolder reports whether the path is a folder, not a link to one.
func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// syncDir makes a rename in the folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Remove deletes an entry. A missing entry is no error.
func (c *Cache) Remove(key Key) error {
	return remove(c.path(key))
}

// remove deletes a file, or a folder in its place.
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
