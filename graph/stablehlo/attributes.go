package stablehlo

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"strings"

	"xlarun/graph"
)

// genericNames are the names of attributes in MLIR's generic form, by those that JAX prints.
var genericNames = map[string][]string{
	"dim": {"iota_dimension", "dimension"}, "dims": {"permutation", "broadcast_dimensions", "dimensions"},
	"sizes": {"slice_sizes"}, "low": {"edge_padding_low"}, "high": {"edge_padding_high"},
	"interior": {"interior_padding"}, "type": {"fft_type"}, "length": {"fft_length"},
	"stride": {"window_strides"}, "pad": {"padding"}, "lhs_dilate": {"lhs_dilation"},
	"rhs_dilate": {"rhs_dilation"}, "reverse": {"window_reversal"},
}

// attribute is the text of an attribute: "[0, 1]" of "dims = [0, 1]", in either form of an op. ok is false if the op
// does not have it.
func (o *op) attribute(name string) (text string, ok bool) {
	for _, n := range append([]string{name}, genericNames[name]...) {
		if at, ok := o.attributes[n]; ok {
			return value(o.head[at:]), true
		}
	}
	return "", false
}

// value is a text up to the comma or the bracket that ends it, or the dictionary after it.
func value(text string) string {
	end := len(text)
	scan(text, 0, func(i, depth int) bool {
		if depth < 0 || depth == 0 && text[i] == ',' || depth == 1 && i > 0 && text[i-1:i+1] == " {" {
			end = i
			return false
		}
		return true
	})
	return strings.TrimSpace(text[:end])
}

// list reads the numbers of an attribute: [0, 1], array<i64: 0, 1> or dense<[0, 1]> : tensor<2xi64>.
func (o *op) list(name string) (numbers []int, ok bool) {
	text, ok := o.attribute(name)
	if !ok || strings.HasPrefix(text, "[") {
		return numbersIn(text), ok
	}
	if array, ok := strings.CutPrefix(text, "array<i64"); ok {
		return numbersIn(array), true
	}
	literal, kind, _ := strings.Cut(text, " : ")
	s, err := shapes(kind)
	if err == nil && len(s) == 1 && s[0].DType == graph.Int64 && s[0].Size() <= 1<<10 {
		b, err := dense(literal, s[0])
		if err == nil {
			for i := range s[0].Size() {
				numbers = append(numbers, int(binary.LittleEndian.Uint64(b[8*i%len(b):])))
			}
			return numbers, true
		}
	}
	graph.Throw(name, "got %s, want whole numbers of i64", short(text))
	return nil, false
}

// pair are the lists of an attribute for the operands of a product: "contracting_dims = [1] x [0]", or in the generic
// form an attribute of each operand.
func (o *op) pair(name, left, right string) (lists [2][]int) {
	if text, ok := o.attribute(name); ok {
		x, y, _ := strings.Cut(text, " x ")
		return [2][]int{numbersIn(x), numbersIn(y)}
	}
	for i, side := range []string{left, right} {
		lists[i], _ = o.list(side)
	}
	return lists
}

var numberPattern = regexp.MustCompile(`-?\d+`)

func numbersIn(text string) []int {
	numbers := []int{}
	for _, word := range numberPattern.FindAllString(text, -1) {
		n, _ := strconv.Atoi(word)
		numbers = append(numbers, n)
	}
	return numbers
}

// want is list of an attribute that the op must have.
func (m *importer) want(o *op, name string) []int {
	numbers, ok := o.list(name)
	if !ok {
		m.refuse(o, "it has no %s", name)
	}
	return numbers
}

// scalar reads a number of an attribute: "dim = 0" or "iota_dimension = 0 : i64".
func (m *importer) scalar(o *op, name string) int {
	text, ok := o.attribute(name)
	n, err := strconv.Atoi(numberPattern.FindString(text))
	if !ok || err != nil {
		m.refuse(o, "it has no %s", name)
	}
	return n
}

// word reads a word of an attribute: "type = RFFT" or "fft_type = #stablehlo<fft_type RFFT>".
func (o *op) word(name string) string {
	text, _ := o.attribute(name)
	if text = strings.TrimSuffix(text, ">"); strings.Contains(text, " ") {
		text = text[strings.LastIndex(text, " ")+1:]
	}
	return text
}

// direction is how compare compares: "LT" of "LT, %0, %1, FLOAT".
func (o *op) direction() string {
	if word := o.word("comparison_direction"); word != "" {
		return word
	}
	word, _, _ := strings.Cut(strings.TrimSpace(o.head), ",")
	return word
}

// target is the function that a call or a custom call calls.
func (o *op) target() string {
	if name, ok := o.attribute("call_target_name"); ok {
		return strings.Trim(name, `"`)
	}
	return strings.Trim(strings.TrimPrefix(calleePattern.FindString(o.head), "@"), `"`)
}

// literal is the text of a constant: dense<…>.
func (o *op) literal() string {
	text, ok := o.attribute("value")
	if !ok || strings.HasPrefix(strings.TrimSpace(o.head), "dense<") {
		return o.head
	}
	if end := strings.LastIndex(text, " : "); end >= 0 {
		text = text[:end]
	}
	return text
}
