// Package settings makes flags, file keys, ranges, help and a program's inputs from one tagged struct.
//
// A setting is an exported field with a tag, which may be long:
//
//	type OpenES struct {
//		LearningRate settings.Number `set:"learning-rate" above:"0" help:"step size of Adam"`
//		Pairs        int             `set:"pairs" min:"1" max:"4096" help:"pairs that share a batch"`
//	}
//
// The value of a field before it is set is the default. Types: bool, int, int64, float64, string, []int, []float64
// (with commas), Bytes, Number and Pairs. Keys of a tag:
//
//	set          name of the setting
//	help         what it is, for --help
//	short        letter of a short flag
//	min, max     bounds
//	above        exclusive lower bound
//	oneof        the possible texts, with commas
//	zero         what 0 means
//	number       a text that may be a number in a config file
//	wants        the possible values, if the keys above do not say all
//	each         a Number that may have several values
//	needs        what others must be for this one to have an effect: "encoder=population|delta"; see Field.Needs
//	advanced     seldom needed: the help of a command only names it
//	args         the value may stand after the colon of the part's name
//	program:"no" a change does not change the compiled program
//	flag         why only a command line may give it, and no file: "names code to load"; see Field.FlagOnly
//	path:"local" a config file may give it only as a path below the working directory
//	resume:"any" a resumed run may have another value; resume:"goal": and it says when the run is done
//
// Fields of embedded structs count as the struct's own. They have the embedded field's tags, too.
package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Error reports a wrong setting.
type Error struct {
	Key   string // the setting's name
	Got   string // its value
	Wants string // the possible values, and what to do
}

// Error implements error: "pop: got 0, want an even number from 2 to 16777216".
func (e *Error) Error() string { return fmt.Sprintf("%s: got %s, want %s", e.Key, e.Got, e.Wants) }

// Wrong returns an Error. got is printed as by fmt.Print, with texts in quotes.
func Wrong(key string, got any, wants string, args ...any) *Error {
	text := fmt.Sprint(got)
	if s, ok := got.(string); ok {
		text = strconv.Quote(shorten(s))
	}
	return &Error{key, text, fmt.Sprintf(wants, args...)}
}

// longest is the length of the longest value that is shown whole.
const longest = 80

func shorten(s string) string {
	if len(s) <= longest {
		return s
	}
	return s[:longest/2] + "…" + fmt.Sprintf("(%d bytes)", len(s))
}

// Field is one setting of a struct.
type Field struct {
	Name    string
	Help    string
	Short   string // letter of a short flag; "" for none
	Type    string // "int", "number", "bool", "text", "ints", "numbers", "bytes", "pairs"
	Default string // as text
	Wants   string // the possible values: "a whole number from 1 to 64"
	Traced  bool   // the setting is a Number, an input of the compiled program
	// Advanced reports that the setting is seldom needed, so that the help of a command only names it.
	Advanced bool
	tag      reflect.StructTag
	value    reflect.Value
}

var numberType = reflect.TypeFor[Number]()

// Fields lists the settings of the struct that ptr points to, in order. Their Default is the current value.
func Fields(ptr any) (fields []Field) {
	v, all := described(ptr)
	for _, d := range all {
		fields = append(fields, d.in(v))
	}
	return fields
}

// description is a setting of a type of structs: the field without its value, and where it is.
type description struct {
	Field
	index []int
}

// in returns the setting with its value in a struct.
func (d *description) in(v reflect.Value) Field {
	f := d.Field
	f.value = v.FieldByIndex(d.index)
	f.Default = f.Text()
	return f
}

// descriptions keeps what describe returns: commands list the settings of one struct many times, at every start.
var descriptions sync.Map

// described returns the struct that ptr points to and the descriptions of its settings; none for other values.
func described(ptr any) (reflect.Value, []description) {
	v := reflect.ValueOf(ptr)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return v, nil
	}
	v = v.Elem()
	all, known := descriptions.Load(v.Type())
	if !known {
		all, _ = descriptions.LoadOrStore(v.Type(), describe(v.Type(), "", nil))
	}
	return v, all.([]description)
}

