package stablehlo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"xlarun/graph"
)

// function is a func.func.
type function struct {
	params  []param
	results []graph.Shape
	body    []*op
}

// param is a parameter of a function or a region. A region of a while loop says no shapes.
type param struct {
	name  string
	shape graph.Shape
	label string // JAX's name of an argument's leaf: "params['w']"; "" if the file has none
}

// op is a statement.
type op struct {
	line       int
	results    []string       // names of its values
	name       string         // "stablehlo.add"
	head       string         // operands and attributes
	operands   []string       // names of values
	attributes map[string]int // where their values begin in head, by name
	types      string         // after the last colon
	inits      []string       // the values that the parameters of a while loop begin with
	regions    []region
}

// region is what an op runs: a body with parameters of its own.
type region struct {
	params []param
	ops    []*op
}

// reader goes through the lines of a module.
type reader struct {
	lines   []string
	at      int
	aliases map[string]string // texts of locations by name; nil until they are wanted
}

// failure is an error at a line.
func failure(line int, format string, args ...any) error {
	return fmt.Errorf("%d: %s", line, fmt.Sprintf(format, args...))
}

// next returns the next line that is not empty, without locations and outer blanks.
func (r *reader) next() (line string, number int, ok bool) {
	for r.at < len(r.lines) {
		line = strings.TrimSpace(withoutLocations(r.lines[r.at]))
		r.at++
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//") {
			return line, r.at, true
		}
	}
	return "", r.at, false
}

// withoutLocations cuts each loc(...) out of a line.
func withoutLocations(line string) string {
	for {
		start := strings.Index(line, " loc(")
		if start < 0 {
			return line
		}
		end := closing(line, start+4)
		if end < 0 {
			return line
		}
		line = line[:start] + line[end+1:]
	}
}

// closing returns the position of the bracket that closes the one at a position; -1 if there is none.
func closing(text string, open int) int {
	end := -1
	scan(text, open, func(i, depth int) bool {
		if depth == 0 {
			end = i
		}
		return depth > 0
	})
	return end
}

// scan calls visit for the characters of a text from a position on, until it returns false. depth is the number of open
// brackets after the character. Text in quotes is left out.
func scan(text string, from int, visit func(i, depth int) bool) {
	depth, quoted := 0, false
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
			continue
		case c == '"':
			quoted = !quoted
			continue
		case quoted:
			continue
		case strings.IndexByte("([{<", c) >= 0:
			depth++
		case c == '>' && i > 0 && text[i-1] == '-': // an arrow
		case strings.IndexByte(")]}>", c) >= 0:
			depth--
		}
		if !visit(i, depth) {
			return
		}
	}
}

var (
	functionHead = regexp.MustCompile(`^func\.func (?:public |private )?@("[^"]*"|[\w.$-]+)\(`)
	paramPattern = regexp.MustCompile(`(%[\w]+): tensor<((?:complex<f32>|[^>])*)>`)
	typePattern  = regexp.MustCompile(`tensor<((?:complex<f32>|[^>])*)>`)
	statement    = regexp.MustCompile(`^(?:(%\w[\w:%, ]*) = )?"?([a-z_]+(?:\.[a-z0-9_]+)?)"?(.*)$`)
	resultGroup  = regexp.MustCompile(`^(%\w+)(?::(\d+))?$`)
	valueName    = regexp.MustCompile(`^%\w+(?:#\d+)?`)
	carryPattern = regexp.MustCompile(`(%[\w]+) = (%[\w#]+)`)
)

