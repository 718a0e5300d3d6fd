package disktest

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"xlarun/rollout/run/runfolder"
)

// Memory is a disk in memory. It knows what was synced, so that it can lose data as disks do when the power fails; see
// PowerCut.
type Memory struct {
	mu   sync.Mutex
	root *node
	room int64 // bytes for all files together; 0: no limit
}

// node is a file or a folder.
type node struct {
	entries       map[string]*node // of a folder
	syncedEntries map[string]*node
	data          []byte // of a file
	syncedData    []byte
	parent        *node // nil for the root, and after removal
	name          string
	locked        bool
}

// NewMemory returns an empty disk.
func NewMemory() *Memory { return &Memory{root: newFolder(nil, "/")} }

func newFolder(parent *node, name string) *node {
	return &node{entries: map[string]*node{}, syncedEntries: map[string]*node{}, parent: parent, name: name}
}

// SetRoom limits the bytes of all files together; 0: no limit.
func (m *Memory) SetRoom(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.room = bytes
}

// PowerCut returns the disk after a loss of power. What was synced is there. choose(n), a whole number from 0 to n-1,
// decides about the rest. Locks are gone.
func (m *Memory) PowerCut(choose func(n int) int) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMemory()
	after.root = m.root.afterPowerCut(nil, choose)
	return after
}

func (n *node) afterPowerCut(parent *node, choose func(n int) int) *node {
	if n.entries == nil {
		data := n.data
		switch choose(4) {
		case 0:
			data = n.syncedData
		case 1: // the size without the bytes
			data = bytes.Clone(data)
			for i := len(n.syncedData) + choose(max(1, len(data)-len(n.syncedData)+1)); i < len(data); i++ {
				data[i] = 0
			}
		case 2: // a part of the bytes
			if more := len(data) - len(n.syncedData); more > 0 {
				data = data[:len(n.syncedData)+choose(more+1)]
			}
		}
		data = bytes.Clone(data)
		return &node{data: data, syncedData: bytes.Clone(data), parent: parent, name: n.name}
	}
	out := newFolder(parent, n.name)
	names := maps.Clone(n.syncedEntries)
	maps.Copy(names, n.entries)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		synced, entry := n.syncedEntries[name], n.entries[name]
		if synced != entry && choose(2) == 0 {
			entry = synced
		}
		if entry != nil {
			child := entry.afterPowerCut(out, choose)
			child.name = name
			out.entries[name] = child
		}
	}
	out.syncedEntries = maps.Clone(out.entries)
	return out
}

// walk finds a node. The caller holds the mutex.
func (n *node) walk(name string) (*node, error) {
	for _, part := range strings.Split(path.Clean(name), "/") {
		if part == "" || part == "." {
			continue
		}
		if n.entries == nil {
			return nil, syscall.ENOTDIR
		}
		next := n.entries[part]
		if next == nil {
			return nil, syscall.ENOENT
		}
		n = next
	}
	return n, nil
}

// folderOf returns the folder that contains a name.
func (n *node) folderOf(name string) (*node, string, error) {
	dir, base := path.Split(path.Clean(name))
	in, err := n.walk(dir)
	if err == nil && in.entries == nil {
		err = syscall.ENOTDIR
	}
	return in, base, err
}

func (n *node) mkdir(name string) error {
	in, base, err := n.folderOf(name)
	switch {
	case err != nil:
		return err
	case in.gone():
		return syscall.ENOENT
	case in.entries[base] != nil:
		return syscall.EEXIST
	}
	in.entries[base] = newFolder(in, base)
	return nil
}

func (n *node) remove(name string) error {
	in, base, err := n.folderOf(name)
	if err != nil {
		return err
	}
	old := in.entries[base]
	switch {
	case old == nil:
		return syscall.ENOENT
	case len(old.entries) > 0:
		return syscall.ENOTEMPTY
	}
	delete(in.entries, base)
	old.parent = nil
	return nil
}

func (n *node) sync(name string) error {
	in, err := n.walk(name)
	if err == nil && in.entries == nil {
		err = syscall.ENOTDIR
	}
	if err == nil {
		in.syncedEntries = maps.Clone(in.entries)
	}
	return err
}

// gone reports whether a folder was removed: no parent leads from it to a root.
func (n *node) gone() bool { return n.parent == nil && n.name != "/" }

