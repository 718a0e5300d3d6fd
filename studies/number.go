package studies

import (
	"encoding/json"
	"math"
)

// Number is a value of a trial in JSON: NaN is null, as in all JSON of xlarun. An objective may be infinite and still
// be compared, so infinities are the texts "+inf" and "-inf".
type Number float64

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) {
	switch x := float64(n); {
	case math.IsNaN(x):
		return []byte("null"), nil
	case math.IsInf(x, 1):
		return []byte(`"+inf"`), nil
	case math.IsInf(x, -1):
		return []byte(`"-inf"`), nil
	default:
		return json.Marshal(x)
	}
}

// Numbers are values of a trial in JSON.
func Numbers(values []float64) []Number {
	out := make([]Number, len(values))
	for i, x := range values {
		out[i] = Number(x)
	}
	return out
}
