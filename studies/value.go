package studies

import (
	"encoding/json"
	"fmt"
	"math"
)

// Value is a number of a trial, such as that of an objective. An objective may be infinite and still be compared.
type Value float64

// String returns the number as texts and CSV have it: infinities are "+inf" and "-inf".
func (v Value) String() string {
	switch x := float64(v); {
	case math.IsInf(x, 1):
		return "+inf"
	case math.IsInf(x, -1):
		return "-inf"
	default:
		return fmt.Sprint(x)
	}
}

// MarshalJSON writes NaN as null, as in all JSON of xlarun, and infinities as their texts.
func (v Value) MarshalJSON() ([]byte, error) {
	switch x := float64(v); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 0):
		return json.Marshal(v.String())
	default:
		return json.Marshal(x)
	}
}

// Values are the numbers of a trial as Values.
func Values(numbers []float64) []Value {
	out := make([]Value, len(numbers))
	for i, x := range numbers {
		out[i] = Value(x)
	}
	return out
}

// ParamValue returns the value of a parameter for JSON and CSV: a Value if it is a float64.
func ParamValue(x any) any {
	if f, ok := x.(float64); ok {
		return Value(f)
	}
	return x
}
