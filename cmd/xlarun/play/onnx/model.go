// Package onnx writes saved members as ONNX models: the outputs and the most probable action for a batch of
// observations and, of policies with memory, the next state.
//
// onnx.proto (https://github.com/onnx/onnx) defines the format. The operators are of opset 20.
package onnx

import (
	"encoding/binary"
	"math"
	"strconv"

	"xlarun/internal/protobuf"
)

// Versions of the format and of the operators.
const (
	irVersion = 9
	opset     = 20
)

// Element types of tensors.
const (
	float32Type = 1
	int64Type   = 7
)

// attribute is an attribute of a node: an int, a float32, a string or []int.
type attribute struct {
	name  string
	value any
}

func (a attribute) encode() (m protobuf.Message) {
	const ofFloat, ofInt, ofString, ofInts = 1, 2, 3, 7
	m.Text(1, a.name)
	kind := int64(ofInt)
	switch v := a.value.(type) {
	case float32:
		m.Float(2, v)
		kind = ofFloat
	case int:
		m.Int(3, int64(v))
	case string:
		m.Text(4, v)
		kind = ofString
	case []int:
		for _, x := range v {
			m.Int(8, int64(x))
		}
		kind = ofInts
	}
	m.Int(20, kind)
	return m
}

// tensor returns a TensorProto with raw data.
func tensor(name string, elements int64, dims []int, data []byte) (m protobuf.Message) {
	for _, d := range dims {
		m.Int(1, int64(d))
	}
	m.Int(2, elements)
	m.Text(8, name)
	m.Bytes(9, data)
	return m
}

func floatBytes(x []float64) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
	}
	return b
}

func intBytes(x []int) []byte {
	var b []byte
	for _, v := range x {
		b = binary.LittleEndian.AppendUint64(b, uint64(v))
	}
	return b
}

// value returns a ValueInfoProto of a batch of arrays.
func value(name string, elements int64, dims []int) (m protobuf.Message) {
	var batch, shape, tensorType, kind protobuf.Message
	batch.Text(2, "batch")
	shape.Bytes(1, batch)
	for _, d := range dims {
		var dim protobuf.Message
		dim.Int(1, int64(d))
		shape.Bytes(1, dim)
	}
	tensorType.Int(1, elements)
	tensorType.Bytes(2, shape)
	kind.Bytes(1, tensorType)
	m.Text(1, name)
	m.Bytes(2, kind)
	return m
}

// model is a model that is being built. Values are known by their names.
type model struct {
	graph protobuf.Message
	count int // of names that were made up
}

// node adds a node with one output and returns its name.
//
//go:noinline
func (b *model) node(op string, inputs []string, attributes ...attribute) string {
	return b.nodes(op, 1, inputs, attributes...)[0]
}

// nodes adds a node with several outputs and returns their names.
func (b *model) nodes(op string, outputs int, inputs []string, attributes ...attribute) []string {
	var m protobuf.Message
	for _, in := range inputs {
		m.Text(1, in)
	}
	names := make([]string, outputs)
	for i := range names {
		names[i] = b.name()
		m.Text(2, names[i])
	}
	m.Text(4, op)
	for _, a := range attributes {
		m.Bytes(5, a.encode())
	}
	b.graph.Bytes(1, m)
	return names
}

// rename adds a node that copies the value from into the value to, which has the name of an output.
func (b *model) rename(from, to string) {
	var m protobuf.Message
	m.Text(1, from)
	m.Text(2, to)
	m.Text(4, "Identity")
	b.graph.Bytes(1, m)
}

func (b *model) name() string {
	b.count++
	return "v" + strconv.Itoa(b.count)
}

// floats adds a constant.
func (b *model) floats(dims []int, x ...float64) string {
	name := b.name()
	b.graph.Bytes(5, tensor(name, float32Type, dims, floatBytes(x)))
	return name
}

// ints adds a constant of whole numbers.
func (b *model) ints(dims []int, x ...int) string {
	name := b.name()
	b.graph.Bytes(5, tensor(name, int64Type, dims, intBytes(x)))
	return name
}

func (b *model) input(name string, elements int64, dims ...int) {
	b.graph.Bytes(11, value(name, elements, dims))
}

func (b *model) output(name string, elements int64, dims ...int) {
	b.graph.Bytes(12, value(name, elements, dims))
}

// encode returns the model with metadata.
func (b *model) encode(version string, metadata [][2]string) []byte {
	b.graph.Text(2, "member")
	var m, operators protobuf.Message
	m.Int(1, irVersion)
	m.Text(2, "xlarun")
	m.Text(3, version)
	m.Bytes(7, b.graph)
	operators.Text(1, "")
	operators.Int(2, opset)
	m.Bytes(8, operators)
	for _, pair := range metadata {
		var entry protobuf.Message
		entry.Text(1, pair[0])
		entry.Text(2, pair[1])
		m.Bytes(14, entry)
	}
	return m
}
