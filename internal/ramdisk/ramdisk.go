// Package ramdisk puts the temporary files of tests into memory, where there is room. To make and remove small files on
// a disk, and to wait until they are on it, takes a third of the time of tests that start servers and processes. No
// test cuts the power, so the files need not reach a disk.
package ramdisk

import "os"

// Use sets TMPDIR for this process and those that it starts, unless it is set.
func Use() {
	if os.Getenv("TMPDIR") == "" && roomy(folder) {
		os.Setenv("TMPDIR", folder)
	}
}

const (
	folder = "/dev/shm"
	// leastRoom is the number of free bytes that are wanted: tests of several packages run side by side.
	leastRoom = 4 << 30
)
