package sparse

import (
	"fmt"
	"math/rand/v2"

	"xlarun/rollout/dataset"
)

// Images are labeled pictures of Pixels values each, 0 to 255.
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

func readImages(dir, part string) (Images, error) {
	m, err := dataset.ReadImages(dir, part)
	return Images{m.Rows * m.Columns, m.Data, m.Labels}, err
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
