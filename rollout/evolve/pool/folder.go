package pool

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/gofrs/flock"

	"xlarun/graph/safetensors"
	"xlarun/rollout/settings"
)

// folder is the folder migration_pool in the folder that islands share. An island writes its entries to
// island-NAME/gen-N/members.safetensors, under a temporary name first, so that an entry is complete or absent.
type folder struct {
	dir    string
	island string
	lock   *flock.Flock // of the island's name, while the pool is open
}

const (
	folderName = "migration_pool"
	fileName   = "members.safetensors"
	// largestEntry bounds the size of an entry that is read.
	largestEntry = 1 << 32
)

// New returns the pool in a folder that islands share.
func New(dir, island string) *Pool {
	return newPool(&folder{dir: filepath.Join(dir, folderName), island: island}, island)
}

func (f *folder) entry(island string, generation int64) string {
	return filepath.Join(f.dir, "island-"+island, fmt.Sprintf("gen-%d", generation))
}

// open makes the island's folder, and checks that the island can write there.
func (f *folder) open(context.Context) error {
	own := filepath.Dir(f.entry(f.island, 0))
	if err := os.MkdirAll(own, 0o777); err != nil {
		return err
	}
	try, err := os.MkdirTemp(own, ".leaving-")
	if err != nil {
		return err
	}
	if err := os.Remove(try); err != nil {
		return err
	}
	f.lock = flock.New(filepath.Join(f.dir, ".lock-"+f.island))
	free, err := f.lock.TryLock()
	if err == nil && !free {
		err = taken(f.island, filepath.Dir(f.dir))
	}
	return err
}

func (f *folder) close() error {
	if f.lock == nil {
		return nil
	}
	return f.lock.Close()
}

func (*folder) tell(bool) {}

func (*folder) present() int { return 0 }

func (*folder) connected() bool { return true }

// vacant makes the island's folder. It refuses one with members of an earlier run.
func (f *folder) vacant() error {
	own := filepath.Dir(f.entry(f.island, 0))
	if err := os.MkdirAll(own, 0o777); err != nil {
		return err
	}
	left, err := os.ReadDir(own)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(left, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "gen-") }) {
		return settings.Wrong("island", f.island, "one that has left nobody yet, when a run begins: %s has members "+
			"of an earlier run; continue it by --resume, remove the folder, or give another --migration-dir", own)
	}
	return nil
}

func (f *folder) leave(generation int64, tree any, metadata map[string]string) (err error) {
	to := f.entry(f.island, generation)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	temp := filepath.Join(filepath.Dir(to), fmt.Sprintf(".leaving-%016x", rand.Uint64()))
	if err := os.Mkdir(temp, 0o777); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	if err := safetensors.Save(filepath.Join(temp, fileName), tree, metadata); err != nil {
		return err
	}
	// The entry exists if the run was resumed from an older checkpoint.
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(temp, to)
}

func (f *folder) entries() (all []found) {
	folders, _ := os.ReadDir(f.dir) // absent until an island has written an entry
	for _, x := range folders {
		name, ok := strings.CutPrefix(x.Name(), "island-")
		if !ok || name == f.island || !x.IsDir() {
			continue
		}
		generations, _ := os.ReadDir(filepath.Join(f.dir, x.Name()))
		var own []found
		for _, g := range generations {
			text, ok := strings.CutPrefix(g.Name(), "gen-")
			if n, err := strconv.ParseInt(text, 10, 64); ok && err == nil && n > 0 {
				path := f.entry(name, n)
				own = append(own, found{name, n, path, func() (*safetensors.File, error) { return openEntry(path) }})
			}
		}
		sort.Slice(own, func(i, j int) bool { return own[i].generation > own[j].generation })
		all = append(all, own...)
	}
	return all
}

// openEntry opens the file of an entry.
func openEntry(dir string) (*safetensors.File, error) {
	path := filepath.Join(dir, fileName)
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > largestEntry {
		return nil, fmt.Errorf("it is no file of members")
	}
	return safetensors.Open(path)
}
