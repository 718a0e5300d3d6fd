package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
)

// instructions counts the arithmetic instructions of a function's machine code on float32 numbers.
type instructions struct {
	Packed   int `json:"packed"`      // on vectors
	Bits     int `json:"vector_bits"` // of the widest vectors
	Scalar   int `json:"scalar"`      // on one number
	Gathers  int `json:"gathers"`
	Scatters int `json:"scatters"`
}

// Mnemonics of SSE, AVX and AVX-512 on float32: sums, products, and both in one.
var (
	packedLine  = regexp.MustCompile(`(?m)\sv?(?:add|sub|mul|fn?m(?:add|sub)\d+)ps\s.*%([xyz])mm`)
	scalarLine  = regexp.MustCompile(`(?m)\sv?(?:add|sub|mul|fn?m(?:add|sub)\d+)ss\s`)
	gatherLine  = regexp.MustCompile(`(?m)\svgatherdps\s`)
	scatterLine = regexp.MustCompile(`(?m)\svscatterdps\s`)
)

// countInstructions counts in what objdump prints of a function.
func countInstructions(text string) (n instructions) {
	widths := map[string]int{"x": 128, "y": 256, "z": 512}
	for _, m := range packedLine.FindAllStringSubmatch(text, -1) {
		n.Packed++
		n.Bits = max(n.Bits, widths[m[1]])
	}
	n.Scalar = len(scalarLine.FindAllString(text, -1))
	n.Gathers, n.Scatters = len(gatherLine.FindAllString(text, -1)), len(scatterLine.FindAllString(text, -1))
	return n
}

// disassemble counts the instructions of a function of a program. An error says why it is not known.
func disassemble(ctx context.Context, program, function string) (n instructions, err error) {
	objdump, err := exec.LookPath("objdump")
	if err != nil {
		return n, fmt.Errorf("the machine code was not checked, as there is no objdump in the PATH: install binutils")
	}
	text, err := outputOf(exec.CommandContext(ctx, objdump, "-d", "--no-show-raw-insn", "--disassemble="+function,
		program))
	if err != nil {
		return n, fmt.Errorf("the machine code of %s was not checked: objdump: %w", function, err)
	}
	n = countInstructions(text)
	if n.Packed+n.Scalar == 0 {
		return n, fmt.Errorf("the machine code of %s was not checked, as %s has no symbols for it: build it with "+
			"go build, on x86-64", function, program)
	}
	return n, nil
}

// String returns the counts in words.
func (n instructions) String() string {
	text := fmt.Sprintf("%d packed (%d bits), %d scalar", n.Packed, n.Bits, n.Scalar)
	if n.Packed == 0 {
		text = fmt.Sprintf("not vectorized, %d scalar", n.Scalar)
	}
	if n.Gathers+n.Scatters > 0 {
		text += fmt.Sprintf(", %d gathers, %d scatters", n.Gathers, n.Scatters)
	}
	return text
}
