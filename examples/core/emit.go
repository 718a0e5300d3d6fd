package core

import (
	"fmt"
	"strings"
)

// String is the shape in StableHLO: tensor<3x2xf32>.
func (s Shape) String() string {
	return "tensor<" + strings.Join(append(strings.Fields(strings.Trim(fmt.Sprint([]int(s)), "[]")), "f32>"), "x")
}

// emitModule writes a graph as a StableHLO module.
func emitModule(name string, g *Graph) string {
	names, last := map[*Array]string{}, 0
	fresh := func() string { last++; return fmt.Sprint("%", last) }
	var params []string
	for i, p := range g.Params {
		names[p] = fmt.Sprint("%arg", i)
		params = append(params, fmt.Sprint(names[p], ": ", p.shape))
	}
	text := fmt.Sprintf("module @%s {\n  func.func public @main(%s) -> (%s) {\n", name, strings.Join(params, ", "),
		g.Result.shape)
	for _, n := range g.Nodes {
		in, types, attrs := lookUp(names, n.Inputs), shapesOf(n.Inputs), n.Op.Emit(n)
		if n.Op == sumOp { // from 0 on, by a body that adds two numbers
			zero, x, y, sum, number := fresh(), fresh(), fresh(), fresh(), Shape{}
			text += fmt.Sprintf("    %s = \"stablehlo.constant\"() {value = dense<0x00000000> : %s} : () -> (%[2]s)\n",
				zero, number)
			attrs = fmt.Sprintf(` ({
    ^bb0(%[1]s: %[4]s, %[2]s: %[4]s):
      %[3]s = "stablehlo.add"(%[1]s, %[2]s) : (%[4]s, %[4]s) -> (%[4]s)
      "stablehlo.return"(%[3]s) : (%[4]s) -> ()
    })`, x, y, sum, number) + attrs
			in, types = append(in, zero), append(types, number)
		}
		names[n.Out] = fresh()
		text += fmt.Sprintf("    %s = \"stablehlo.%s\"(%s)%s : (%s) -> (%s)\n", names[n.Out], n.Op.Name, list(in),
			attrs, list(types), n.Out.shape)
	}
	return text + fmt.Sprintf("    \"func.return\"(%s) : (%s) -> ()\n  }\n}\n", names[g.Result], g.Result.shape)
}

// list writes the elements of a slice with commas between them.
func list(slice any) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(slice), "[]"), " ", ", ")
}
