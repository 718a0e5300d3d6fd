//go:build !unix

package runfolder

import (
	"errors"
	"io/fs"
)

// errStale never occurs on this system.
var errStale = errors.New("stale folder")

func full(error) bool          { return false }
func links(fs.FileInfo) uint64 { return 1 }
func (r *osRoot) Lock() error  { return nil }
