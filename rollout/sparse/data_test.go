package sparse

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// idx is a file of unsigned bytes.
func idx(data []byte, dims ...uint32) []byte {
	out := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		out = binary.BigEndian.AppendUint32(out, d)
	}
	return append(out, data...)
}

func writeSet(t *testing.T, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
	}
	return dir
}

func goodSet() map[string][]byte {
	return map[string][]byte{
		"train-images-idx3-ubyte": idx([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, 3, 2, 2),
		"train-labels-idx1-ubyte": idx([]byte{0, 2, 1}, 3),
		"t10k-images-idx3-ubyte":  idx([]byte{9, 8, 7, 6}, 1, 2, 2), "t10k-labels-idx1-ubyte": idx([]byte{4}, 1),
	}
}

func TestReadIDX(t *testing.T) {
	d, err := ReadIDX(writeSet(t, goodSet()))
	require.NoError(t, err)
	require.Equal(t, Images{4, []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, []byte{0, 2, 1}}, d.Train)
	require.Equal(t, Images{4, []byte{9, 8, 7, 6}, []byte{4}}, d.Test)
	require.Equal(t, 5, d.Classes())
	require.Equal(t, []byte{1, 2, 3, 4, 5, 6, 7, 8}, d.Train.Head(2).Data)
}

func TestReadIDXErrors(t *testing.T) {
	for _, c := range []struct {
		name, file string
		text       []byte
		want       string
	}{
		{"missing", "t10k-labels-idx1-ubyte", nil, "t10k-labels-idx1-ubyte cannot be read (no such file or " +
			"directory): give a folder"},
		{"packed", "train-images-idx3-ubyte", []byte("\x1f\x8b\x08\x00 and so on, and so on"),
			"does not begin as an IDX file of bytes with 3 axes"},
		{"empty", "train-labels-idx1-ubyte", []byte{}, "does not begin as an IDX file of bytes with 1 axes"},
		{"cut", "train-images-idx3-ubyte", idx([]byte{1, 2}, 3, 2, 2), "holds 2 bytes where its head wants 12"},
		{"too long", "t10k-labels-idx1-ubyte", idx([]byte{1, 2}, 1), "holds 2 bytes where its head wants 1"},
		{"huge", "train-images-idx3-ubyte", idx(nil, 1<<31, 1<<31, 1<<31), "asks for more than 2 GiB"},
		{"other count", "train-labels-idx1-ubyte", idx([]byte{1, 2}, 2), "it has 2 labels for 3 pictures"},
		{"other size", "t10k-images-idx3-ubyte", idx([]byte{1, 2}, 1, 2, 1), "4 pixels, those for testing 2"},
		{"no picture", "train-images-idx3-ubyte", idx(nil, 3, 0, 2), "there is no picture in it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := goodSet()
			files[c.file] = c.text
			if c.text == nil {
				delete(files, c.file)
			}
			_, err := ReadIDX(writeSet(t, files))
			require.ErrorContains(t, err, c.want)
		})
	}
}

// Each epoch has every picture once, in another order.
func TestOrder(t *testing.T) {
	o, again := order{seed: 3, n: 50}, order{seed: 3, n: 50}
	var epochs [2][]int
	for e := range epochs {
		for range 50 {
			i := o.next()
			require.Equal(t, i, again.next())
			epochs[e] = append(epochs[e], i)
		}
		sorted := slices.Sorted(slices.Values(epochs[e]))
		require.Equal(t, 50, len(slices.Compact(sorted)))
	}
	require.NotEqual(t, epochs[0], epochs[1])
}

// TestIDXThatIsNoFile: a pipe with the name of an IDX file is refused. Reading it waited for ever.
func TestIDXThatIsNoFile(t *testing.T) {
	dir := writeSet(t, goodSet())
	name := filepath.Join(dir, "train-images-idx3-ubyte")
	require.NoError(t, os.Remove(name))
	require.NoError(t, syscall.Mkfifo(name, 0o600))
	_, err := ReadIDX(dir)
	require.ErrorContains(t, err, "train-images-idx3-ubyte cannot be read (it is no file): give a folder")
}

// TestIDXOfAnotherSize: a file whose size differs from its head's is refused before it is read. A file
// with a hole of a terabyte, which takes no room on the disk, ended the program for want of memory.
func TestIDXOfAnotherSize(t *testing.T) {
	dir := writeSet(t, goodSet())
	const size = 1 << 40
	if err := os.Truncate(filepath.Join(dir, "t10k-images-idx3-ubyte"), size); err != nil {
		t.Skip("this disk has no files with holes: ", err)
	}
	_, err := ReadIDX(dir)
	require.ErrorContains(t, err, "t10k-images-idx3-ubyte: it holds 1099511627760 bytes where its head wants 4")
}
