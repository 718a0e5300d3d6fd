package bytecode

import (
	"fmt"
	"strconv"
	"strings"
)

// entry is an attribute or a type. It is read when an op asks for it.
type entry struct {
	dialect string
	coded   bool // in its dialect's code; else as text
	data    []byte
}

// readEntries reads where the attributes and then the types lie, in groups of one dialect.
func (m *module) readEntries(data, offsets []byte) {
	c, content := &cursor{"offset section", offsets}, &cursor{"attribute section", data}
	attributes, types := c.count(), c.count()
	if attributes+types > len(c.data) {
		refuse("it has %d attributes and types in %d bytes. Is the file whole?", attributes+types, len(c.data))
	}
	group := func(n int) (all []entry) {
		for len(all) < n {
			dialect := at(m.dialects, c.number(), "dialect")
			for k := c.count(); k > 0; k-- {
				size, coded := c.flagged()
				all = append(all, entry{dialect, coded, content.take(size)})
			}
		}
		return all
	}
	m.attributes, m.types = group(attributes), group(types)
}

// The codes of VHLO's attributes.
const (
	arrayAttribute      = 1
	booleanAttribute    = 2
	directionAttribute  = 3
	comparisonAttribute = 4
	dictionaryAttribute = 6
	fftAttribute        = 7
	integerAttribute    = 9
	rngAttribute        = 12
	stringAttribute     = 14
	tensorAttribute     = 15
	typeAttribute       = 17
)

// The codes of MLIR's own attributes that are asked for.
const (
	builtinDictionary = 1
	builtinString     = 2
	builtinName       = 14 // a location that is a name
)

// attribute returns the content of an attribute of VHLO, whose code must be the one wanted.
func (m *module) attribute(index, want uint64) *cursor {
	e := at(m.attributes, index, "attribute")
	if e.dialect != "vhlo" || !e.coded {
		refuse("it has an attribute of the dialect %s where VHLO's is wanted", name(e.dialect))
	}
	c := &cursor{"attribute section", e.data}
	if code := c.number(); code != want {
		refuse("it has an attribute of code %d where code %d is wanted", code, want)
	}
	return c
}

// text is the string of an attribute.
func (m *module) text(index uint64) string {
	c := m.attribute(index, stringAttribute)
	return at(m.strings, c.number(), "string")
}

// word is an element of an enumeration.
func (m *module) word(index, code uint64, words ...string) string {
	c := m.attribute(index, code)
	return at(words, c.number(), "the element of an enumeration")
}

// integer is the number of an attribute, of at most 64 bits.
func (m *module) integer(index uint64) int64 {
	c := m.attribute(index, integerAttribute)
	bits := map[string]int{"i8": 8, "ui8": 8, "i4": 4, "ui4": 4, "i2": 2, "ui2": 2}[m.element(c.number(), 0)]
	if bits != 0 {
		return int64(c.byte())
	}
	return c.signed()
}

// truth is an attribute with a truth value.
func (m *module) truth(index uint64) bool { return m.attribute(index, booleanAttribute).number() != 0 }

// builtin is the content of one of MLIR's own attributes; nil if it has another code.
func (m *module) builtin(index, want uint64) *cursor {
	e := at(m.attributes, index, "attribute")
	c := &cursor{"attribute section", e.data}
	if e.dialect != "builtin" || !e.coded || c.number() != want {
		return nil
	}
	return c
}

// config are the numbers in the configuration of a custom call, as text: "side = 76, uplo = 76". index is the
// dictionary of the op's other attributes.
func (m *module) config(index uint64) string {
	var words []string
	if c := m.builtin(index, builtinDictionary); c != nil {
		for n := c.count(); n > 0; n-- {
			name, value := m.builtin(c.number(), builtinString), c.number()
			if name == nil || at(m.strings, name.number(), "string") != "mhlo.backend_config" {
				continue
			}
			d := m.attribute(value, dictionaryAttribute)
			for k := d.count(); k > 0; k-- {
				key, value := m.text(d.number()), d.number()
				words = append(words, fmt.Sprintf("%s = %d", word(key), m.integer(value)))
			}
		}
	}
	return strings.Join(words, ", ")
}

// maxList bounds the numbers of one attribute, such as dimensions: one number may stand for all of them.
const maxList = 1 << 12

// list is an attribute with a tensor of whole numbers or truth values.
func (m *module) list(index uint64) []int64 {
	shape, raw := m.tensor(index)
	width := map[string]int{"i64": 8, "i1": 1}[shape.element]
	n := shape.size()
	if width == 0 || n > maxList {
		refuse("it has a list %s, want at most %d numbers of i64 or i1", shape, maxList)
	}
	all := make([]int64, n)
	for i := range all {
		at := i * width
		if len(raw) == width {
			at = 0
		}
		for k := range width {
			all[i] |= int64(raw[at+k]) << (8 * k)
		}
	}
	return all
}

// tensor is an attribute with a tensor: its type and the bytes of its elements, or of one that stands for all.
func (m *module) tensor(index uint64) (shape tensorType, raw []byte) {
	c := m.attribute(index, tensorAttribute)
	shape = m.shape(c.number())
	raw = c.take(c.number())
	n := shape.size()
	width := shape.width()
	if shape.element == "i1" {
		raw = unpack(raw, n)
	}
	if len(raw) != width && (width == 0 || n > len(raw) || len(raw) != n*width) {
		refuse("it has a tensor %s of %d bytes", shape, len(raw))
	}
	return shape, raw
}

