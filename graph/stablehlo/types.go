package stablehlo

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"

	"xlarun/graph"
)

// dtypes are the element types by their names in MLIR.
var dtypes = map[string]graph.DType{"i1": graph.Bool, "i8": graph.Int8, "i16": graph.Int16, "i32": graph.Int32,
	"i64": graph.Int64, "ui8": graph.Uint8, "ui16": graph.Uint16, "ui32": graph.Uint32, "ui64": graph.Uint64,
	"f16": graph.Float16, "bf16": graph.BFloat16, "f32": graph.Float32, "f64": graph.Float64,
	complexName: graph.Complex64}

// complexName is complex64 in MLIR. It has the x that divides sizes.
const complexName = "complex<f32>"

// shape reads what stands between tensor< and >: "4x8xf32".
func shape(text string) (graph.Shape, error) {
	sizes, isComplex := strings.CutSuffix(text, complexName)
	parts := strings.Split(sizes, "x")
	if isComplex {
		parts[len(parts)-1] = complexName
	}
	d, ok := dtypes[parts[len(parts)-1]]
	if !ok {
		return graph.Shape{}, fmt.Errorf("tensor<%s> has a dtype that is not known here", text)
	}
	s := graph.ShapeOf(d)
	for _, p := range parts[:len(parts)-1] {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return s, fmt.Errorf("tensor<%s> has no fixed shape: export for one shape", text)
		}
		s.Dims = append(s.Dims, n)
	}
	return s, nil
}

// dense reads the elements of a constant, dense<…>, as bytes: those of the shape, or a single one that fills it.
func dense(text string, s graph.Shape) ([]byte, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "dense<") || !strings.HasSuffix(text, ">") {
		return nil, fmt.Errorf("the constant %s is not dense<…>", short(text))
	}
	text = text[len("dense<") : len(text)-1]
	width := graph.ItemSize(s.DType)
	var b []byte
	if quoted, ok := strings.CutPrefix(text, `"0x`); ok {
		raw, err := hex.DecodeString(strings.TrimSuffix(quoted, `"`))
		if err != nil {
			return nil, fmt.Errorf("the constant %s is no hexadecimal number", short(text))
		}
		b = raw
	} else {
		// A complex number is written as two in parentheses.
		d, size := s.DType, width
		if d == graph.Complex64 {
			d, size = graph.Float32, width/2
		}
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[](), ", r) }) {
			bits, err := element(word, d)
			if err != nil {
				return nil, err
			}
			b = append(b, binary.LittleEndian.AppendUint64(nil, bits)[:size]...)
		}
	}
	if len(b) != width && len(b) != s.Bytes() {
		return nil, fmt.Errorf("the constant has %d bytes, %s has %d", len(b), s, s.Bytes())
	}
	return b, nil
}

// element reads one number of a constant. Floats may be written as their bits.
func element(word string, d graph.DType) (bits uint64, err error) {
	wrong := fmt.Errorf("the element %s is no number of its dtype", short(word))
	switch {
	case word == "true":
		return 1, nil
	case word == "false":
		return 0, nil
	case strings.HasPrefix(word, "0x"):
		if bits, err = strconv.ParseUint(word[2:], 16, 8*graph.ItemSize(d)); err != nil {
			return 0, wrong
		}
		return bits, nil
	}
	switch d {
	case graph.Float32, graph.Float64, graph.Float16, graph.BFloat16:
		width := 64
		if d != graph.Float64 {
			width = 32
		}
		x, err := strconv.ParseFloat(word, width)
		if err != nil {
			return 0, wrong
		}
		switch d {
		case graph.Float64:
			return math.Float64bits(x), nil
		case graph.Float32:
			return uint64(math.Float32bits(float32(x))), nil
		}
		t, err := graph.ToTensor(graph.Scalar(x).Convert(d))
		if err != nil {
			return 0, err
		}
		b, err := graph.HostBytes(t.Array())
		if err != nil {
			return 0, err
		}
		return uint64(binary.LittleEndian.Uint16(b)), nil
	}
	if n, err := strconv.ParseInt(word, 10, 64); err == nil {
		return uint64(n), nil
	}
	if bits, err = strconv.ParseUint(word, 10, 64); err != nil {
		return 0, wrong
	}
	return bits, nil
}
