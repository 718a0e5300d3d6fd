package mjcf

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// element is one of a document's, with the place where it stands.
type element struct {
	file     string
	line     int
	name     string
	attrs    map[string]string
	children []*element
}

// parse reads a document, with those that it includes in their places. seen are the files before it.
func parse(files fs.FS, name string, seen map[string]bool) *element {
	stop := func(line int, err error) { panic(failure{fmt.Errorf("%s:%d: %w", name, line, err)}) }
	f, err := files.Open(name)
	if err != nil {
		panic(failure{err})
	}
	seen[name] = true
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		panic(failure{err})
	} else if info.Size() > maxBytes {
		panic(failure{fmt.Errorf("%s: it has %d bytes: want at most %d", name, info.Size(), maxBytes)})
	}
	d := xml.NewDecoder(f)
	var open []*element
	var root *element
	for {
		token, err := d.Token()
		line, _ := d.InputPos()
		var bad *xml.SyntaxError
		switch {
		case errors.Is(err, io.EOF) && root != nil:
			return root
		case errors.Is(err, io.EOF):
			stop(line, errors.New("the document has no element: want <mujoco>"))
		case errors.As(err, &bad):
			stop(bad.Line, errors.New(bad.Msg))
		case err != nil:
			stop(line, err)
		}
		switch t := token.(type) {
		case xml.StartElement:
			e := &element{file: name, line: line, name: t.Name.Local, attrs: map[string]string{}}
			for _, a := range t.Attr {
				if _, twice := e.attrs[a.Name.Local]; twice {
					e.fail("attribute %s stands twice", a.Name.Local)
				}
				e.attrs[a.Name.Local] = a.Value
			}
			if len(open) == maxDepth {
				e.fail("elements are %d deep: want less", maxDepth)
			}
			if len(open) > 0 {
				open[len(open)-1].children = append(open[len(open)-1].children, e)
			} else {
				root = cmp.Or(root, e)
			}
			open = append(open, e)
		case xml.EndElement:
			e := open[len(open)-1]
			open = open[:len(open)-1]
			if e.name != "include" {
				continue
			}
			file := e.check().text("file", "")
			if len(open) == 0 || file == "" || path.IsAbs(file) {
				e.fail("want file=PATH, relative to the folder of the model, inside of <mujoco>")
			}
			file = path.Join(path.Dir(name), file)
			if seen[file] {
				e.fail("file=%q: it is read already, and a file is included once", file)
			}
			if _, err := fs.Stat(files, file); err != nil {
				e.fail("file=%q: %v", file, cmp.Or(errors.Unwrap(err), err))
			}
			above := open[len(open)-1]
			above.children = append(above.children[:len(above.children)-1], parse(files, file, seen).children...)
		}
	}
}

const maxDepth, maxBytes = 1000, 16 << 20

// all are the children with a name.
func (e *element) all(name string) (out []*element) {
	for _, c := range e.children {
		if c.name == name {
			out = append(out, c)
		}
	}
	return out
}

// fail ends the reading with a sentence about the element.
func (e *element) fail(format string, args ...any) {
	name := ""
	if n := e.attrs["name"]; n != "" {
		name = fmt.Sprintf(" name=%q", n)
	}
	panic(failure{fmt.Errorf("%s:%d: <%s%s>: %s", e.file, e.line, e.name, name, fmt.Sprintf(format, args...))})
}

// check refuses attributes and children that are not in the table of elements.
func (e *element) check() attributes {
	s, ok := elements[e.name]
	if !ok {
		e.fail("it is not supported: leave it out")
	}
	for _, name := range slices.Sorted(maps.Keys(e.attrs)) {
		if slices.Contains(s.read, name) || slices.Contains(s.skip, name) {
			continue
		}
		value := strings.Join(strings.Fields(e.attrs[name]), " ")
		want, ok := s.only[name]
		if !ok {
			e.fail("%s=%q is not supported: leave it out", name, value)
		}
		if value != want && !sameNumbers(value, want) {
			e.fail("%s=%q is not supported: want %s, or leave it out", name, value, want)
		}
	}
	for _, c := range e.children {
		if !slices.Contains(s.children, c.name) && !slices.Contains(skipped, c.name) && e.name != "default" {
			do := "leave it out"
			switch c.name {
			case "frame":
				do = "put its children in its place, with its position and orientation added"
			case "replicate":
				do = "put its children in its place, once for each copy, with the position and orientation added"
			}
			c.fail("<%s> in <%s> is not supported: %s", c.name, e.name, do)
		}
	}
	return attributes{e, e.attrs}
}

// sameNumbers says whether a value is a row of one number.
func sameNumbers(value, want string) bool {
	w, err := strconv.ParseFloat(want, 64)
	for _, field := range strings.Fields(value) {
		if x, bad := strconv.ParseFloat(field, 64); err != nil || bad != nil || x != w {
			return false
		}
	}
	return value != ""
}

// attributes are an element's, with those of its class.
type attributes struct {
	*element
	values map[string]string
}

func (a attributes) has(name string) bool { _, ok := a.values[name]; return ok }

func (a attributes) text(name, otherwise string) string {
	if v, ok := a.values[name]; ok {
		return v
	}
	return otherwise
}

func (a attributes) word(name, otherwise string, words ...string) string {
	v := a.text(name, otherwise)
	if !slices.Contains(words, v) {
		a.fail("%s=%q is not supported: want %s", name, v, strings.Join(words, ", "))
	}
	return v
}

func (a attributes) flag(name string, otherwise bool) bool {
	return a.word(name, strconv.FormatBool(otherwise), "true", "false") == "true"
}

// enabled is a flag of <flag>, which is on if it is not said.
func (a attributes) enabled(name string) bool {
	return a.word(name, "enable", "enable", "disable") == "enable"
}

func (a attributes) number(name string, otherwise float64) float64 {
	v := [1]float64{otherwise}
	a.numbers(name, v[:], 1)
	return v[0]
}

// integer is at least 0.
func (a attributes) integer(name string, otherwise int) int {
	x := a.number(name, float64(otherwise))
	if x != float64(int(x)) || x < 0 {
		a.fail("%s=%q: want a whole number of at least 0", name, a.values[name])
	}
	return int(x)
}

// numbers reads at least some and at most len(to) numbers; those that are not given stay. It says how many it read.
func (a attributes) numbers(name string, to []float64, least int) int {
	v, ok := a.values[name]
	if !ok {
		return 0
	}
	fields := strings.Fields(v)
	if len(fields) < least || len(fields) > len(to) {
		want := fmt.Sprint(least)
		if len(to) > least {
			want += fmt.Sprint(" to ", len(to))
		}
		a.fail("%s=%q: want %s numbers", name, v, want)
	}
	for i, f := range fields {
		x, err := strconv.ParseFloat(f, 64)
		if err != nil || !finite(x) {
			a.fail("%s=%q: %q is not a finite number", name, v, f)
		}
		to[i] = x
	}
	return len(fields)
}