func (n *node) path() string {
	if n.parent == nil {
		return n.name
	}
	return path.Join(n.parent.path(), n.name)
}

func (n *node) size() int64 {
	total := int64(len(n.data))
	for _, e := range n.entries {
		total += e.size()
	}
	return total
}

// do runs an operation with the disk locked, and words its error.
func (m *Memory) do(op, name string, f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := f(); err != nil {
		return &fs.PathError{Op: op, Path: name, Err: err}
	}
	return nil
}

func (m *Memory) Stat(path string) (fs.FileInfo, error) { return m.stat(m.root, path) }
func (m *Memory) Mkdir(path string) error {
	return m.do("mkdir", path, func() error { return m.root.mkdir(path) })
}
func (m *Memory) Remove(path string) error {
	return m.do("remove", path, func() error { return m.root.remove(path) })
}
func (m *Memory) SyncDir(path string) error {
	return m.do("sync", path, func() error { return m.root.sync(path) })
}

func (m *Memory) stat(from *node, name string) (info fs.FileInfo, err error) {
	err = m.do("stat", name, func() error {
		n, err := from.walk(name)
		if err == nil {
			info = nodeInfo{path.Base(name), int64(len(n.data)), n.entries != nil}
		}
		return err
	})
	return info, err
}

// OpenRoot opens a folder.
func (m *Memory) OpenRoot(path string) (root runfolder.Root, err error) {
	err = m.do("open", path, func() error {
		n, err := m.root.walk(path)
		if err == nil && n.entries == nil {
			err = syscall.ENOTDIR
		}
		if err == nil {
			root = &memoryRoot{disk: m, node: n, path: n.path()}
		}
		return err
	})
	return root, err
}

// Rename moves a file or a folder.
func (m *Memory) Rename(from, to string) error {
	return m.do("rename", from, func() error { return m.root.rename(from, to) })
}

// RemoveAll removes a folder with what is in it.
func (m *Memory) RemoveAll(path string) error {
	return m.do("remove", path, func() error {
		n, err := m.root.walk(path)
		if err != nil {
			return err
		}
		n.empty()
		return m.root.remove(path)
	})
}

func (n *node) empty() {
	for name, e := range n.entries {
		e.empty()
		e.parent = nil
		delete(n.entries, name)
	}
}

// ReadFile returns the content of a file.
func (m *Memory) ReadFile(name string) (data []byte, err error) {
	err = m.do("read", name, func() error {
		n, err := m.root.walk(name)
		if err == nil {
			data = bytes.Clone(n.data)
		}
		return err
	})
	return data, err
}

// WriteFile replaces the content of a file, and syncs it.
func (m *Memory) WriteFile(name string, data []byte) error {
	return m.do("write", name, func() error {
		in, base, err := m.root.folderOf(name)
		if err != nil {
			return err
		}
		in.entries[base] = &node{data: bytes.Clone(data), syncedData: bytes.Clone(data), parent: in, name: base}
		in.syncedEntries = maps.Clone(in.entries)
		return nil
	})
}

func (n *node) rename(from, to string) error {
	in, base, err := n.folderOf(from)
	if err != nil {
		return err
	}
	into, as, err := n.folderOf(to)
	if err != nil {
		return err
	}
	moved := in.entries[base]
	if moved == nil || into.gone() {
		return syscall.ENOENT
	}
	if old := into.entries[as]; old != nil && old != moved {
		if old.entries != nil {
			return syscall.EEXIST
		}
		old.parent = nil
	}
	delete(in.entries, base)
	into.entries[as] = moved
	moved.parent, moved.name = into, as
	return nil
}

type memoryRoot struct {
	disk   *Memory
	node   *node
	path   string // the last known one
	locked bool
}

func (r *memoryRoot) Path() string {
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	if !r.node.gone() {
		r.path = r.node.path()
	}
	return r.path
}

func (r *memoryRoot) Gone() (gone bool, err error) {
	err = r.disk.do("stat", ".", func() error {
		gone = r.node.gone()
		return nil
	})
	return gone, err
}

func (r *memoryRoot) Lock() error {
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	if r.node.locked {
		return runfolder.ErrLocked
	}
	r.node.locked, r.locked = true, true
	return nil
}

func (r *memoryRoot) Stat(name string) (fs.FileInfo, error) { return r.disk.stat(r.node, name) }

