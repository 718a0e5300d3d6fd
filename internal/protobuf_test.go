package internal_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"xlarun/internal/protobuf"
)

// What is written is what Google's package reads: messages of one field, number 1.
func TestMessages(t *testing.T) {
	for _, x := range []int64{0, 1, -1, 127, 128, math.MinInt64, math.MaxInt64} {
		var m protobuf.Message
		m.Int(1, x)
		var got wrapperspb.Int64Value
		require.NoError(t, proto.Unmarshal(m, &got))
		require.Equal(t, x, got.Value)
	}
	for _, x := range []bool{false, true} {
		var m protobuf.Message
		m.Bool(1, x)
		var got wrapperspb.BoolValue
		require.NoError(t, proto.Unmarshal(m, &got))
		require.Equal(t, x, got.Value)
	}
	for _, x := range []float64{0, -2.5, math.MaxFloat64, math.NaN(), math.Inf(-1)} {
		var single, double protobuf.Message
		single.Float(1, float32(x))
		double.Double(1, x)
		var got32 wrapperspb.FloatValue
		var got64 wrapperspb.DoubleValue
		require.NoError(t, proto.Unmarshal(single, &got32))
		require.NoError(t, proto.Unmarshal(double, &got64))
		require.Equal(t, math.Float32bits(float32(x)), math.Float32bits(got32.Value))
		require.Equal(t, math.Float64bits(x), math.Float64bits(got64.Value))
	}
	for _, x := range []string{"", "é", string(make([]byte, 300))} {
		var text, data protobuf.Message
		text.Text(1, x)
		data.Bytes(1, []byte(x))
		require.Equal(t, text, data)
		var got wrapperspb.StringValue
		require.NoError(t, proto.Unmarshal(text, &got))
		require.Equal(t, x, got.Value)
	}
}

// Fields that are appended several times are repeated, and messages lie in messages.
func TestNestedMessages(t *testing.T) {
	var list protobuf.Message
	for _, x := range []float64{1, 2} {
		var value protobuf.Message
		value.Double(2, x)
		list.Bytes(1, value)
	}
	var got structpb.ListValue
	require.NoError(t, proto.Unmarshal(list, &got))
	require.Equal(t, []any{1., 2.}, got.AsSlice())
}
