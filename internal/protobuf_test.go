package internal_test

import (
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"xlarun/internal/protobuf"
)

// Messages of one field, number 1, are the bytes that Google's package reads as Int64Value, BoolValue, FloatValue,
// DoubleValue and StringValue. The package itself would be the largest part of this test binary.
func TestMessages(t *testing.T) {
	var m protobuf.Message
	requireNext := func(want string) {
		t.Helper()
		require.Equal(t, want, hex.EncodeToString(m))
		m = nil
	}
	for _, c := range []struct {
		x    int64
		want string
	}{{0, "0800"}, {1, "0801"}, {-1, "08ffffffffffffffffff01"}, {127, "087f"}, {128, "088001"},
		{math.MinInt64, "0880808080808080808001"}, {math.MaxInt64, "08ffffffffffffffff7f"}} {
		m.Int(1, c.x)
		requireNext(c.want)
	}
	m.Bool(1, false)
	requireNext("0800")
	m.Bool(1, true)
	requireNext("0801")
	for _, c := range []struct {
		x              float64
		single, double string
	}{{0, "0d00000000", "090000000000000000"}, {-2.5, "0d000020c0", "0900000000000004c0"},
		{math.MaxFloat64, "0d0000807f", "09ffffffffffffef7f"}, {math.NaN(), "0d0000c07f", "09010000000000f87f"},
		{math.Inf(-1), "0d000080ff", "09000000000000f0ff"}} {
		m.Float(1, float32(c.x))
		requireNext(c.single)
		m.Double(1, c.x)
		requireNext(c.double)
	}
	for x, want := range map[string]string{"": "0a00", "é": "0a02c3a9",
		string(make([]byte, 300)): "0aac02" + strings.Repeat("00", 300)} {
		m.Text(1, x)
		requireNext(want)
		m.Bytes(1, []byte(x))
		requireNext(want)
	}
}

// Fields that are appended several times are repeated, and messages lie in messages: 1 and 2 as a ListValue.
func TestNestedMessages(t *testing.T) {
	var list protobuf.Message
	for _, x := range []float64{1, 2} {
		var value protobuf.Message
		value.Double(2, x)
		list.Bytes(1, value)
	}
	require.Equal(t, "0a0911000000000000f03f"+"0a09110000000000000040", hex.EncodeToString(list))
}
