package stablehlo_test

import (
	"encoding/binary"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/graph/stablehlo/bytecode"
)

// num is a number as MLIR bytecode has it: in one byte, or in nine.
func num(n uint64) []byte {
	if n < 1<<7 {
		return []byte{byte(n<<1 | 1)}
	}
	return binary.LittleEndian.AppendUint64([]byte{0}, n)
}

// seq is some bytes and numbers one after the other.
func seq(parts ...any) (out []byte) {
	for _, p := range parts {
		switch p := p.(type) {
		case int:
			out = append(out, num(uint64(p))...)
		case byte:
			out = append(out, p)
		case []byte:
			out = append(out, p...)
		}
	}
	return out
}

// signed is a number in zigzag form that is not negative.
func signed(n int) []byte { return num(uint64(n) << 1) }

// The strings and the types that hostile files refer to.
var hostileStrings = []string{"builtin", "vhlo", "module", "func_v1", "reverse_v1", "return_v1", "constant_v1", "main",
	strings.Repeat("x", 1000)}

const i64Type, tensorType, signature = 0, 1, 2

// hostile is a file of one function with one parameter a copy. All have the type tensor<sizes x i64>. The body is one
// op of the name and the properties, with the parameter as operand as often as operands says.
func hostile(sizes []int, params, operands, outputs, op int, list []byte) []byte {
	section := func(kind byte, content []byte) []byte { return seq(kind, len(content), content) }
	group := func(dialect int, entries ...[]byte) (heads, contents []byte) {
		heads = seq(dialect, len(entries))
		for _, e := range entries {
			heads, contents = seq(heads, len(e)<<1|1), seq(contents, e)
		}
		return heads, contents
	}
	tensor := seq(20, len(sizes))
	for _, n := range sizes {
		tensor = seq(tensor, signed(n))
	}
	repeated := func(n int, what ...any) []byte { return []byte(strings.Repeat(string(seq(what...)), n)) }

	stringHeads, stringBytes := seq(len(hostileStrings)), []byte{}
	for i := range hostileStrings {
		stringHeads = seq(stringHeads, len(hostileStrings[len(hostileStrings)-1-i])+1)
		stringBytes = seq(stringBytes, []byte(hostileStrings[i]), byte(0))
	}
	// VHLO's attributes: the function's type, its name, a list. MLIR's own: a name of a location, and its string.
	attributes, attributeBytes := group(1, seq(17, signature), seq(14, 7), seq(15, tensorType, len(list), list))
	own, ownBytes := group(0, seq(14, 4), seq(2, 8))
	types, typeBytes := group(1, seq(14), seq(tensor, i64Type),
		seq(8, params, repeated(params, tensorType), outputs, repeated(outputs, tensorType)))
	body := seq(2<<1|1, params, repeated(params, tensorType<<1|1, 3), byte(0),
		op, byte(1<<6|1<<2), 3, 1, operands, repeated(operands, 0), // with properties and operands
		3, byte(1<<2), 3, 1, 0) // return
	function := seq(1, byte(1<<6|1<<4), 3, 0, 1<<1, 1, params, body)
	return seq([]byte("ML\xefR"), 6, byte(0),
		section(0, seq(stringHeads, stringBytes)),
		section(1, seq(2, 0, 1<<1, 5, 0, 1, 2<<1, 1, 4, 3<<1, 4<<1, 5<<1, 6<<1)),
		section(2, seq(attributeBytes, ownBytes, typeBytes)),
		section(3, seq(5, 3, attributes, own, types)),
		section(4, seq(1<<1, 0, byte(1<<4), 3, 1<<1, 1, 0, 1<<1, function)),
		section(8, seq(2, 5, seq(0, 0, 0, 1, 0), 1, seq(2))))
}

const reverseOp, returnOp = 2, 3

func repeatedSize(size, axes int) []int {
	sizes := make([]int, axes)
	for i := range sizes {
		sizes[i] = size
	}
	return sizes
}

// The size of a tensor is refused before the product of its axes overflows.
func TestSizesOverflow(t *testing.T) {
	one := make([]byte, 8)
	negative, zero := []int{1 << 40, 1 << 23}, []int{1 << 32, 1 << 32}
	for _, c := range []struct {
		name  string
		sizes []int
		list  []byte
		want  string
	}{
		{"a negative product", negative, one, "1099511627776x8388608xi64>, whose size is not known here"},
		{"a product of zero", zero, nil, "4294967296x4294967296xi64>, whose size is not known here"},
		{"no elements", []int{0, 1 << 40}, nil, ""},
		{"one element for all", []int{4}, one, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := bytecode.Text(hostile(c.sizes, 1, 1, 1, reverseOp, c.list))
			if c.want == "" {
				require.NoError(t, err)
				require.Contains(t, text, "stablehlo.reverse %p")
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	// Both are seeds of the fuzz target.
	for file, sizes := range map[string][]int{"negative_product": negative, "zero_product": zero} {
		seed, err := os.ReadFile("testdata/fuzz/FuzzBytecode/" + file)
		require.NoError(t, err)
		raw := hostile(sizes, 1, 1, 1, reverseOp, one)
		require.Equal(t, "go test fuzz v1\n[]byte("+strconv.Quote(string(raw))+")\n", string(seed))
	}
}

// A long line is refused while it is made: its memory is in proportion to the file.
func TestLongLines(t *testing.T) {
	wide := repeatedSize(1<<62-1, 64)
	for _, c := range []struct {
		name string
		file []byte
	}{
		{"the types of operands", hostile(wide, 1, 20_000, 1, returnOp, nil)},
		{"the types of outputs", hostile(wide, 1, 1, 20_000, returnOp, nil)},
		{"the names of parameters", hostile([]int{1}, 10_000, 1, 1, returnOp, nil)},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := bytecode.Text(c.file)
			runtime.ReadMemStats(&after)
			require.ErrorContains(t, err, "its text has more than 64 times its size")
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1000*len(c.file)))
		})
	}
}