// parse reads the functions of a module.
func parse(text string) (map[string]*function, error) {
	r := &reader{lines: strings.Split(text, "\n")}
	functions := map[string]*function{}
	for {
		line, number, ok := r.next()
		if !ok {
			return functions, nil
		}
		// A mesh of devices says how arrays are shared out, and does not change the function.
		if strings.HasPrefix(line, "module") || strings.HasPrefix(line, "sdy.mesh ") || line == "}" {
			continue
		}
		head := functionHead.FindStringSubmatch(line)
		if head == nil {
			return nil, failure(number, "got %s, want a func.func of StableHLO text", short(line))
		}
		end := closing(line, len(head[0])-1)
		if end < 0 || !strings.HasSuffix(line, "{") {
			return nil, failure(number, "got %s, want the whole head of a function in one line", short(line))
		}
		f := &function{}
		var err error
		if f.params, err = params(line[len(head[0]):end]); err == nil {
			f.results, err = shapes(line[end:])
		}
		if err != nil {
			return nil, failure(number, "%v", err)
		}
		r.label(f.params)
		body, _, err := r.body()
		if err != nil {
			return nil, err
		}
		f.body = body.ops
		functions[strings.Trim(head[1], `"`)] = f
	}
}

func params(text string) (all []param, err error) {
	for _, m := range paramPattern.FindAllStringSubmatch(text, -1) {
		s, err := shape(m[2])
		if err != nil {
			return nil, err
		}
		all = append(all, param{name: m[1], shape: s})
	}
	return all, nil
}

var (
	labelPattern = regexp.MustCompile(`(%\w+): tensor<[^%]*? loc\((?:"((?:[^"\\]|\\.)*)"|(#\w+))`)
	aliasPattern = regexp.MustCompile(`^(#\w+) = loc\("((?:[^"\\]|\\.)*)"`)
)

// label sets the labels of the parameters of the function whose head is the line that was read last.
func (r *reader) label(params []param) {
	if r.aliases == nil {
		r.aliases = map[string]string{}
		for _, line := range r.lines {
			if m := aliasPattern.FindStringSubmatch(line); m != nil {
				r.aliases[m[1]] = m[2]
			}
		}
	}
	labels := map[string]string{}
	for _, m := range labelPattern.FindAllStringSubmatch(r.lines[r.at-1], -1) {
		labels[m[1]] = m[2] + r.aliases[m[3]]
	}
	for i := range params {
		params[i].label = labels[params[i].name]
	}
}

