package sparse

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Images are labelled pictures of Pixels values each, 0 to 255.
type Images struct {
	Pixels int
	Data   []byte // picture by picture
	Labels []byte // one a picture
}

// Len returns the number of pictures.
func (m Images) Len() int { return len(m.Labels) }

// Head returns the first n pictures, or all if there are fewer.
func (m Images) Head(n int) Images {
	n = min(n, m.Len())
	return Images{m.Pixels, m.Data[:n*m.Pixels], m.Labels[:n]}
}

// split returns the pictures from number n on, and those before it.
func (m Images) split(n int) (rest, head Images) {
	return Images{m.Pixels, m.Data[n*m.Pixels:], m.Labels[n:]}, m.Head(n)
}

// Data are the pictures of training and test.
type Data struct{ Train, Test Images }

// Classes returns the number of classes: the largest label plus 1.
func (d Data) Classes() int {
	most := 0
	for _, labels := range [][]byte{d.Train.Labels, d.Test.Labels} {
		for _, y := range labels {
			most = max(most, int(y))
		}
	}
	return most + 1
}

// ReadIDX reads a folder of MNIST's four files: train-images-idx3-ubyte, train-labels-idx1-ubyte,
// t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte (LeCun, Cortes and Burges, "The MNIST database", section "file
// formats").
func ReadIDX(dir string) (Data, error) {
	train, err := readImages(dir, "train")
	if err != nil {
		return Data{}, err
	}
	test, err := readImages(dir, "t10k")
	if err != nil {
		return Data{}, err
	}
	if train.Pixels != test.Pixels {
		return Data{}, fmt.Errorf("%s: the pictures for training have %d pixels, those for testing %d: take both "+
			"from one set", dir, train.Pixels, test.Pixels)
	}
	return Data{train, test}, nil
}

const (
	// labelsFile ends the name of a file with a byte for each example.
	labelsFile = "-labels-idx1-ubyte"
	// labelsHead is the number of bytes before the labels.
	labelsHead = 8
)

func readImages(dir, part string) (Images, error) {
	dims, data, err := readIDX(filepath.Join(dir, part+"-images-idx3-ubyte"), 3)
	if err != nil {
		return Images{}, err
	}
	name := filepath.Join(dir, part+labelsFile)
	n, labels, err := readIDX(name, 1)
	if err != nil {
		return Images{}, err
	}
	if n[0] != dims[0] {
		return Images{}, fmt.Errorf("%s: it has %d labels for %d pictures: take both from one set", name, n[0], dims[0])
	}
	if dims[0] == 0 || dims[1]*dims[2] == 0 {
		return Images{}, fmt.Errorf("%s: there is no picture in it", dir)
	}
	return Images{dims[1] * dims[2], data, labels}, nil
}

// readIDX reads a file of unsigned bytes with a number of axes. What it allocates is bounded by the size that the head
// and the file agree on.
func readIDX(path string, axes int) (dims []int, data []byte, err error) {
	unreadable := func(err error) ([]int, []byte, error) {
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			err = p.Err
		}
		return nil, nil, fmt.Errorf("%s cannot be read (%w): give a folder that has MNIST's four IDX files, unpacked",
			path, err)
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

// write writes picture i into a lane of a batch, [Pixels, lanes].
func (m Images) write(i int, batch []byte, lanes, lane int) {
	for p, v := range m.Data[i*m.Pixels : (i+1)*m.Pixels] {
		batch[p*lanes+lane] = v
	}
}

// order is the order of the pictures in training. Each epoch has all of them once, shuffled. It depends on the seed
// alone.
type order struct {
	seed  int64
	n     int
	epoch uint64
	left  []int
}

func (o *order) next() int {
	if len(o.left) == 0 {
		o.left = rand.New(rand.NewPCG(uint64(o.seed), o.epoch)).Perm(o.n)
		o.epoch++
	}
	i := o.left[0]
	o.left = o.left[1:]
	return i
}
