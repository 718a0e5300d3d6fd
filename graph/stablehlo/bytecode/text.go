package bytecode

import (
	"fmt"
	"regexp"
	"strings"
)

// Text translates MLIR bytecode, or a file of Exported.serialize that holds it, to StableHLO text. An error is one
// sentence without the name of the file.
func Text(data []byte) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			err = e.error
		}
	}()
	if !Is(data) {
		inner, ok := Exported(data)
		if !ok {
			refuse("it is no MLIR bytecode")
		}
		if !whole(data) {
			refuse("this file of Exported.serialize ends too early: a part of it is missing")
		}
		data = inner
	}
	m := read(data)
	w := &writer{module: m, limit: maxGrowth*len(data) + 1<<16, aliases: map[int]int{}, forwarded: map[value]value{}}
	for _, o := range m.top() {
		w.top(o)
	}
	return w.text.String(), nil
}

// maxGrowth bounds the text: a file refers to a constant or a type by a number, and the text repeats it.
const maxGrowth = 64

// writer writes ops as text.
type writer struct {
	*module
	text      strings.Builder
	lineBytes int // of the line that is being made
	limit     int
	aliases   map[int]int     // by a block's number, that of the block whose parameters have the same names
	forwarded map[value]value // the operand of each op that returns it unchanged, by the op's result
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.text, format+"\n", args...)
	w.lineBytes = 0
	w.counted("")
}

// counted returns a part of the line that is being made. A line may have millions of parts, so each is counted.
func (w *writer) counted(text string) string {
	if w.lineBytes += len(text); w.text.Len()+w.lineBytes > w.limit {
		refuse("its text has more than %d times its size: one constant or type is used too often", maxGrowth)
	}
	return text
}

// typeText returns a type as text, and counts it.
func (w *writer) typeText(index uint64) string { return w.counted(w.module.typeText(index)) }

// top writes an op outside of functions.
func (w *writer) top(o *operation) {
	switch o.name {
	case "builtin.module":
		w.line("module {")
		for _, r := range o.regions {
			for _, inner := range r.ops {
				w.top(inner)
			}
		}
		w.line("}")
	case "vhlo.func_v1":
		w.function(o)
	case "sdy.mesh": // devices do not change a function
	default:
		refuse("it has the op %s outside of functions, want VHLO's functions: "+
			"write exported.mlir_module_serialized of jax.export", name(o.name))
	}
}

func (w *writer) function(o *operation) {
	a := w.attributesOf(o, form{"arg_attrs function_type res_attrs sym_name sym_visibility", nil})
	inputs, outputs := w.module.function(a.at["function_type"])
	if len(o.regions) != 1 || len(o.regions[0].params) != len(inputs) {
		refuse("a function has not the parameters of its type")
	}
	body := o.regions[0]
	params := make([]string, len(inputs))
	for i, p := range body.params {
		params[i] = w.value(p) + ": " + w.typeText(inputs[i])
		if label := body.labels[i]; len(label) <= maxLabel && plain.MatchString(label) {
			params[i] += w.counted(` loc("` + label + `")`)
		}
	}
	results := make([]string, len(outputs))
	for i, kind := range outputs {
		results[i] = w.typeText(kind)
	}
	w.line("func.func @%s(%s) -> (%s) {", w.symbol(a.text("sym_name")), strings.Join(params, ", "),
		strings.Join(results, ", "))
	w.body(body)
	w.line("}")
}

// maxLabel bounds the name of an argument: many arguments may refer to one name.
const maxLabel = 1 << 10

// plain are labels of arguments that need no escapes.
var plain = regexp.MustCompile(`^[ !#-$&-\[\]-~]+$`)

var odd = regexp.MustCompile(`[^\w.]`)

// word replaces the characters of a name that have a meaning in the text.
func word(text string) string { return odd.ReplaceAllString(text, "_") }

// symbol returns the name of a function. Different functions have different names.
func (w *writer) symbol(text string) string {
	if !odd.MatchString(text) && text != "" {
		return text
	}
	return fmt.Sprintf("%s-%x", word(text), text)
}

// source returns the value that a chain of ops returns unchanged.
func (w *writer) source(v value) value {
	if s, ok := w.forwarded[v]; ok {
		return s
	}
	return v
}

// value returns the name of a value, and counts it.
func (w *writer) value(v value) string {
	v = w.source(v)
	if alias, ok := w.aliases[v.op]; ok {
		v.op = alias
	}
	switch {
	case v.param:
		return w.counted(fmt.Sprintf("%%p%d_%d", v.op, v.part))
	case v.parts == 1:
		return w.counted(fmt.Sprintf("%%v%d", v.op))
	}
	return w.counted(fmt.Sprintf("%%v%d#%d", v.op, v.part))
}

func (w *writer) values(all []value) string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = w.value(v)
	}
	return strings.Join(names, ", ")
}

func (w *writer) operands(o *operation) string { return w.values(o.operands) }

// types returns the types of values, separated by commas.
func (w *writer) types(all []value) string {
	names := make([]string, len(all))
	for i, v := range all {
		names[i] = w.typeText(w.source(v).kind)
	}
	return strings.Join(names, ", ")
}

func (w *writer) body(r *region) {
	for _, o := range r.ops {
		w.operation(o)
	}
}

var versioned = regexp.MustCompile(`^vhlo\.([a-z0-9_]+)_v([0-9]+)$`)