// shapes returns the shapes of all tensors in a text.
func shapes(text string) (all []graph.Shape, err error) {
	for _, m := range typePattern.FindAllStringSubmatch(text, -1) {
		s, err := shape(m[1])
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// body reads statements up to the line that begins with "}", and returns that line. Parameters stand before them.
func (r *reader) body() (g region, end string, err error) {
	for {
		line, number, ok := r.next()
		switch {
		case !ok:
			return g, "", failure(number, "the file ends inside of a function: is it whole?")
		case strings.HasPrefix(line, "}"):
			return g, line, nil
		case strings.HasPrefix(line, "^") && g.params == nil && g.ops == nil:
			if g.params, err = params(line); err != nil {
				return g, "", failure(number, "%v", err)
			}
			continue
		case strings.HasPrefix(line, "^"):
			return g, "", failure(number, "got %s, want regions of one block", short(line))
		}
		o, err := r.statement(line, number)
		if err != nil {
			return g, "", err
		}
		g.ops = append(g.ops, o)
	}
}

func (r *reader) statement(line string, number int) (*op, error) {
	m := statement.FindStringSubmatch(line)
	if m == nil {
		return nil, failure(number, "got %s, want an op", short(line))
	}
	o := &op{line: number, name: m[2], head: m[3]}
	for group := range strings.SplitSeq(m[1], ", ") {
		g := resultGroup.FindStringSubmatch(group)
		switch {
		case group == "":
		case g == nil:
			return nil, failure(number, "got %s, want names of values", short(m[1]))
		case g[2] == "":
			o.results = append(o.results, g[1])
		default:
			n, err := strconv.Atoi(g[2])
			if err != nil || n > 1<<16 {
				return nil, failure(number, "got %s values of one op", short(g[2]))
			}
			for i := range n {
				o.results = append(o.results, g[1]+"#"+strconv.Itoa(i))
			}
		}
	}
	err := r.rest(o)
	o.split()
	return o, err
}

// rest reads the regions of an op and cuts its types off its head.
func (r *reader) rest(o *op) error {
	if strings.HasSuffix(o.head, "({") {
		o.head = strings.TrimSuffix(o.head, "({")
		return r.generic(o)
	}
	if o.name == "stablehlo.while" {
		return r.while(o)
	}
	if i := lastColon(o.head); i >= 0 {
		o.head, o.types = o.head[:i], o.head[i+3:]
	}
	if o.name == "stablehlo.reduce" && !strings.Contains(o.head, " applies ") {
		return r.reducer(o)
	}
	return nil
}

// split finds the operands and the attributes in the head of an op. Text in quotes has none.
func (o *op) split() {
	o.attributes = map[string]int{}
	scan(o.head, 0, func(i, _ int) bool {
		if o.head[i] == '%' {
			if name := valueName.FindString(o.head[i:]); name != "" {
				o.operands = append(o.operands, name)
			}
		}
		if strings.HasPrefix(o.head[i:], " = ") {
			name := o.head[strings.LastIndexFunc(o.head[:i], notOfName)+1 : i]
			if _, twice := o.attributes[name]; !twice {
				o.attributes[name] = i + len(" = ")
			}
		}
		return true
	})
	if o.inits == nil { // in the generic form
		o.inits = o.operands
	}
}

func notOfName(r rune) bool {
	return r != '_' && r != '.' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// lastColon returns the position of the last " : " outside of brackets and quotes; -1 if there is none.
func lastColon(text string) int {
	last := -1
	scan(text, 0, func(i, depth int) bool {
		if depth == 0 && strings.HasPrefix(text[i:], " : ") {
			last = i
		}
		return true
	})
	return last
}

// while reads the regions of a while loop as JAX prints it: both have the same parameters.
func (r *reader) while(o *op) error {
	var params []param
	for _, m := range carryPattern.FindAllStringSubmatch(o.head, -1) {
		params, o.inits = append(params, param{name: m[1]}), append(o.inits, m[2])
	}
	if i := lastColon(o.head); i >= 0 {
		o.types = o.head[i+3:]
	}
	if line, number, _ := r.next(); line != "cond {" {
		return failure(number, "got %s, want the \"cond {\" of a while loop", short(line))
	}
	cond, end, err := r.body()
	if err != nil {
		return err
	}
	if end != "} do {" {
		return failure(r.at, "got %s, want the \"} do {\" of a while loop", short(end))
	}
	body, _, err := r.body()
	o.regions = []region{{params, cond.ops}, {params, body.ops}}
	return err
}

// reducer reads the region of a reduction as JAX prints it: its parameters are pairs, one for each operand.
func (r *reader) reducer(o *op) error {
	line, number, _ := r.next()
	if !strings.HasPrefix(line, "reducer(") || !strings.HasSuffix(line, "{") {
		return failure(number, "got %s, want the reducer of a reduction", short(line))
	}
	pairs, err := params(line)
	if err != nil {
		return failure(number, "%v", err)
	}
	body, _, err := r.body()
	for first := range 2 { // as in a region of the generic form: the left ones come before the right ones
		for i := first; i < len(pairs); i += 2 {
			body.params = append(body.params, pairs[i])
		}
	}
	o.regions = []region{body}
	return err
}

// generic reads the regions of an op in MLIR's generic form, and the attributes and types after them.
func (r *reader) generic(o *op) error {
	for {
		body, end, err := r.body()
		if err != nil {
			return err
		}
		o.regions = append(o.regions, body)
		if strings.HasPrefix(end, "}, {") {
			continue
		}
		rest := strings.TrimPrefix(end, "})")
		if i := lastColon(rest); i >= 0 {
			rest, o.types = rest[:i], rest[i+3:]
		}
		o.head += rest
		return nil
	}
}

// short is a text of at most 60 bytes, in quotes.
func short(text string) string {
	if len(text) > 60 {
		text = text[:60] + "…"
	}
	return strconv.Quote(text)
}
