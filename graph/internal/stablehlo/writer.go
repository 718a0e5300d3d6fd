// Package stablehlo writes StableHLO programs as MLIR text in its generic form: names, operations, regions, functions,
// types and attributes. It knows nothing of graphs. A value is its SSA name, a type is its text.
package stablehlo

import (
	"fmt"
	"strconv"
	"strings"
)

// Writer collects the text of a function's body and of the private functions that it calls.
type Writer struct {
	text      []byte
	indent    string
	next      int               // of the numbered names
	functions map[string]string // private functions by name
	order     []string          // their names as they were added
}

// NewWriter returns a Writer for the body of a function of a module.
func NewWriter() *Writer {
	return &Writer{indent: "    ", functions: map[string]string{}}
}

// Fresh returns an SSA name that is not used yet.
func (w *Writer) Fresh() string {
	w.next++
	return "%" + strconv.Itoa(w.next)
}

// Print writes one line.
func (w *Writer) Print(parts ...string) {
	w.text = append(w.text, w.indent...)
	for _, p := range parts {
		w.text = append(w.text, p...)
	}
	w.text = append(w.text, '\n')
}

// Op writes an operation with one result and returns the result's name. args are the operands' names and in their
// types, separated by commas. attrs is empty or a list of attributes without braces. Regions come from Region.
func (w *Writer) Op(op, args, attrs, in, out string, regions ...string) string {
	name := w.Fresh()
	w.generic(name, op, args, attrs, in, regions, out)
	return name
}

// Ops writes an operation with any number of results: results is the left side of "=", empty if there are none, and out
// are the types.
func (w *Writer) Ops(results, op, args, attrs, in, out string, regions ...string) {
	w.generic(results, op, args, attrs, in, regions, "(", out, ")")
}

// generic writes an operation part by part: regions may be most of the program.
func (w *Writer) generic(results, op, args, attrs, in string, regions []string, out ...string) {
	parts := make([]string, 0, 16)
	if results != "" {
		parts = append(parts, results, " = ")
	}
	parts = append(parts, `"`, op, `"(`, args, ")")
	for i, r := range regions {
		before := ", "
		if i == 0 {
			before = " ("
		}
		parts = append(parts, before, r)
	}
	if len(regions) > 0 {
		parts = append(parts, ")")
	}
	if attrs != "" {
		parts = append(parts, " {", attrs, "}")
	}
	w.Print(append(append(parts, " : (", in, ") -> "), out...)...)
}

// Return writes the operation that ends a region or a function.
func (w *Writer) Return(op, args, in string) { w.Print(`"`, op, `"(`, args, ") : (", in, ") -> ()") }

// Constant writes a constant and returns its name; value is a literal with its type, as Dense returns it.
func (w *Writer) Constant(value, out string) string {
	return w.Op("stablehlo.constant", "", "value = "+value, "", out)
}

// Binary writes an operation of two operands of type t with a result of type t.
func (w *Writer) Binary(op, x, y, t string) string { return w.Op(op, x+", "+y, "", t+", "+t, t) }

// Compare writes a comparison of two values of type t and element type d; out is the type of the result.
func (w *Writer) Compare(direction string, d DType, x, y, t, out string) string {
	return w.Op("stablehlo.compare", x+", "+y, Comparison(direction, d), t+", "+t, out)
}

// Select writes the choice between two values of type t by a predicate of type mask.
func (w *Writer) Select(on, yes, no, mask, t string) string {
	return w.Op("stablehlo.select", on+", "+yes+", "+no, "", mask+", "+t+", "+t, t)
}

// Block returns what f writes, one level deeper.
func (w *Writer) Block(f func()) string { return w.blockAt(w.indent+"  ", f) }

func (w *Writer) blockAt(indent string, f func()) string {
	from, outside := len(w.text), w.indent
	w.indent = indent
	f()
	inside := string(w.text[from:])
	w.text, w.indent = w.text[:from], outside
	return inside
}

// Region returns a region with arguments of the given types. f writes its operations and its last one, Return.
func (w *Writer) Region(argTypes []string, f func(args []string)) string {
	args, header := make([]string, len(argTypes)), "{\n"
	if len(args) > 0 {
		params := make([]string, len(args))
		for i, t := range argTypes {
			args[i] = w.Fresh()
			params[i] = args[i] + ": " + t
		}
		header += w.indent + "^bb0(" + strings.Join(params, ", ") + "):\n"
	}
	end := w.indent + "}"
	return w.Block(func() {
		w.text = append(w.text, header...)
		f(args)
		w.text = append(w.text, end...)
	})
}

// Combiner returns a region over two scalars of type t with one operation.
func (w *Writer) Combiner(op, t string) string {
	return w.Region([]string{t, t}, func(args []string) {
		w.Return("stablehlo.return", w.Binary(op, args[0], args[1], t), t)
	})
}

// Body returns what f writes, indented as the body of a function.
func (w *Writer) Body(f func()) string { return w.blockAt("    ", f) }

// HasFunction reports whether the module has a private function of a name.
func (w *Writer) HasFunction(name string) bool { return w.functions[name] != "" }

// Function adds a private function to the module; its body includes the return.
func (w *Writer) Function(name, params, results, body string) {
	w.functions[name] = "  func.func private @" + name + "(" + params + ") -> (" + results + ") {\n" + body + "  }\n"
	w.order = append(w.order, name)
}

// Module returns the text of a module whose public function @main has the body that was written so far.
func (w *Writer) Module(name string, replicas int, params, results string) string {
	parts := []string{fmt.Sprintf("module @%s attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %d : i32}",
		moduleName(name), replicas), " {\n", "  func.func public @main(", params, ") -> (", results, ") {\n",
		string(w.text), "  }\n"}
	for _, f := range w.order {
		parts = append(parts, w.functions[f])
	}
	return strings.Join(append(parts, "}\n"), "")
}

// moduleName makes a symbol of any name.
func moduleName(s string) string {
	return "xlarun_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, s)
}
