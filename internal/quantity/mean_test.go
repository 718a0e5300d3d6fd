package quantity_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/quantity"
)

// A mean has the decimals of its error. It was once rounded to 3.7 beside an error of 0.0649.
func TestMeanHasTheDigitsOfItsError(t *testing.T) {
	for _, c := range []struct {
		mean, err   float64
		want, error string
	}{
		{3.7123, .0649, "3.712", "0.065"}, {118.34, 9.81, "118.3", "9.8"}, {-1215.6, 43.2, "-1216", "43"},
		{12345.6, 1234.5, "12346", "1234"}, {500, 0, "500", "0"}, {9.35, math.NaN(), "9.35", "NaN"},
		{.25, 1e-9, "0.25", "1e-09"}, {3e10, 2, "3e+10", "2"}, {math.Inf(-1), math.NaN(), "-Inf", "NaN"},
		{math.Copysign(0, -1), 0, "0", "0"}, {-.001, .2, "0.00", "0.20"}, {9.99, .0996, "9.99", "0.10"},
	} {
		value, spread := quantity.Mean(c.mean, c.err)
		require.Equal(t, c.want, value, "%v ± %v", c.mean, c.err)
		require.Equal(t, c.error, spread, "%v ± %v", c.mean, c.err)
	}
}
