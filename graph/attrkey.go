package graph

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
)

// appendAttrs appends what tells attributes of one op apart: their GoString if they have one, else their fields. It
// takes a fifth of the time that fmt takes for them.
func appendAttrs(b []byte, attrs any) []byte {
	switch a := attrs.(type) {
	case nil:
		return b
	case fmt.GoStringer:
		return appendText(b, a.GoString())
	}
	return appendValue(b, reflect.ValueOf(attrs))
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// appendValue appends a value of an attribute. Pointers stand for themselves. An attribute with a function, whose
// captured values cannot be seen, needs a GoString.
func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return append(b, boolByte(v.Bool()))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.Float32, reflect.Float64:
		return binary.LittleEndian.AppendUint64(b, math.Float64bits(v.Float()))
	case reflect.String:
		return appendText(b, v.String())
	case reflect.Slice:
		if v.IsNil() {
			return append(b, 0)
		}
		b = binary.AppendUvarint(b, uint64(v.Len())+1)
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Array:
		for i := range v.Len() {
			b = appendValue(b, v.Index(i))
		}
		return b
	case reflect.Struct:
		for i := range v.NumField() {
			b = appendValue(b, v.Field(i))
		}
		return b
	case reflect.Pointer:
		return binary.AppendUvarint(b, uint64(v.Pointer()))
	}
	panic(fmt.Sprintf("graph: an attribute has a field of type %s, which tells no nodes apart", v.Type()))
}
