//go:build !linux && !darwin

package fetch

import (
	"io/fs"
	"os/exec"
)

// Inode returns the file's inode number, or 0 if there is none.
func Inode(fs.FileInfo) uint64 { return 0 }

const nonblock = 0

func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }

func freeSpace(string) (n int64, ok bool) { return 0, false }

func ownGroup(*exec.Cmd) {}
