package cache

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// foreign is the error for an entry that another user made.
type foreign struct{ uid int }

func (e foreign) Error() string {
	return fmt.Sprintf(
		"entry was made by user %d, whose programs are not run: set XLARUN_CACHE to a folder of your own", e.uid)
}

// openEntry opens the file of an entry for reading. It refuses a file that is not regular, or that an untrusted user
// made or can change. It does not wait for the writer of a pipe.
func openEntry(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		if info, statErr := os.Stat(path); statErr == nil && !mine(owner(info)) {
			return nil, nil, foreign{owner(info)}
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("entry cannot be read: %w", err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		err = fmt.Errorf("entry cannot be read: %w", err)
	case !info.Mode().IsRegular():
		err = errors.New("entry is damaged: it is " + kind(info.Mode()))
	case !trusted(owner(info)):
		err = foreign{owner(info)}
	case info.Mode().Perm()&0o022 != 0:
		err = fmt.Errorf("entry can be changed by other users (mode %04o) and is not run", info.Mode().Perm())
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// kind names the type of a file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	}
	return "a device"
}

// readEntry reads the file of an entry.
func readEntry(path string) ([]byte, error) {
	f, info, err := openEntry(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data := make([]byte, info.Size())
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, fmt.Errorf("entry cannot be read: %w", err)
	}
	return data, nil
}

// euid is the user of this process. Tests replace it.
var euid = os.Geteuid()

// trusted reports whether the files of a user are used: the process's user and root.
func trusted(uid int) bool { return uid == euid || uid == 0 || uid == unknownOwner }

// mine reports whether this process manages the files of a user: its own, and as root all.
func mine(uid int) bool { return uid == euid || euid == 0 || uid == unknownOwner }

// unknownOwner is the owner on systems without owners.
const unknownOwner = -1
