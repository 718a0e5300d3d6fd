//go:build linux || darwin

package fetch

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// Inode is the file's number on its disk, 0 where there is none.
func Inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

const nonblock = syscall.O_NONBLOCK

// owner is the number of the user who owns a file; ok is false where it cannot be told.
func owner(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// freeSpace is the room for this user on dir's disk in bytes; ok is false where
// it cannot be told.
func freeSpace(dir string) (n int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// ownGroup lets cancelling cmd end the processes that it started as well.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
