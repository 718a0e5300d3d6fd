//go:build linux || darwin

package fetch

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// Inode returns the file's inode number, or 0 if there is none.
func Inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}

const nonblock = syscall.O_NONBLOCK

// owner returns the number of the user who owns a file; ok is false if the system does not say.
func owner(info fs.FileInfo) (uid int, ok bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}

// freeSpace returns the bytes that this user can write to dir's disk; ok is false if the system does not say.
func freeSpace(dir string) (n int64, ok bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}

// ownGroup makes a cancelled cmd end the processes that it started too.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
