package xlabridge

import "strings"

// instruction is a line of a program in graph's StableHLO, in parts.
type instruction struct {
	indent, result string
	operands       []string
	attributes     string   // without braces
	types          []string // of the operands
	out            string   // the result's type
}

// parseInstruction reads a line that calls the op and has one result.
func parseInstruction(line, op string) (i instruction, ok bool) {
	i.indent = line[:len(line)-len(strings.TrimLeft(line, " "))]
	result, call, ok1 := strings.Cut(strings.TrimSpace(line), ` = "stablehlo.`+op+`"(`)
	operands, rest, ok2 := strings.Cut(call, ")")
	attributes, types, ok3 := strings.Cut(rest, " : (")
	types, out, ok4 := strings.Cut(types, ") -> ")
	i.result, i.operands, i.types, i.out = result, strings.Split(operands, ", "), strings.Split(types, ", "), out
	i.attributes = strings.TrimSuffix(strings.TrimPrefix(attributes, " {"), "}")
	return i, ok1 && ok2 && ok3 && ok4 && len(i.operands) == len(i.types)
}

// line is the instruction as a call of another op.
func (i instruction) line(op string) string {
	return i.indent + i.result + ` = "stablehlo.` + op + `"(` + strings.Join(i.operands, ", ") + ") {" + i.attributes + "} : (" +
		strings.Join(i.types, ", ") + ") -> " + i.out + "\n"
}

// call is the instruction as a call of a kernel of our own, its attributes those that every such call has and more.
func (i instruction) call(target, more string) string {
	i.attributes = `call_target_name = "` + target + `", api_version = 4 : i32, has_side_effect = false, ` + more
	return i.line("custom_call")
}
