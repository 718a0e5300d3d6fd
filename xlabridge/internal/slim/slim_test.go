package slim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
	"xlarun/xlabridge/hlo"
)

// What is no program of the plugin stays as it is.
func TestWithoutFusionsOfOther(t *testing.T) {
	for _, other := range [][]byte{nil, {}, {0}, {0xff, 0xff}, []byte("program"), {10, 3, 10, 1, 7}, {10, 2, 8, 1}} {
		require.Equal(t, other, WithoutFusions(other), fmt.Sprint(other))
	}
	// inside puts the bytes of a module where a program has them.
	inside := func(module []byte) []byte {
		for _, n := range []protowire.Number{moduleField, resultField, executableField} {
			module = message([]protobuf.Field{{Number: n, Kind: protowire.BytesType, Bytes: module}})
		}
		return module
	}
	text := inside([]byte("no message"))
	require.Equal(t, text, WithoutFusions(text), "a string instead of the module")
	// A fusion that calls the computation 0, which is what one without a number has.
	fusion := message([]protobuf.Field{
		{Number: hlo.InstructionOpcode, Kind: protowire.BytesType, Bytes: []byte("fusion")},
		{Number: hlo.InstructionCalled, Kind: protowire.VarintType, Bytes: []byte{0}}})
	caller := message([]protobuf.Field{{Number: hlo.ComputationInstructions, Kind: protowire.BytesType, Bytes: fusion}})
	damaged := inside(message([]protobuf.Field{
		{Number: hlo.ModuleComputations, Kind: protowire.BytesType, Bytes: caller},
		{Number: hlo.ModuleComputations, Kind: protowire.BytesType, Bytes: []byte("no message")}}))
	kept := string(WithoutFusions(damaged))
	require.Contains(t, kept, "no message", "a string instead of a computation")
	number := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 300)
	require.Equal(t, number, WithoutFusions(number))
}
