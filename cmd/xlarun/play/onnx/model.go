// Package onnx writes saved members as ONNX models: the outputs and the most probable action for a batch of
// observations and, of policies with memory, the next state.
//
// onnx.proto (https://github.com/onnx/onnx) defines the format. The operators are of opset 20.
package onnx

import (
	"encoding/binary"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
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

// message is a protobuf message that is being written.
type message []byte

func (m *message) varint(field protowire.Number, x int64) {
	*m = protowire.AppendTag(*m, field, protowire.VarintType)
	*m = protowire.AppendVarint(*m, uint64(x))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, b)
}

func (m *message) text(field protowire.Number, s string) { m.bytes(field, []byte(s)) }

func (m *message) float(field protowire.Number, x float32) {
	*m = protowire.AppendTag(*m, field, protowire.Fixed32Type)
	*m = protowire.AppendFixed32(*m, math.Float32bits(x))
}

// attribute is an attribute of a node: an int, a float32, a string or []int.
type attribute struct {
	name  string
	value any
}

func (a attribute) encode() (m message) {
	const ofFloat, ofInt, ofString, ofInts = 1, 2, 3, 7
	m.text(1, a.name)
	kind := int64(ofInt)
	switch v := a.value.(type) {
	case float32:
		m.float(2, v)
		kind = ofFloat
	case int:
		m.varint(3, int64(v))
	case string:
		m.text(4, v)
		kind = ofString
	case []int:
		for _, x := range v {
			m.varint(8, int64(x))
		}
		kind = ofInts
	}
	m.varint(20, kind)
	return m
}

// tensor returns a TensorProto with raw data.
func tensor(name string, elements int64, dims []int, data []byte) (m message) {
	for _, d := range dims {
		m.varint(1, int64(d))
	}
	m.varint(2, elements)
	m.text(8, name)
	m.bytes(9, data)
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
func value(name string, elements int64, dims []int) (m message) {
	var batch, shape, of, kind message
	batch.text(2, "batch")
	shape.bytes(1, batch)
	for _, d := range dims {
		var dim message
		dim.varint(1, int64(d))
		shape.bytes(1, dim)
	}
	of.varint(1, elements)
	of.bytes(2, shape)
	kind.bytes(1, of)
	m.text(1, name)
	m.bytes(2, kind)
	return m
}

// model is a model that is being built. Values are known by their names.
type model struct {
	graph message
	count int // of names that were made up
}

// node adds a node with one output and returns its name.
func (b *model) node(op string, inputs []string, attributes ...attribute) string {
	return b.nodes(op, 1, inputs, attributes...)[0]
}

// nodes adds a node with several outputs and returns their names.
func (b *model) nodes(op string, outputs int, inputs []string, attributes ...attribute) []string {
	var m message
	for _, in := range inputs {
		m.text(1, in)
	}
	names := make([]string, outputs)
	for i := range names {
		names[i] = b.name()
		m.text(2, names[i])
	}
	m.text(4, op)
	for _, a := range attributes {
		m.bytes(5, a.encode())
	}
	b.graph.bytes(1, m)
	return names
}

// rename gives a value the name of an output.
func (b *model) rename(from, to string) {
	var m message
	m.text(1, from)
	m.text(2, to)
	m.text(4, "Identity")
	b.graph.bytes(1, m)
}

func (b *model) name() string {
	b.count++
	return "v" + strconv.Itoa(b.count)
}

// floats adds a constant.
func (b *model) floats(dims []int, x ...float64) string {
	name := b.name()
	b.graph.bytes(5, tensor(name, float32Type, dims, floatBytes(x)))
	return name
}

// ints adds a constant of whole numbers.
func (b *model) ints(dims []int, x ...int) string {
	name := b.name()
	b.graph.bytes(5, tensor(name, int64Type, dims, intBytes(x)))
	return name
}

func (b *model) input(name string, elements int64, dims ...int) {
	b.graph.bytes(11, value(name, elements, dims))
}

func (b *model) output(name string, elements int64, dims ...int) {
	b.graph.bytes(12, value(name, elements, dims))
}

// encode returns the model with metadata.
func (b *model) encode(version string, metadata [][2]string) []byte {
	b.graph.text(2, "member")
	var m, operators message
	m.varint(1, irVersion)
	m.text(2, "xlarun")
	m.text(3, version)
	m.bytes(7, b.graph)
	operators.text(1, "")
	operators.varint(2, opset)
	m.bytes(8, operators)
	for _, pair := range metadata {
		var entry message
		entry.text(1, pair[0])
		entry.text(2, pair[1])
		m.bytes(14, entry)
	}
	return m
}