// describe describes the settings of a type. outer has the tags that all of them have, and at is where the struct is.
func describe(t reflect.Type, outer reflect.StructTag, at []int) (all []description) {
	for i := range t.NumField() {
		f, index := t.Field(i), append(slices.Clip(at), i)
		if f.Anonymous && f.Type.Kind() == reflect.Struct && f.Type != numberType {
			all = append(all, describe(f.Type, joined(f.Tag, outer), index)...)
			continue
		}
		if f.Name == "_" && f.Tag != "" { // such fields continued a tag in earlier versions
			panic(fmt.Sprintf("settings: %s has a blank field with the tag %s: write that into the tag of the field "+
				"before it", t, f.Tag))
		}
		name, ok := f.Tag.Lookup("set")
		if !ok || !f.IsExported() {
			continue
		}
		tag := joined(f.Tag, outer)
		_, advanced := tag.Lookup("advanced")
		x := Field{Name: name, Help: wrapped(tag.Get("help")), Short: tag.Get("short"), Type: typeName(f.Type),
			Traced: f.Type == numberType, Advanced: advanced, tag: tag}
		x.Wants = x.wants()
		all = append(all, description{x, index})
	}
	return all
}

// joined returns a tag with those of the struct that embeds it. Conditions of needs must all hold; of other keys the
// tag's own goes before.
func joined(tag, outer reflect.StructTag) reflect.StructTag {
	inner, more := tag.Get("needs"), outer.Get("needs")
	if inner != "" && more != "" {
		tag = reflect.StructTag("needs:" + strconv.Quote(inner+"&"+more) + " " + string(tag))
	}
	return tag + " " + outer
}

// helpWidth is the width of lines of help, in columns.
const helpWidth = 120

// wrapped breaks a text into lines.
func wrapped(text string) string {
	var lines strings.Builder
	width := 0
	for word := range strings.FieldsSeq(text) {
		switch {
		case width > 0 && width+1+len(word) > helpWidth:
			lines.WriteByte('\n')
			width = 0
		case width > 0:
			lines.WriteByte(' ')
			width++
		}
		lines.WriteString(word)
		width += len(word)
	}
	return lines.String()
}

func typeName(t reflect.Type) string {
	switch {
	case t == bytesType:
		return "bytes"
	case t == pairsType:
		return "pairs"
	case t == numberType || t.Kind() == reflect.Float64:
		return "number"
	case t.Kind() == reflect.Bool:
		return "bool"
	case t.Kind() == reflect.Int || t.Kind() == reflect.Int64:
		return "int"
	case t.Kind() == reflect.String:
		return "text"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Int:
		return "ints"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Float64:
		return "numbers"
	}
	// a mistake in the program, not in its input
	panic(fmt.Sprintf("settings: a field of type %s cannot be a setting", t))
}

// Lookup finds a setting by its name.
func Lookup(ptr any, name string) (Field, bool) {
	v, all := described(ptr)
	i := slices.IndexFunc(all, func(d description) bool { return d.Name == name })
	if i < 0 {
		return Field{}, false
	}
	return all[i].in(v), true
}

// Names lists the names of the settings.
func Names(ptr any) (names []string) {
	for _, f := range Fields(ptr) {
		names = append(names, f.Name)
	}
	return names
}

// Text returns the value as on a command line.
func (f Field) Text() string {
	if f.Traced {
		if each := f.value.Interface().(Number).Each; each != "" {
			return each
		}
		return formatFloat(f.value.Interface().(Number).Value)
	}
	switch f.Type {
	case "bytes":
		return Bytes(f.value.Int()).String()
	case "pairs":
		return f.value.Interface().(Pairs).String()
	}
	switch f.value.Kind() {
	case reflect.Float64:
		return formatFloat(f.value.Float())
	case reflect.Slice:
		parts := make([]string, f.value.Len())
		for i := range parts {
			switch e := f.value.Index(i); e.Kind() {
			case reflect.Float64:
				parts[i] = formatFloat(e.Float())
			default:
				parts[i] = fmt.Sprint(e.Interface())
			}
		}
		return strings.Join(parts, ",")
	}
	return fmt.Sprint(f.value.Interface())
}

func formatFloat(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }

// Value returns the value as in a config file: a bool, int64, float64, string, []int, []float64, or a map for Pairs.
func (f Field) Value() any {
	if f.Traced {
		if each := f.value.Interface().(Number).Each; each != "" {
			return each
		}
		return f.value.Interface().(Number).Value
	}
	switch {
	case f.Type == "bytes":
		return f.Text()
	case f.Type == "pairs":
		return f.value.Interface().(Pairs).table()
	case f.Type == "int":
		return f.value.Int()
	}
	return f.value.Interface()
}