// unpack returns truth values as bytes. Eight of them are packed into a byte; a byte of ones stands for all.
func unpack(packed []byte, n int) []byte {
	switch {
	case len(packed) == 1 && packed[0] == 0xFF:
		return []byte{1}
	case len(packed) != (n+7)/8 || len(packed) == n:
		return packed
	}
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = packed[i/8] >> (i % 8) & 1
	}
	return raw
}

// function is an attribute with the type of a function: the numbers of the types of its inputs and outputs.
func (m *module) function(index uint64) (inputs, outputs []uint64) {
	c := m.attribute(index, typeAttribute)
	e := at(m.types, c.number(), "type")
	c = &cursor{"type section", e.data}
	if e.dialect != "vhlo" || !e.coded || c.number() != functionType {
		refuse("a function has another type than that of functions")
	}
	for _, list := range []*[]uint64{&inputs, &outputs} {
		for n := c.count(); n > 0; n-- {
			*list = append(*list, c.number())
		}
	}
	return inputs, outputs
}

// label is the name of a location, "" if it has none.
func (m *module) label(index uint64) string {
	c := m.builtin(index, builtinName)
	if c == nil {
		return ""
	}
	if c = m.builtin(c.number(), builtinString); c == nil {
		return ""
	}
	return at(m.strings, c.number(), "string")
}

// The codes of VHLO's types that are composed.
const (
	complexType       = 1
	functionType      = 8
	tensorTypeCode    = 20
	tensorTypeEncoded = 21
)

// elements are VHLO's types that are words, by code.
var elements = map[uint64]string{0: "i1", 2: "bf16", 3: "f16", 4: "f32", 5: "f64", 6: "f8E4M3FN", 7: "f8E5M2",
	9: "index", 10: "i4", 11: "i8", 12: "i16", 13: "i32", 14: "i64", 15: "ui4", 16: "ui8", 17: "ui16", 18: "ui32",
	19: "ui64", 22: "!stablehlo.token", 27: "f8E4M3FNUZ", 28: "f8E5M2FNUZ", 29: "f8E4M3B11FNUZ", 31: "i2", 32: "ui2",
	34: "tf32", 35: "f8E4M3", 36: "f8E3M4", 37: "f4E2M1FN", 38: "f6E2M3FN", 39: "f6E3M2FN", 40: "f8E8M0FNU"}

// widths are the bytes of the elements that package stablehlo knows.
var widths = map[string]int{"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "ui8": 1, "ui16": 2, "ui32": 4, "ui64": 8,
	"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "complex<f32>": 8, "complex<f64>": 16}

// tensorType is the type of an array. A negative size is one that is not fixed.
type tensorType struct {
	sizes   []int64
	element string
}

func (t tensorType) String() string {
	var b strings.Builder
	b.WriteString("tensor<")
	for _, n := range t.sizes {
		if n < 0 {
			b.WriteString("?x")
		} else {
			b.WriteString(strconv.FormatInt(n, 10) + "x")
		}
	}
	return b.String() + t.element + ">"
}

// maxElements bounds a tensor whose elements are asked for.
const maxElements = 1 << 40

// size is the number of elements.
func (t tensorType) size() int {
	n := int64(1)
	for _, d := range t.sizes {
		if d < 0 || d > 0 && n > maxElements/d {
			refuse("it has a tensor %s, whose size is not known here", t)
		}
		n *= d
	}
	return int(n)
}

func (t tensorType) width() int {
	if widths[t.element] == 0 {
		refuse("it has a tensor %s, whose dtype is not known here", t)
	}
	return widths[t.element]
}

// maxRank bounds the axes of a tensor: a type is read wherever it is referred to.
const maxRank = 64

// shape is a type that must be a tensor's.
func (m *module) shape(index uint64) tensorType {
	e := at(m.types, index, "type")
	c := &cursor{"type section", e.data}
	if e.dialect != "vhlo" || !e.coded {
		refuse("it has a type of the dialect %s where VHLO's is wanted", name(e.dialect))
	}
	switch c.number() {
	case tensorTypeCode:
	case tensorTypeEncoded:
		c.number()
	default:
		refuse("it has another type where a tensor's is wanted")
	}
	n := c.count()
	if n > maxRank {
		refuse("it has a tensor of %d axes, want at most %d", n, maxRank)
	}
	t := tensorType{sizes: make([]int64, n)}
	for i := range t.sizes {
		t.sizes[i] = c.signed()
	}
	t.element = m.element(c.number(), 0)
	return t
}

// element is the type of an element.
func (m *module) element(index uint64, depth int) string {
	e := at(m.types, index, "type")
	c := &cursor{"type section", e.data}
	if e.dialect != "vhlo" || !e.coded || depth > 1 {
		return "unknown"
	}
	code := c.number()
	if code == complexType {
		return "complex<" + m.element(c.number(), depth+1) + ">"
	}
	if word, ok := elements[code]; ok {
		return word
	}
	return "unknown"
}

// typeText is a type as text. One that is not a tensor's is !unknown.
func (m *module) typeText(index uint64) string {
	e := at(m.types, index, "type")
	c := &cursor{"type section", e.data}
	if e.dialect != "vhlo" || !e.coded {
		return "!unknown"
	}
	switch c.number() {
	case tensorTypeCode, tensorTypeEncoded:
		return m.shape(index).String()
	}
	return "!unknown"
}

// name is a text of the file in quotes, of at most 60 bytes.
func name(text string) string {
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return strconv.Quote(text)
}
