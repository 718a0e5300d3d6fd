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
			if i, ok := parseInstruction(line, "broadcast_in_dim"); ok {
				// The number keeps XLA from making one array of two.
				number++
				i.operands, i.types = nil, nil
				line = i.call(unsetTarget, fmt.Sprintf("backend_config = {number = %d : i64}", number))
			}
		}
		b.WriteString(line)
	}
	return b.String()
}
