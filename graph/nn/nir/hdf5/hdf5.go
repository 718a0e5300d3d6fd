// Package hdf5 reads and writes the part of the HDF5 file format (The HDF Group, "HDF5 File Format Specification",
// version 3.0) that files of the Neuromorphic Intermediate Representation need: groups, and data sets of numbers and
// strings.
//
// It writes superblock 0, groups with symbol tables, contiguous data, and strings of fixed length. It also reads h5py's
// default layout: chunks with deflate and shuffle, and strings of variable length. It refuses the newer layout (libver
// "latest"). No Go library without C writes files that h5py reads.
package hdf5

import "fmt"

// Group has items by name: *Group or *Set.
type Group struct{ Items map[string]any }

// NewGroup is an empty group.
func NewGroup() *Group { return &Group{map[string]any{}} }

// Set is a data set: numbers of one kind, or strings, in row-major order.
type Set struct {
	Dims []int // none: a scalar
	// One of []float32, []float64, []int64 and []string. Integers of all sizes are read as int64.
	Data any
}

// Len is the number of elements: the product of Dims.
func (s *Set) Len() int {
	n := 1
	for _, d := range s.Dims {
		n *= d
	}
	return n
}

// Floats are the elements of a set of numbers.
func (s *Set) Floats() ([]float64, error) {
	var out []float64
	switch v := s.Data.(type) {
	case []float64:
		return v, nil
	case []float32:
		for _, x := range v {
			out = append(out, float64(x))
		}
	case []int64:
		for _, x := range v {
			out = append(out, float64(x))
		}
	default:
		return nil, fmt.Errorf("hdf5: got strings, want numbers")
	}
	return out, nil
}

// Text is a scalar string.
func (s *Set) Text() (string, error) {
	v, ok := s.Data.([]string)
	if !ok || len(v) != 1 {
		return "", fmt.Errorf("hdf5: got %T of dims %v, want one string", s.Data, s.Dims)
	}
	return v[0], nil
}

const signature = "\x89HDF\r\n\x1a\n"

// nowhere is the undefined address.
const nowhere = ^uint64(0)

// Numbers of messages in object headers.
const (
	msgSpace, msgType, msgFill, msgLayout, msgFilters, msgContinued, msgSymbols = 0x1, 0x3, 0x5, 0x8, 0xb, 0x10, 0x11
)

// Classes of types.
const classInt, classFloat, classString, classEnum, classVariable = 0, 1, 3, 8, 9
