package xlabridge

import (
	"fmt"
	"strings"
)

// A product whose left operand is contracted along its rows, as in every weight's gradient, is one that XLA's CPU backend
// gives to oneDNN, not to the library that does other products. oneDNN writes its code when it is first called, which
// takes 20 to 40 ms of each process; from there on the two are equally fast. So on CPU a kernel of our own turns an
// operand first. (XLA's own transpose would be folded into the product again.)

// turnTarget is the name of that kernel.
const turnTarget = "xlarun_turn"

// leastTurned is the number of multiplications from which a product is written otherwise. Tests set it to 0.
var leastTurned = 1 << 18

// turnDots rewrites the products of a program in graph's StableHLO.
func turnDots(program string) string {
	if !strings.Contains(program, "lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [0]") {
		return program
	}
	var b strings.Builder
	for line := range strings.Lines(program) {
		if strings.Contains(line, "stablehlo.dot_general") {
			line = turnDot(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// dotAxes are the attributes of a product of matrices without batch axes, by the axes that are contracted.
const dotAxes = "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [%d], rhs_contracting_dimensions = [%d]>"

// turnDot rewrites one line, or returns it.
func turnDot(line string) string {
	dot, ok := parseInstruction(line, "dot_general")
	if !ok {
		return line
	}
	right := 0
	switch dot.attributes {
	case fmt.Sprintf(dotAxes, 0, 0):
	case fmt.Sprintf(dotAxes, 0, 1):
		right = 1
	default:
		return line
	}
	x, _ := parseType(dot.types[0])
	y, _ := parseType(dot.types[1])
	if len(x) != 2 || len(y) != 2 || !strings.HasSuffix(dot.types[0], "xf32>") || !strings.HasSuffix(dot.types[1], "xf32>") {
		return line
	}
	k, m, n := x[0], x[1], y[1-right]
	if k*m*n < leastTurned {
		return line
	}
	matrix := func(rows, columns int) string { return fmt.Sprintf("tensor<%dx%dxf32>", rows, columns) }
	turn := func(from, to string, rows, columns int) string {
		i := instruction{indent: dot.indent, result: to, operands: []string{from}, types: []string{matrix(rows, columns)}, out: matrix(columns, rows)}
		return i.call(turnTarget, "backend_config = {}, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]")
	}
	number := strings.TrimPrefix(dot.result, "%") // unique, as every value has one name
	turned, product := "%turned_"+number, "%product_"+number
	if right == 1 || k*m <= k*n+m*n {
		first := turn(dot.operands[0], turned, k, m)
		dot.operands[0], dot.types[0], dot.attributes = turned, matrix(m, k), fmt.Sprintf(dotAxes, 1, right)
		return first + dot.line("dot_general")
	}
	// The larger operand stays: the product the other way round, turned.
	first, last := turn(dot.operands[1], turned, k, n), turn(product, dot.result, n, m)
	dot.operands, dot.types = []string{turned, dot.operands[0]}, []string{matrix(n, k), dot.types[0]}
	dot.result, dot.attributes, dot.out = product, fmt.Sprintf(dotAxes, 1, 0), matrix(n, m)
	return first + dot.line("dot_general") + last
}
