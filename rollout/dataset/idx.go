package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ReadIDX reads an unpacked IDX file of unsigned bytes with a number of axes (LeCun, Cortes and Burges, "The MNIST
// database", section "file formats"). What it allocates is bounded by the size that the head and the file agree on.
func ReadIDX(path string, axes int) (dims []int, data []byte, err error) {
	unreadable := func(err error) ([]int, []byte, error) {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, nil, fmt.Errorf("%s cannot be read (%w): give a folder that has this IDX file, unpacked", path, err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return unreadable(err)
	case !info.Mode().IsRegular(): // opening a pipe would wait
		return unreadable(errors.New("it is no file"))
	}
	f, err := os.Open(path)
	if err != nil {
		return unreadable(err)
	}
	defer func() { _ = f.Close() }()
	const unsignedBytes = 8
	head := make([]byte, 4+4*axes)
	if _, err := io.ReadFull(f, head); err != nil || head[0] != 0 || head[1] != 0 || head[2] != unsignedBytes ||
		head[3] != byte(axes) {
		return nil, nil, fmt.Errorf("%s: it does not begin as an IDX file of bytes with %d axes does: give an "+
			"unpacked one", path, axes)
	}
	size := uint64(1)
	for i := range axes {
		n := binary.BigEndian.Uint32(head[4+4*i:])
		dims = append(dims, int(n))
		if size *= uint64(n); size > 1<<31 {
			return nil, nil, fmt.Errorf("%s: its head asks for more than 2 GiB: the file is damaged", path)
		}
	}
	if left := info.Size() - int64(len(head)); left != int64(size) {
		return nil, nil, fmt.Errorf("%s: it holds %d bytes where its head wants %d: the file is damaged", path, left,
			size)
	}
	data = make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return unreadable(err)
	}
	return dims, data, nil
}
