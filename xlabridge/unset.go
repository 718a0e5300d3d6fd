package xlabridge

import (
	"fmt"
	"strings"

	"xlarun/graph"
)

// unsetTarget is the name of the kernel that leaves its result as it is.
const unsetTarget = "xlarun_unset"

// leaveUnset makes calls of that kernel of the arrays that graph marks as written before they are read, and saves the
// writing of zeros: what a scan stacks is often most of what a training step writes.
func leaveUnset(program string) string {
	if !strings.Contains(program, graph.UnsetMark) {
		return program
	}
	var b strings.Builder
	number := 0
	for line := range strings.Lines(program) {
		if strings.Contains(line, graph.UnsetMark) {
			indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
			result, rest, ok1 := strings.Cut(strings.TrimSpace(line), " = ")
			_, kind, ok2 := strings.Cut(rest, ") -> ")
			if ok1 && ok2 {
				// The number keeps XLA from making one array of two.
				number++
				line = fmt.Sprintf("%s%s = \"stablehlo.custom_call\"() {call_target_name = %q, api_version = 4 : i32, has_side_effect = false, backend_config = {number = %d : i64}} : () -> %s\n",
					indent, result, unsetTarget, number, kind)
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
