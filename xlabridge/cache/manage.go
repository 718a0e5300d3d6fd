package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Entry describes a file of the cache for List and Verify.
type Entry struct {
	// Key is the name of the entry in hexadecimal, 64 digits.
	Key string `json:"key"`
	// File is the path of the entry.
	File string `json:"file"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// LastUsed is the time of the last Put or Get, to the minute.
	LastUsed time.Time `json:"last_used"`
	// Meta is the entry's metadata, or the zero value if Defect is set.
	Meta Metadata `json:"metadata"`
	// Defect says why the entry cannot be used; "" means that it can.
	Defect string `json:"defect,omitempty"`
	// Foreign reports that another user made the entry. It is not used and was not read.
	Foreign bool `json:"foreign,omitempty"`
}

// Age is the time since the entry was stored.
func (e Entry) Age() time.Duration { return time.Since(e.Meta.Created) }

// List returns the cache's entries, the most recently used first. It reads only headers and metadata, so it does not
// find damage in programs; Verify does. A missing folder is empty.
func (c *Cache) List() ([]Entry, error) { return c.list(readHead) }

// Verify is List that reads all bytes of the entries. It repairs nothing: the next use of a program does that.
func (c *Cache) Verify() ([]Entry, error) {
	return c.list(func(path string) (entry, error) {
		data, err := readEntry(path)
		if err != nil {
			return entry{}, err
		}
		return decode(data)
	})
}

// list reads each entry with read.
func (c *Cache) list(read func(path string) (entry, error)) ([]Entry, error) {
	files, err := c.files()
	if err != nil {
		return nil, err
	}
	entries := []Entry{}
	for _, file := range files {
		if strings.HasPrefix(file.Name(), tmpPrefix) {
			continue
		}
		info, err := file.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed by another process since the folder was read
		}
		if err != nil {
			return nil, err
		}
		shown := Entry{Key: strings.TrimSuffix(file.Name(), c.suffix), File: filepath.Join(c.dir, file.Name()),
			Bytes: info.Size(), LastUsed: info.ModTime()}
		found, err := read(shown.File)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case errors.As(err, new(foreign)):
			shown.Foreign = true
		case err != nil:
			shown.Defect = err.Error()
		case found.key.String() != shown.Key:
			shown.Defect = fmt.Sprintf("entry is damaged: it is filed under a key that is not its own (%.12s)",
				found.key)
		default:
			shown.Meta = found.meta
		}
		entries = append(entries, shown)
	}
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].LastUsed.After(entries[j].LastUsed) })
	return entries, nil
}

// files returns the entries and temporary files in the folder, and folders with the name of an entry. It skips other
// files.
func (c *Cache) files() ([]fs.DirEntry, error) {
	all, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cache folder %s cannot be read: %w", c.dir, err)
	}
	var own []fs.DirEntry
	for _, file := range all {
		name, isEntry := strings.CutSuffix(file.Name(), c.suffix)
		_, err := ParseKey(name)
		switch {
		case file.Type().IsRegular() && (isEntry || strings.HasPrefix(name, tmpPrefix)), isEntry && err == nil:
			own = append(own, file)
		}
	}
	return own, nil
}

// Clear removes all entries and returns their number and their bytes.
func (c *Cache) Clear() (entries int, bytes int64, err error) { return c.Prune(-1) }

// ClearDamaged removes the entries that Verify finds damaged, and returns their number and their bytes.
func (c *Cache) ClearDamaged() (removed Removed, err error) {
	entries, err := c.Verify()
	for _, e := range entries {
		if e.Defect == "" {
			continue
		}
		if err := remove(e.File); err != nil {
			return removed, fmt.Errorf("cache entry cannot be removed: %w", err)
		}
		removed.Entries++
		removed.Bytes += e.Bytes
	}
	return removed, err
}

// Prune is the function Prune for one cache. It returns the number of removed entries and their bytes.
func (c *Cache) Prune(limit int64) (entries int, bytes int64, err error) {
	removed, err := Prune(limit, c)
	return removed[0].Entries, removed[0].Bytes, err
}

// Removed counts the entries that Prune removed from a cache.
type Removed struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Prune removes the least recently used entries of several caches until they hold at most limit bytes together. It also
// removes the temporary files of killed processes. With an error too, it returns what it removed so far. The entries of
// other users do not count and stay, except if root prunes.
func Prune(limit int64, caches ...*Cache) ([]Removed, error) { return prune(limit, "", caches...) }

// prune is Prune that keeps the path spared.
func prune(limit int64, spared string, caches ...*Cache) ([]Removed, error) {
	removed := make([]Removed, len(caches))
	type sized struct {
		cache int
		path  string
		size  int64
		used  time.Time
	}
	var left []sized
	var total int64
	for i, c := range caches {
		c.sweep()
		files, err := c.files()
		if err != nil {
			return removed, err
		}
		for _, file := range files {
			info, err := file.Info()
			if err != nil {
				continue
			}
			path := filepath.Join(c.dir, file.Name())
			if strings.HasPrefix(file.Name(), tmpPrefix) || !mine(owner(info)) {
				continue
			}
			used := info.ModTime()
			if !info.Mode().IsRegular() {
				used = time.Time{} // not an entry: removed first
			}
			left = append(left, sized{i, path, info.Size(), used})
			total += info.Size()
		}
	}
	sort.SliceStable(left, func(i, j int) bool { return left[i].used.Before(left[j].used) })
	for _, file := range left {
		if total <= limit {
			break
		}
		if file.path == spared {
			continue
		}
		if err := remove(file.path); err != nil {
			return removed, fmt.Errorf("cache entry cannot be removed: %w", err)
		}
		total -= file.size
		removed[file.cache].Entries++
		removed[file.cache].Bytes += file.size
	}
	return removed, nil
}
