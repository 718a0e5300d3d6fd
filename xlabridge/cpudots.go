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

// turnDot rewrites one line, or returns it.
func turnDot(line string) string {
	const axes = "{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [%d], rhs_contracting_dimensions = [%d]>}"
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
	result, call, ok1 := strings.Cut(strings.TrimSpace(line), ` = "stablehlo.dot_general"(`)
	names, rest, ok2 := strings.Cut(call, ") {")
	dims, types, ok3 := strings.Cut(rest, "} : (")
	types, out, ok4 := strings.Cut(types, ") -> ")
	name, kind := strings.Split(names, ", "), strings.Split(types, ", ")
	if !ok1 || !ok2 || !ok3 || !ok4 || len(name) != 2 || len(kind) != 2 {
		return line
	}
	right := 0
	switch "{" + dims + "}" {
	case fmt.Sprintf(axes, 0, 0):
	case fmt.Sprintf(axes, 0, 1):
		right = 1
	default:
		return line
	}
	x, _ := parseType(kind[0])
	y, _ := parseType(kind[1])
	if len(x) != 2 || len(y) != 2 || !strings.HasSuffix(kind[0], "xf32>") || !strings.HasSuffix(kind[1], "xf32>") {
		return line
	}
	k, m, n := x[0], x[1], y[1-right]
	if k*m*n < leastTurned {
		return line
	}
	number := strings.TrimPrefix(result, "%") // unique, as every value has one name
	var b strings.Builder
	turn := func(from, to string, rows, columns int) {
		fmt.Fprintf(&b, "%s%s = \"stablehlo.custom_call\"(%s) {call_target_name = %q, api_version = 4 : i32, has_side_effect = false, backend_config = {}, "+
			"operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<%dx%dxf32>) -> tensor<%dx%dxf32>\n",
			indent, to, from, turnTarget, rows, columns, columns, rows)
	}
	turned, product := "%turned_"+number, "%product_"+number
	if right == 1 || k*m <= k*n+m*n {
		turn(name[0], turned, k, m)
		fmt.Fprintf(&b, "%s%s = \"stablehlo.dot_general\"(%s, %s) "+axes+" : (tensor<%dx%dxf32>, %s) -> %s\n",
			indent, result, turned, name[1], 1, right, m, k, kind[1], out)
		return b.String()
	}
	// The larger operand stays: the product the other way round, turned.
	turn(name[1], turned, k, n)
	fmt.Fprintf(&b, "%s%s = \"stablehlo.dot_general\"(%s, %s) "+axes+" : (tensor<%dx%dxf32>, %s) -> tensor<%dx%dxf32>\n",
		indent, product, turned, name[0], 1, 0, n, k, kind[0], n, m)
	turn(product, result, n, m)
	return b.String()
}
