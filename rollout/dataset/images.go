package dataset

import (
	"fmt"
	"path/filepath"
)

const (
	// LabelsFile ends the name of a file with a byte for each example.
	LabelsFile = "-labels-idx1-ubyte"
	// LabelsHead is the number of bytes before the labels.
	LabelsHead = 8

	picturesFile = "-images-idx3-ubyte"
)

// Images are labeled pictures of Rows x Columns values each, 0 to 255.
type Images struct {
	Rows, Columns int
	Data          []byte // picture by picture, row by row
	Labels        []byte // one a picture
}

// ReadImages reads the pictures of a part of a data set, such as "train", and their labels: the files
// PART-images-idx3-ubyte and PART-labels-idx1-ubyte of a folder. Errors: a file that ReadIDX refuses, another number of
// labels than of pictures, no picture.
func ReadImages(dir, part string) (Images, error) {
	dims, data, err := ReadIDX(filepath.Join(dir, part+picturesFile), 3)
	if err != nil {
		return Images{}, err
	}
	name := filepath.Join(dir, part+LabelsFile)
	n, labels, err := ReadIDX(name, 1)
	switch {
	case err != nil:
		return Images{}, err
	case n[0] != dims[0]:
		return Images{}, fmt.Errorf("%s: it has %d labels for %d pictures: take both from one set", name, n[0], dims[0])
	case len(data) == 0:
		return Images{}, fmt.Errorf("%s: there is no picture in it", dir)
	}
	return Images{dims[1], dims[2], data, labels}, nil
}
