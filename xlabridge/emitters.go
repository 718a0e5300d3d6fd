package xlabridge

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// XLA's CPU compiler has two ways to write the code of a kernel. The newer goes through MLIR and gives each kernel a
// module of its own to LLVM; it takes two to three times as long for code of the same speed: the smallest kernel costs 14 ms
// of a core, against 6. With the older, and with LLVM's loop unrolling off, CartPole's first generation comes in 0.5 instead
// of 1.3 s. But the older has lost the way to write into a part of an array in place: it copies the whole array each time. So
// it is used where no large array is written to in part, or only by whole rows, which a kernel of our own does (rowsTarget).

// olderEmitters are the extra options that choose the older way.
const olderEmitters = "xla_cpu_disable_new_fusion_emitters,xla_cpu_disable_loop_unrolling"

// codegenSplit is the option with the number of LLVM modules that the kernels are put into, which are compiled in
// parallel. Each has a cost of its own.
const codegenSplit = "xla_cpu_parallel_codegen_split_count"

const mostModules = 8

// rowsTarget is the name of the kernel that writes rows.
const rowsTarget = "xlarun_write_rows"

// smallUpdate is the size in bytes above which an array is too large to be copied for each part that is written. Tests set
// it to 0.
var smallUpdate = 4096

// writesParts are ops that XLA turns into loops that write parts of arrays.
var writesParts = []string{"scatter", "select_and_scatter", "cholesky", "triangular_solve"}

// elementBytes are the sizes of MLIR's element types.
var elementBytes = map[string]int{"i1": 1, "i8": 1, "ui8": 1, "i16": 2, "ui16": 2, "f16": 2, "bf16": 2, "i32": 4, "ui32": 4, "f32": 4, "i64": 8, "ui64": 8, "f64": 8}

// chooseEmitters prepares a program in graph's StableHLO for XLA's CPU compiler: it returns the program, with updates of
// large arrays by whole rows as calls of our kernel, and the options that choose how its kernels are written. Where the
// program writes parts of large arrays otherwise it is returned as it is, and no options.
func chooseEmitters(program string) (string, map[string]any) {
	for _, op := range writesParts {
		if strings.Contains(program, "stablehlo."+op) {
			return program, nil
		}
	}
	var b strings.Builder
	for line := range strings.Lines(program) {
		if strings.Contains(line, "stablehlo.dynamic_update_slice") {
			u, ok := parseUpdate(line)
			switch {
			case !ok:
				return program, nil
			case u.bytes <= smallUpdate:
			case u.rows():
				line = u.writeRows()
			default:
				return program, nil
			}
		}
		b.WriteString(line)
	}
	return b.String(), map[string]any{extraOptions: olderEmitters, codegenSplit: min(runtime.NumCPU(), mostModules)}
}

// update is a line with a dynamic_update_slice.
type update struct {
	instruction
	dims, partDims []int
	bytes          int // of the array
}

// parseUpdate reads a line as the emitter of graph writes it.
func parseUpdate(line string) (update, bool) {
	i, ok := parseInstruction(line, "dynamic_update_slice")
	if !ok || len(i.operands) < 3 {
		return update{}, false
	}
	dims, size := parseType(i.types[0])
	partDims, partSize := parseType(i.types[1])
	if size == 0 || partSize == 0 || len(dims) != len(partDims) {
		return update{}, false
	}
	for _, d := range dims {
		size *= d
	}
	return update{i, dims, partDims, size}, true
}

// parseType reads tensor<2x3xf32>: its dimensions and the size of an element, 0 where it is something else.
func parseType(s string) ([]int, int) {
	s, ok1 := strings.CutPrefix(s, "tensor<")
	s, ok2 := strings.CutSuffix(s, ">")
	if !ok1 || !ok2 {
		return nil, 0
	}
	parts := strings.Split(s, "x")
	dims := make([]int, len(parts)-1)
	for i := range dims {
		var err error
		if dims[i], err = strconv.Atoi(parts[i]); err != nil {
			return nil, 0
		}
	}
	return dims, elementBytes[parts[len(parts)-1]]
}

// rows tells whether whole rows are written, one behind the other in memory, at a place that is an int32.
func (u update) rows() bool {
	return len(u.dims) > 0 && slices.Equal(u.dims[1:], u.partDims[1:]) && u.types[2] == "tensor<i32>"
}

// writeRows is the same as a call of the kernel, which writes into the array that it gets.
func (u update) writeRows() string {
	u.operands, u.types = u.operands[:3], u.types[:3]
	return u.call(rowsTarget, "backend_config = {}, output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]")
}
