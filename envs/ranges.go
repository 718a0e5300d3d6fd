package envs

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Range is the values that a parameter of an environment may have: Low to High, both included.
type Range struct {
	Low, High float64 // -Inf, Inf: no bound
	Open      bool    // Low is excluded
}

// RangeOf is the range of a parameter by the tags of its field: min and max are included bounds, above is an excluded
// lower bound:
//
//	type CartPoleParams struct {
//		MassCart *graph.Array `above:"0"`
//		MaxSteps *graph.Array `min:"1"`
//	}
//
// params are the environment's parameters, path is the parameter's path in their graph.Tree, such as ".MaxSteps". A
// parameter without tags may be any number. RangeOf panics if a tag is not a number.
func RangeOf(params any, path string) Range {
	r := Range{Low: math.Inf(-1), High: math.Inf(1)}
	t := reflect.TypeOf(params)
	var field reflect.StructField
	for _, name := range strings.Split(strings.TrimPrefix(path, "."), ".") {
		for t != nil && t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t == nil || t.Kind() != reflect.Struct {
			return r
		}
		ok := false
		if field, ok = t.FieldByName(name); !ok {
			return r
		}
		t = field.Type
	}
	bound := func(tag string, of *float64) (has bool) {
		text, has := field.Tag.Lookup(tag)
		if !has {
			return false
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("envs: the tag %s:%q of the parameter %s is not a number", tag, text, field.Name))
		}
		*of = x
		return true
	}
	bound("min", &r.Low)
	r.Open = bound("above", &r.Low)
	bound("max", &r.High)
	return r
}

// Holds reports whether x is in the range.
func (r Range) Holds(x float64) bool { return x <= r.High && (x > r.Low || x == r.Low && !r.Open) }

// String is the range in words that follow "a number": " from 0 to 1", " above 0"; "" if there are no bounds.
func (r Range) String() string {
	low, high := "", ""
	if !math.IsInf(r.Low, 0) {
		low = " from " + number(r.Low)
		if r.Open {
			low = " above" + strings.TrimPrefix(low, " from")
		}
	}
	if !math.IsInf(r.High, 0) {
		high = number(r.High)
	}
	switch {
	case high == "" && low != "" && !r.Open:
		return low + " on"
	case high == "":
		return low
	case low == "":
		return " up to " + high
	case r.Open:
		return low + ", at most " + high
	}
	return low + " to " + high
}

// number formats x, integers without exponent.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
