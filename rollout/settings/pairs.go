package settings

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"xlarun/envs"
)

// Pairs is a setting of texts by name, such as the parameters of an environment: "food=0.1..0.3,walls=0.2", or a table
// in a config file. It is immutable.
type Pairs map[string]string

// EnvParam is the name of the setting that holds an environment's parameters.
const EnvParam = "env-param"

var pairsType = reflect.TypeFor[Pairs]()

// Names lists the names, sorted.
func (p Pairs) Names() []string { return slices.Sorted(maps.Keys(p)) }

// With returns a copy with one more text.
func (p Pairs) With(name, text string) Pairs {
	all := maps.Clone(p)
	if all == nil {
		all = Pairs{}
	}
	all[name] = text
	return all
}

// String returns the pairs as ParsePairs reads them.
func (p Pairs) String() string {
	var all []string
	for _, name := range p.Names() {
		all = append(all, name+"="+p[name])
	}
	return strings.Join(all, ",")
}

// Shape returns all that programs depend on: the names, which of them are ranges ("0.1..0.3"), and the values of
// envs.Size of an environment. Other numbers are inputs of programs.
func (p Pairs) Shape(id string) string {
	env, err := envs.Make(id)
	var all []string
	for _, name := range p.Names() {
		text := name
		low, high, isRange := strings.Cut(p[name], "..")
		if isRange && low != high {
			text += ".."
		}
		if !isRange {
			high = low
		}
		if err == nil {
			size, ok := envs.SizeOf(env, name)
			if n, err := strconv.Atoi(high); ok && err == nil && n != size.Value && (n > size.Value || !size.Room) {
				text += " " + high
			}
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// ParsePairs reads "NAME=VALUE,NAME=VALUE", or an empty text. Numbers and bounds of ranges get their shortest form. ok
// is false if a name or a value is missing, or a name occurs twice.
func ParsePairs(text string) (p Pairs, ok bool) {
	if strings.TrimSpace(text) == "" {
		return nil, true
	}
	for _, pair := range strings.Split(text, ",") {
		name, value, hasValue := strings.Cut(pair, "=")
		name, value = pairName(name), strings.TrimSpace(value)
		if _, twice := p[name]; !hasValue || name == "" || value == "" || twice {
			return nil, false
		}
		p = p.With(name, shortest(value))
	}
	return p, true
}

// pairName returns a name in its normal form.
func pairName(name string) string { return strings.ReplaceAll(strings.TrimSpace(name), "_", "-") }

// shortest returns the shortest form of a number or of a range, and other texts as they are.
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

// table returns the pairs as in a config file: numbers as numbers.
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
