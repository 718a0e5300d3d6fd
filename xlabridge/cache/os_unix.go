//go:build linux || darwin

package cache

import (
	"io/fs"
	"os"
	"syscall"
)

// nonblock lets the opening of a pipe return at once.
const nonblock = syscall.O_NONBLOCK

// owner is the number of the user who owns a file.
func owner(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid)
	}
	return unknownOwner
}

// lockFile locks a file until it is closed, or its process ends.
func lockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// removeUnlocked removes a file that nobody has locked.
func removeUnlocked(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = os.Remove(path)
	}
}
