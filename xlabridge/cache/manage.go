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

// Entry is one file of the cache as List and Verify show it.
type Entry struct {
	// Key is the name of the entry in hexadecimal, 64 digits.
	Key string `json:"key"`
	// Bytes is the size of the file.
	Bytes int64 `json:"bytes"`
	// LastUsed is when the entry was last stored or hit, to the minute.
	LastUsed time.Time `json:"last_used"`
	// Meta is what the entry says of itself, the zero value where Defect is set.
	Meta Metadata `json:"metadata"`
	// Defect is why the entry is of no use; empty: it is well.
	Defect string `json:"defect,omitempty"`
	// Foreign says that another user made the entry, which is of no use here and was not looked at.
	Foreign bool `json:"foreign,omitempty"`
}

// Age is the time since the entry was stored.
func (e Entry) Age() time.Duration { return time.Since(e.Meta.Created) }

// List gives the cache's entries, the last used first. Metadata is read, programs are not:
// damage beyond an entry's header is for Verify to find. A folder that is not there is empty.
func (c *Cache) List() ([]Entry, error) { return c.list(readHead) }

// Verify reads every entry whole and says which are damaged. It repairs nothing: the next use of
// the program does, and Clear or Prune remove.
func (c *Cache) Verify() ([]Entry, error) {
	return c.list(func(path string) (entry, error) {
		data, err := readEntry(path)
		if err != nil {
			return entry{}, err
		}
		return decode(data)
	})
}

// list looks at each entry with read.
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
		shown := Entry{Key: strings.TrimSuffix(file.Name(), c.suffix), Bytes: info.Size(), LastUsed: info.ModTime()}
		found, err := read(filepath.Join(c.dir, file.Name()))
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

// files are the cache's own files in its folder, entries and temporary ones, and what lies in the place of an entry;
// others are let be.
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

// Clear removes every entry and returns how many, and their bytes.
func (c *Cache) Clear() (entries int, bytes int64, err error) { return c.Prune(-1) }

// Prune removes the entries used longest ago until at most limit bytes are left, and what dead
// processes left half-written. It returns how many entries went, and their bytes.
func (c *Cache) Prune(limit int64) (entries int, bytes int64, err error) {
	removed, err := Prune(limit, c)
	return removed[0].Entries, removed[0].Bytes, err
}

// Removed is what Prune took from one cache.
type Removed struct {
	Entries int   `json:"entries"`
	Bytes   int64 `json:"bytes"`
}

// Prune removes the entries used longest ago, in whichever of the caches they are, until all of them
// together hold at most limit bytes; and what dead processes left half-written. It returns what it
// took from each, up to an error too. The entries of other users neither count nor go, except for root.
func Prune(limit int64, caches ...*Cache) ([]Removed, error) { return prune(limit, "", caches...) }

// prune is Prune, which spares one path.
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
				used = time.Time{} // of no use
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
