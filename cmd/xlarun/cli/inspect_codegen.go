package cli

import (
	"fmt"
	"io"
	"reflect"
	"text/tabwriter"

	"xlarun/cmd/xlarun/console"
	"xlarun/graph/lower"
	"xlarun/xlabridge"
)

var errCodegen = console.BadInput("--codegen shows how XLA writes a program for this machine's CPU: leave " +
	"--topology out, and use --backend cpu")

// codegenDecision is what decided how XLA writes a program for a CPU: facts of the program, and the rules that held.
type codegenDecision struct {
	Facts lower.Facts  `json:"facts"`
	Rules []lower.Rule `json:"rules"`
}

func codegenOf(x *xlabridge.Compiled) (*codegenDecision, error) {
	rules, ok := x.Policy()
	if !ok {
		return nil, errCodegen
	}
	return &codegenDecision{x.Lowered.Facts, rules}, nil
}

// print lists the facts, then the rules.
func (p *codegenDecision) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(out, "\nfacts of the program (the documentation of lower.Facts says what they count)")
	facts := reflect.ValueOf(p.Facts)
	for i, f := range reflect.VisibleFields(facts.Type()) {
		text := fmt.Sprint(facts.Field(i))
		if f.Type.Kind() == reflect.Float64 {
			text = fmt.Sprintf("%.4g", facts.Field(i).Float())
		}
		fmt.Fprintf(w, "  %s\t%s\n", f.Name, text)
	}
	fmt.Fprintln(w, "rules of lower.Policy that hold; otherwise the compiler's defaults")
	for _, r := range p.Rules {
		fmt.Fprintf(w, "  %s\t%s: %s\n", r.Group, r.Name, r.Why)
	}
	return w.Flush()
}
