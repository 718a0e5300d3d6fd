//go:build amd64

package faults

import (
	"encoding/binary"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// now is what time.Now reads: the wall clock in seconds and nanoseconds, and the monotonic clock.
//
//go:linkname now time.now
func now() (sec int64, nsec int32, mono int64)

//go:linkname nanotime runtime.nanotime
func nanotime() int64

// clockShift is by how many seconds the wall clock of this process is wrong. It lies in a file that the test writes.
var clockShift *int64

// shifted stands for now in a process whose wall clock the test sets. A vDSO answers now without a system call, so no
// library that is loaded before others can do it. The monotonic clock stays as it is, as when a clock is set.
func shifted() (sec int64, nsec int32, mono int64) {
	var t unix.Timespec
	// Timers call it on stacks from which a goroutine makes no other system call. This clock is always there.
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_REALTIME, uintptr(unsafe.Pointer(&t)), 0)
	return t.Sec + atomic.LoadInt64(clockShift), int32(t.Nsec), nanotime()
}

// clockFile maps the file with the shift of a clock.
func clockFile(path string) (*int64, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if err := f.Truncate(8); err != nil {
		return nil, err
	}
	b, err := unix.Mmap(int(f.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return (*int64)(unsafe.Pointer(&b[0])), nil
}

// shiftClock makes the wall clock of this process, for all of its code, that of a file. It writes a jump over the first
// bytes of now. Nothing else may run meanwhile.
func shiftClock(path string) (err error) {
	if clockShift, err = clockFile(path); err != nil {
		return err
	}
	const jump = 12 // bytes: MOVQ $address, AX; JMP AX
	old, by := now, shifted
	at, target := *(**[jump]byte)(*(*unsafe.Pointer)(unsafe.Pointer(&old))), **(**uintptr)(unsafe.Pointer(&by))
	page := uintptr(os.Getpagesize())
	first := unsafe.Add(unsafe.Pointer(at), -int(uintptr(unsafe.Pointer(at))%page))
	code := unsafe.Slice((*byte)(first), 2*page)
	if err := unix.Mprotect(code, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC); err != nil {
		return err
	}
	at[0], at[1], at[10], at[11] = 0x48, 0xb8, 0xff, 0xe0
	binary.LittleEndian.PutUint64(at[2:], uint64(target))
	return unix.Mprotect(code, unix.PROT_READ|unix.PROT_EXEC)
}

// clock is a wall clock of a node that the test sets.
type clock struct {
	path  string
	shift *int64
}

func newClock(path string) (*clock, error) {
	shift, err := clockFile(path)
	return &clock{path, shift}, err
}

func (c *clock) set(by time.Duration) { atomic.StoreInt64(c.shift, int64(by/time.Second)) }

// monotonic returns the time of a clock that all processes share and nobody sets.
func monotonic() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return time.Duration(t.Nano())
}
