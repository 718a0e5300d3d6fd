package python

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// open makes the memory. It has no name in a file system, so nothing is left of it after both processes end.
func (m *memory) open() error {
	file, err := unix.MemfdCreate("xlarun", unix.MFD_CLOEXEC)
	if err != nil {
		return fmt.Errorf("shared memory: %w", err)
	}
	if err = unix.Ftruncate(file, int64(m.stride*m.slots)); err == nil {
		m.bytes, err = unix.Mmap(file, 0, m.stride*m.slots, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err != nil {
		_ = unix.Close(file)
		return fmt.Errorf("shared memory of %d bytes: %w", m.stride*m.slots, err)
	}
	m.file = file
	return nil
}

// close frees this process's part of the memory, if it was opened.
func (m *memory) close() {
	if m.bytes != nil {
		_ = unix.Munmap(m.bytes)
		_ = unix.Close(m.file)
		m.bytes = nil
	}
}

// untilHangUp returns when nobody can write to a pipe any more.
func untilHangUp(pipe int) {
	for {
		ready := []unix.PollFd{{Fd: int32(pipe)}}
		if _, err := unix.Poll(ready, -1); err != unix.EINTR {
			return
		}
	}
}
