package internal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"xlarun/internal/quantity"
)

func TestCount(t *testing.T) {
	for n, want := range map[float64]string{0: "0 steps", 1: "1 step", 2: "2 steps", 1 << 52: "4503599627370496 steps",
		1.5: "1.5 steps", math.Inf(1): "+Inf steps", math.NaN(): "NaN steps"} {
		assert.Equal(t, want, quantity.Count(n, "step", "steps"))
	}
	assert.Equal(t, "1 entry is", quantity.Count(1, "entry is", "entries are"))
	assert.Equal(t, "-3 entries are", quantity.Count(int64(-3), "entry is", "entries are"))
}
