// Package protobuf writes and reads messages in protobuf's wire format, field by field, by the numbers of their .proto
// file.
package protobuf

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Message is an encoded message, to which methods append fields. The zero value has none. A field that is appended
// several times is repeated.
type Message []byte

// Int appends an int32, int64, uint32, uint64 or enum.
func (m *Message) Int(field protowire.Number, x int64) {
	*m = protowire.AppendTag(*m, field, protowire.VarintType)
	*m = protowire.AppendVarint(*m, uint64(x))
}

// Bool appends a bool.
func (m *Message) Bool(field protowire.Number, x bool) {
	m.Int(field, int64(protowire.EncodeBool(x)))
}

// Float appends a float.
func (m *Message) Float(field protowire.Number, x float32) {
	*m = protowire.AppendTag(*m, field, protowire.Fixed32Type)
	*m = protowire.AppendFixed32(*m, math.Float32bits(x))
}

// Double appends a double.
func (m *Message) Double(field protowire.Number, x float64) {
	*m = protowire.AppendTag(*m, field, protowire.Fixed64Type)
	*m = protowire.AppendFixed64(*m, math.Float64bits(x))
}

// Bytes appends bytes, or a message within the message.
func (m *Message) Bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendBytes(*m, b)
}

// Text appends a string.
func (m *Message) Text(field protowire.Number, s string) {
	*m = protowire.AppendTag(*m, field, protowire.BytesType)
	*m = protowire.AppendString(*m, s)
}
