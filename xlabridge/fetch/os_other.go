//go:build !linux && !darwin

package fetch

import (
	"io/fs"
	"os/exec"
)

// Inode is the file's number on its disk, 0 where there is none.
func Inode(fs.FileInfo) uint64 { return 0 }

const nonblock = 0

func owner(fs.FileInfo) (uid int, ok bool) { return 0, false }

func freeSpace(string) (n int64, ok bool) { return 0, false }

func ownGroup(*exec.Cmd) {}
