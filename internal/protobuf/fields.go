package protobuf

import "google.golang.org/protobuf/encoding/protowire"

// Field is a field of a message.
type Field struct {
	Number protowire.Number
	Kind   protowire.Type
	Value  uint64 // of a varint
	Bytes  []byte // of bytes their content, which may be empty and is not nil; else the encoded value
}

// Fields splits a message. Bytes of the fields are parts of it. The error is protowire's.
func Fields(message []byte) (all []Field, err error) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		f := Field{Number: number, Kind: kind, Bytes: message[n : n+size]}
		switch kind {
		case protowire.VarintType:
			f.Value, _ = protowire.ConsumeVarint(f.Bytes)
		case protowire.BytesType:
			f.Bytes, _ = protowire.ConsumeBytes(f.Bytes)
		}
		all, message = append(all, f), message[n+size:]
	}
	return all, nil
}
