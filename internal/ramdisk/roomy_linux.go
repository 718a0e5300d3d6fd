package ramdisk

import "golang.org/x/sys/unix"

// roomy reports whether a folder lies in memory, with room for files that may also be executed.
func roomy(folder string) bool {
	var s unix.Statfs_t
	return unix.Statfs(folder, &s) == nil && s.Type == unix.TMPFS_MAGIC &&
		s.Flags&(unix.MS_NOEXEC|unix.MS_RDONLY) == 0 && s.Bavail*uint64(s.Bsize) >= leastRoom &&
		unix.Access(folder, unix.W_OK) == nil
}