// Set sets the value: a text as on a command line, or a value of the setting's type (any number for numbers). It does
// not check ranges; see Check.
func (f Field) Set(value any) error {
	wrong := func() error { return Wrong(f.Name, value, "%s", f.Wants) }
	if f.Type == "pairs" {
		p, ok := pairsOf(value)
		if !ok {
			return wrong()
		}
		f.value.Set(reflect.ValueOf(p))
		return nil
	}
	if s, ok := value.(string); ok {
		return f.parse(s)
	}
	v := reflect.ValueOf(value)
	number := v.IsValid() && (v.CanInt() || v.CanFloat())
	switch f.Type {
	case "bool":
		if b, ok := value.(bool); ok {
			f.value.SetBool(b)
			return nil
		}
	case "int", "bytes":
		if number && v.CanInt() {
			f.value.SetInt(v.Int())
			return nil
		}
	case "number":
		if number {
			f.setFloat(v.Convert(reflect.TypeFor[float64]()).Float())
			return nil
		}
	case "ints", "numbers":
		if number { // a list of one
			return f.parse(fmt.Sprint(value))
		}
		if v.IsValid() && v.Kind() == reflect.Slice {
			parts := make([]string, v.Len())
			for i := range parts {
				parts[i] = fmt.Sprint(v.Index(i).Interface())
			}
			return f.parse(strings.Join(parts, ","))
		}
	default:
		if _, ok := f.tag.Lookup("number"); ok && number {
			return f.parse(fmt.Sprint(value))
		}
	}
	return wrong()
}

func (f Field) setFloat(x float64) {
	if f.Traced {
		f.value.Set(reflect.ValueOf(Number{Value: x}))
		return
	}
	f.value.SetFloat(x)
}

// dtypes has the short names of dtypes, which settings take, by their long ones, which they take, too.
var dtypes = map[string]string{"float32": "f32", "bfloat16": "bf16", "float16": "f16"}

// parse sets the value from a text.
func (f Field) parse(text string) error {
	wrong := func() error { return Wrong(f.Name, text, "%s", f.Wants) }
	switch f.Type {
	case "text":
		if short, ok := dtypes[text]; ok && slices.Contains(strings.Split(f.tag.Get("oneof"), ","), short) {
			text = short
		}
		f.value.SetString(text)
	case "bool":
		b, err := strconv.ParseBool(text)
		if err != nil {
			return wrong()
		}
		f.value.SetBool(b)
	case "int":
		n, err := strconv.ParseInt(text, 10, 64) // base 10 first, since base 0 reads a leading zero as octal
		if err != nil {
			n, err = strconv.ParseInt(text, 0, 64)
		}
		if errors.Is(err, strconv.ErrRange) && f.Max() == "" {
			from := cmp.Or(f.tag.Get("min"), strconv.Itoa(math.MinInt64))
			return Wrong(f.Name, text, "a whole number from %s to %d", from, math.MaxInt64)
		}
		if err != nil {
			return wrong()
		}
		f.value.SetInt(n)
	case "bytes":
		n, err := ParseBytes(text)
		if err != nil {
			return wrong()
		}
		f.value.SetInt(int64(n))
	case "number":
		x, err := strconv.ParseFloat(text, 64)
		if _, several := f.tag.Lookup("each"); err != nil && several && f.Traced {
			n, ok := parseEach(text)
			if !ok {
				return wrong()
			}
			f.value.Set(reflect.ValueOf(n))
			return nil
		}
		if err != nil {
			return wrong()
		}
		f.setFloat(x)
	case "ints":
		list, err := parseList(text, strconv.Atoi)
		if err != nil {
			return wrong()
		}
		f.value.Set(reflect.ValueOf(list))
	case "numbers":
		list, err := parseList(text, func(s string) (float64, error) { return strconv.ParseFloat(s, 64) })
		if err != nil {
			return wrong()
		}
		f.value.Set(reflect.ValueOf(list))
	}
	return nil
}