func (r *memoryRoot) ReadDir(name string) (entries []fs.DirEntry, err error) {
	err = r.disk.do("read", name, func() error {
		n, err := r.node.walk(name)
		if err != nil {
			return err
		}
		for base, e := range n.entries {
			entries = append(entries, fs.FileInfoToDirEntry(nodeInfo{base, int64(len(e.data)), e.entries != nil}))
		}
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
		return nil
	})
	return entries, err
}

func (r *memoryRoot) Mkdir(name string) error {
	return r.disk.do("mkdir", name, func() error { return r.node.mkdir(name) })
}

func (r *memoryRoot) Open(name string) (file runfolder.File, err error) {
	err = r.disk.do("open", name, func() error {
		n, err := r.node.walk(name)
		if err == nil && n.entries != nil {
			err = syscall.EISDIR
		}
		file = &memoryFile{r.disk, n, name}
		return err
	})
	return file, err
}

func (r *memoryRoot) Create(name string) (file runfolder.File, err error) {
	err = r.disk.do("open", name, func() error {
		in, base, err := r.node.folderOf(name)
		if err != nil {
			return err
		}
		if in.gone() {
			return syscall.ENOENT
		}
		n := in.entries[base]
		if n == nil {
			n = &node{parent: in, name: base}
			in.entries[base] = n
		}
		if n.entries != nil {
			return syscall.EISDIR
		}
		file = &memoryFile{r.disk, n, name}
		return nil
	})
	return file, err
}

func (r *memoryRoot) Holds(name string, file runfolder.File) (same bool, err error) {
	err = r.disk.do("stat", name, func() error {
		n, err := r.node.walk(name)
		same = err == nil && n == file.(*memoryFile).node
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return same, err
}

func (r *memoryRoot) Rename(from, to string) error {
	return r.disk.do("rename", from, func() error { return r.node.rename(from, to) })
}

func (r *memoryRoot) Remove(name string) error {
	return r.disk.do("remove", name, func() error { return r.node.remove(name) })
}

func (r *memoryRoot) SyncDir(name string) error {
	return r.disk.do("sync", name, func() error { return r.node.sync(name) })
}

func (r *memoryRoot) Close() error {
	r.disk.mu.Lock()
	defer r.disk.mu.Unlock()
	if r.locked {
		r.node.locked = false
	}
	r.locked = false
	return nil
}

type memoryFile struct {
	disk *Memory
	node *node
	name string
}

func (f *memoryFile) ReadAt(p []byte, offset int64) (n int, err error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	if offset >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	if n = copy(p, f.node.data[offset:]); n < len(p) {
		err = io.EOF
	}
	return n, err
}

// WriteAt writes as many bytes as there is room for.
func (f *memoryFile) WriteAt(p []byte, offset int64) (n int, err error) {
	err = f.disk.do("write", f.name, func() error {
		n = len(p)
		grows := offset + int64(len(p)) - int64(len(f.node.data))
		if room := f.disk.room - f.disk.root.size(); f.disk.room > 0 && grows > max(0, room) {
			n = max(0, len(p)-int(grows-max(0, room)))
			err = syscall.ENOSPC
		}
		if end := int(offset) + n; end > len(f.node.data) && n > 0 {
			f.node.data = append(f.node.data, make([]byte, end-len(f.node.data))...)
		}
		copy(f.node.data[min(int(offset), len(f.node.data)):], p[:n])
		return err
	})
	return n, err
}

func (f *memoryFile) Stat() (fs.FileInfo, error) {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	return nodeInfo{path.Base(f.name), int64(len(f.node.data)), false}, nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	data := make([]byte, size)
	copy(data, f.node.data)
	f.node.data = data
	return nil
}

func (f *memoryFile) Sync() error {
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.node.syncedData = bytes.Clone(f.node.data)
	return nil
}

func (f *memoryFile) Close() error { return nil }

// nodeInfo is the fs.FileInfo of a node.
type nodeInfo struct {
	name string
	size int64
	dir  bool
}

func (i nodeInfo) Name() string       { return i.name }
func (i nodeInfo) Size() int64        { return i.size }
func (i nodeInfo) ModTime() time.Time { return time.Time{} }
func (i nodeInfo) IsDir() bool        { return i.dir }
func (i nodeInfo) Sys() any           { return nil }
func (i nodeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o755
	}
	return 0o644
}
