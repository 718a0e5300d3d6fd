package envs

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// Range is what a parameter of an environment may be: from Low to High, both included; without Low itself where it is
// Open.
type Range struct {
	Low, High float64 // -Inf, Inf: no bound
	Open      bool
}

// RangeOf is the range that an environment states for a parameter, by tags of its field: min and max, or above for a
// bound that is not reached itself,
//
//	type CartPoleParams struct {
//		MassCart *graph.Array `above:"0"`
//		MaxSteps *graph.Array `min:"1"`
//	}
//
// params are the environment's parameters, path is the parameter's place in them, ".MaxSteps", as graph.Tree has it.
// What has no tags may be any number. RangeOf panics where a tag is no number.
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
			// a mistake in the program
			panic(fmt.Sprintf("envs: the tag %s:%q of the parameter %s is no number", tag, text, field.Name))
		}
		*of = x
		return true
	}
	bound("min", &r.Low)
	r.Open = bound("above", &r.Low)
	bound("max", &r.High)
	return r
}

// Holds tells whether x is within the range.
func (r Range) Holds(x float64) bool { return x <= r.High && (x > r.Low || x == r.Low && !r.Open) }

// String is the range in words that follow "a number": " from 0 to 1", " above 0"; "" where there are no bounds.
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

// number writes whole numbers whole.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return strconv.FormatInt(int64(x), 10)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}