// parseList reads elements with commas between them. An empty text is no list, as if none was given.
func parseList[T any](text string, parse func(string) (T, error)) (list []T, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		x, err := parse(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// IsArgument reports whether the setting may stand after the colon of its part's name: "mlp:16,16".
func (f Field) IsArgument() bool {
	_, ok := f.tag.Lookup("args")
	return ok
}

// FlagOnly returns why only a command line may give the setting: "names code to load". "" means that a file may. A
// config may come from a stranger, and a run does not store such a setting.
func (f Field) FlagOnly() string { return f.tag.Get("flag") }

// IsLocalPath reports whether a config file may give the setting only as a path below the working directory.
func (f Field) IsLocalPath() bool { return f.tag.Get("path") == "local" }

// MayChange reports whether a resumed run may have another value, because earlier results do not depend on the setting.
func (f Field) MayChange() bool { return f.tag.Get("resume") == "any" || f.IsGoal() }

// IsGoal reports whether the setting may change and decides when a run is done.
func (f Field) IsGoal() bool { return f.tag.Get("resume") == "goal" }

// Check returns an *Error for the first setting of the struct that is out of its range.
func Check(ptr any) error {
	for _, f := range Fields(ptr) {
		if err := f.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an *Error if the value is out of its range.
func (f Field) Check() error {
	if f.Type == "text" {
		if list, ok := f.tag.Lookup("oneof"); ok && !slices.Contains(strings.Split(list, ","), f.value.String()) {
			return &Error{f.Name, strconv.Quote(shorten(f.Text())),
				f.Wants + didYouMean(f.value.String(), strings.Split(list, ","))}
		}
		return nil
	}
	if n, ok := f.Number(); ok && n.Each != "" {
		if _, ok := parseEach(n.Each); !ok {
			return &Error{f.Name, f.Text(), f.Wants}
		}
	}
	for _, x := range f.numbers() {
		if !f.holds(x) {
			return &Error{f.Name, f.Text(), f.Wants}
		}
	}
	if n, ok := f.Number(); ok && n.reversed() {
		b := n.bounds()
		return &Error{f.Name, f.Text(),
			fmt.Sprintf("the smaller bound first: %s..%s", formatFloat(b[1]), formatFloat(b[0]))}
	}
	return nil
}

// numbers returns the values to compare with the bounds.
func (f Field) numbers() []float64 {
	if f.Type == "bytes" {
		return []float64{float64(f.value.Int())}
	}
	if f.Traced {
		return f.value.Interface().(Number).bounds()
	}
	switch v := f.Value().(type) {
	case int64:
		return []float64{float64(v)}
	case float64:
		return []float64{v}
	case []float64:
		return v
	case []int:
		all := make([]float64, len(v))
		for i, n := range v {
			all[i] = float64(n)
		}
		return all
	}
	return nil
}

func (f Field) holds(x float64) bool {
	bound := func(tag string) (float64, bool) {
		text, ok := f.tag.Lookup(tag)
		if !ok {
			return 0, false
		}
		b, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("settings: the tag %s:%q of %s is no number", tag, text, f.Name))
		}
		return b, true
	}
	if _, ok := f.tag.Lookup("zero"); ok && x == 0 {
		return true
	}
	if b, ok := bound("min"); ok && !(x >= b) {
		return false
	}
	if b, ok := bound("max"); ok && !(x <= b) {
		return false
	}
	if b, ok := bound("above"); ok && !(x > b) {
		return false
	}
	if _, isFloat32 := f.tag.Lookup("float32"); f.Traced || isFloat32 { // float32 on the devices
		return !math.IsNaN(x) && math.Abs(x) <= math.MaxFloat32 && (x == 0 || float32(x) != 0)
	}
	return !math.IsNaN(x) && !math.IsInf(x, 0)
}

// OneOf returns the values of a setting that has a list of them; nil: it has none.
func (f Field) OneOf() []string {
	if list, ok := f.tag.Lookup("oneof"); ok {
		return strings.Split(list, ",")
	}
	return nil
}

// Max returns the largest value of a number as a text; "" if there is none.
func (f Field) Max() string { return f.tag.Get("max") }

// wants describes the possible values.
func (f Field) wants() string {
	if w, ok := f.tag.Lookup("wants"); ok {
		return w
	}
	noun := map[string]string{"int": "a whole number", "number": "a number",
		"bytes": "a number of bytes such as 2G, 500M or 1.5GiB",
		"pairs": "NAME=VALUE, each name once, with commas between several", "ints": "whole numbers between commas",
		"numbers": "numbers between commas", "bool": "true or false",
		"text": "a text"}[f.Type]
	if list, ok := f.tag.Lookup("oneof"); ok {
		return "one of " + strings.ReplaceAll(list, ",", ", ")
	}
	min, hasMin := f.tag.Lookup("min")
	max, hasMax := f.tag.Lookup("max")
	above, hasAbove := f.tag.Lookup("above")
	switch {
	case hasMin && hasMax:
		noun += " from " + min + " to " + max
	case hasAbove && hasMax:
		noun += " above " + above + ", at most " + max
	case hasMin:
		noun += " from " + min + " on"
	case hasAbove:
		noun += " above " + above
	case hasMax:
		noun += " up to " + max
	}
	if f.Traced {
		noun += " that a float32 holds"
	}
	if _, ok := f.tag.Lookup("each"); ok {
		noun += ", or several: a range such as 0.1..0.3 or a list with commas"
	}
	if zero, ok := f.tag.Lookup("zero"); ok {
		noun += ", 0 for " + zero
	}
	return noun
}
