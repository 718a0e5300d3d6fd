package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Pairs is a setting of texts by name, such as the parameters of an environment: written as "food=0.1..0.3,walls=0.2",
// in a config file as a table of the setting's name. It is never changed in place.
type Pairs map[string]string

// EnvParam is the name of the setting that holds an environment's parameters.
const EnvParam = "env-param"

var pairsType = reflect.TypeFor[Pairs]()

// Names lists the names, sorted.
func (p Pairs) Names() []string { return slices.Sorted(maps.Keys(p)) }

// With is a copy with one more text.
func (p Pairs) With(name, text string) Pairs {
	all := maps.Clone(p)
	if all == nil {
		all = Pairs{}
	}
	all[name] = text
	return all
}

// String is the pairs as they are read.
func (p Pairs) String() string {
	var all []string
	for _, name := range p.Names() {
		all = append(all, name+"="+p[name])
	}
	return strings.Join(all, ",")
}

// Shape is what other programs follow from: the names, and which of them are ranges ("0.1..0.3"); numbers are inputs of
// a program.
func (p Pairs) Shape() string {
	var all []string
	for _, name := range p.Names() {
		if low, high, ok := strings.Cut(p[name], ".."); ok && low != high {
			name += ".."
		}
		all = append(all, name)
	}
	return strings.Join(all, ", ")
}

// ParsePairs reads "NAME=VALUE,NAME=VALUE"; nothing is none. Numbers, and bounds of ranges, come out as they are
// written shortest. ok is false where a name or a value is missing, or a name stands twice.
func ParsePairs(text string) (p Pairs, ok bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	for _, pair := range strings.Split(text, ",") {
		name, value, has := strings.Cut(pair, "=")
		name, value = pairName(name), strings.TrimSpace(value)
		if _, twice := p[name]; !has || name == "" || value == "" || twice {
			return nil, false
		}
		p = p.With(name, shortest(value))
	}
	return p, true
}

// pairName is a name as it is kept.
func pairName(name string) string { return strings.ReplaceAll(strings.TrimSpace(name), "_", "-") }

// shortest is a number, or a range of two, as it is written shortest; other texts stay.
func shortest(text string) string {
	parts := strings.Split(text, "..")
	for i, part := range parts {
		x, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || len(parts) > 2 {
			return text
		}
		parts[i] = formatFloat(x)
	}
	return strings.Join(parts, "..")
}

// pairsOf reads a value of a config file: a text, or a table of numbers and texts.
func pairsOf(value any) (p Pairs, ok bool) {
	switch v := value.(type) {
	case string:
		return ParsePairs(v)
	case Pairs:
		return v, true
	case map[string]any:
		for name, x := range v {
			switch x := x.(type) {
			case string, int64, float64:
				p = p.With(pairName(name), shortest(fmt.Sprint(x)))
			default:
				return nil, false
			}
		}
		return p, true
	}
	return nil, false
}

// table is the pairs as a config file has them: numbers as numbers.
func (p Pairs) table() map[string]any {
	all := map[string]any{}
	for name, text := range p {
		all[name] = text
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			all[name] = n
		} else if x, err := strconv.ParseFloat(text, 64); err == nil {
			all[name] = x
		}
	}
	return all
}