// operation writes an op. It refuses unknown versions, which may mean something else.
func (w *writer) operation(o *operation) {
	switch o.name {
	// A sharding says on which devices a value lies. The ops around one change the dialect of its type.
	case "sdy.sharding_constraint", "builtin.unrealized_conversion_cast":
		if len(o.operands) != 1 || len(o.results) != 1 {
			refuse("%s has %d operands and %d results, want one", o.what(), len(o.operands), len(o.results))
		}
		w.forwarded[o.results[0]] = w.source(o.operands[0])
		return
	}
	parts := versioned.FindStringSubmatch(o.name)
	if parts == nil {
		refuse("it has the op %s, want those of VHLO: write exported.mlir_module_serialized of jax.export",
			name(o.name))
	}
	base := parts[1]
	f, ok := forms[base+"_v"+parts[2]]
	_, first := forms[base+"_v1"]
	if !ok && (first || parts[2] != "1" && parts[2] != "2") {
		refuse("it has the op %s, whose version is not known here", o.what())
	}
	text := "stablehlo." + base
	if base == "call" {
		text = base
	}
	switch {
	case ok && len(o.regions) > 0:
		w.generic(o, text, f.head(w, o, w.attributesOf(o, f)))
	case ok:
		w.statement(o, text, f.head(w, o, w.attributesOf(o, f)))
	case base == "return" && len(o.operands) == 0:
		w.line("stablehlo.return")
	case base == "return":
		w.line("stablehlo.return %s : %s", w.operands(o), w.types(o.operands))
	case base == "while":
		w.while(o)
	case base == "reduce":
		w.reduce(o)
	case len(o.regions) > 0:
		w.generic(o, text, "("+w.operands(o)+")")
	default:
		w.statement(o, text, " "+w.operands(o))
	}
}

// results returns the names of an op's results and an equals sign.
func (w *writer) results(o *operation) string {
	switch len(o.results) {
	case 0:
		return ""
	case 1:
		return w.value(o.results[0]) + " = "
	}
	return fmt.Sprintf("%%v%d:%d = ", o.results[0].op, len(o.results))
}

// signature returns the types of an op's operands and results.
func (w *writer) signature(o *operation) string {
	return "(" + w.types(o.operands) + ") -> (" + w.types(o.results) + ")"
}

func (w *writer) statement(o *operation, name, head string) {
	w.line("%s%s%s : %s", w.results(o), name, head, w.signature(o))
}

// while writes a loop. The parameters of its condition and of its body have the same names in the text.
func (w *writer) while(o *operation) {
	n := len(o.operands)
	if len(o.regions) != 2 || len(o.regions[0].params) != n || len(o.regions[1].params) != n {
		refuse("a while loop has not two regions with a parameter for each operand")
	}
	carry := make([]string, n)
	for i, p := range o.regions[0].params {
		carry[i] = w.value(p) + " = " + w.value(o.operands[i])
		w.aliases[o.regions[1].params[i].op] = p.op
	}
	w.line("%sstablehlo.while(%s) : %s", w.results(o), strings.Join(carry, ", "), w.types(o.operands))
	w.line("cond {")
	w.body(o.regions[0])
	w.line("} do {")
	w.body(o.regions[1])
	w.line("}")
}

// reduce writes a reduction. One by a single op of the two parameters has a short form.
func (w *writer) reduce(o *operation) {
	n := len(o.operands) / 2
	if n == 0 || len(o.operands) != 2*n || len(o.regions) != 1 || len(o.regions[0].params) != 2*n {
		refuse("a reduction has not two operands and two parameters for each result")
	}
	a := w.attributesOf(o, form{"dimensions", nil})
	body := o.regions[0]
	pairs := make([]string, n)
	for i := range pairs {
		pairs[i] = fmt.Sprintf("(%s init: %s)", w.value(o.operands[i]), w.value(o.operands[n+i]))
	}
	across := " across dimensions = " + a.brackets("dimensions")
	if by, ok := body.single(); ok {
		w.statement(o, "stablehlo.reduce", pairs[0]+" applies stablehlo."+by+across)
		return
	}
	w.statement(o, "stablehlo.reduce", strings.Join(pairs, ", ")+across)
	for i := range pairs {
		left, right := body.params[i], body.params[n+i]
		pairs[i] = fmt.Sprintf("(%s: %s, %s: %s)", w.value(left), w.typeText(left.kind), w.value(right),
			w.typeText(right.kind))
	}
	w.line("reducer%s {", strings.Join(pairs, " "))
	w.body(body)
	w.line("}")
}

// single returns the name of the only op of a region if that op takes the region's two parameters.
func (r *region) single() (by string, ok bool) {
	if len(r.params) != 2 || len(r.ops) != 2 || len(r.ops[0].results) != 1 {
		return "", false
	}
	inner, last := r.ops[0], r.ops[1]
	parts := versioned.FindStringSubmatch(inner.name)
	ok = parts != nil && parts[2] == "1" && forms[parts[1]+"_v1"].head == nil && len(inner.regions) == 0 &&
		len(inner.operands) == 2 && inner.operands[0] == r.params[0] && inner.operands[1] == r.params[1] &&
		last.name == "vhlo.return_v1" && len(last.operands) == 1 && last.operands[0] == inner.results[0]
	if !ok {
		return "", false
	}
	return parts[1], true
}

// generic writes an op with regions in MLIR's form for any op.
func (w *writer) generic(o *operation, text, head string) {
	w.line("%s\"%s\"%s ({", w.results(o), text, head)
	for i, r := range o.regions {
		if i > 0 {
			w.line("}, {")
		}
		if len(r.params) > 0 {
			params := make([]string, len(r.params))
			for i, p := range r.params {
				params[i] = w.value(p) + ": " + w.typeText(p.kind)
			}
			w.line("^bb0(%s):", strings.Join(params, ", "))
		}
		w.body(r)
	}
	w.line("}) : %s", w.signature(o))
}
