package xlabridge_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
	"xlarun/xlabridge/hlo"
	"xlarun/xlabridge/internal/slim"
)

// fields writes fields.
func fields(all []protobuf.Field) (m protobuf.Message) {
	for _, f := range all {
		m = protowire.AppendTag(m, f.Number, f.Kind)
		if f.Kind == protowire.BytesType {
			m = protowire.AppendBytes(m, f.Bytes)
		} else {
			m = append(m, f.Bytes...)
		}
	}
	return m
}

// wrapped puts the bytes of a module where a program has them.
func wrapped(module []byte) []byte {
	for range 3 {
		module = fields([]protobuf.Field{{Number: 1, Kind: protowire.BytesType, Bytes: module}})
	}
	return module
}

// The body of a fusion is left out, and those of fusions inside of it. The body of a fusion of a library stays as it
// is, with all that is inside.
func TestSlimWithoutFusions(t *testing.T) {
	text := func(n protowire.Number, s string) protobuf.Field {
		return protobuf.Field{Number: n, Kind: protowire.BytesType, Bytes: []byte(s)}
	}
	number := func(n protowire.Number, v byte) protobuf.Field {
		return protobuf.Field{Number: n, Kind: protowire.VarintType, Bytes: []byte{v}}
	}
	fusion := func(kind string, body byte) []protobuf.Field {
		return []protobuf.Field{text(hlo.InstructionOpcode, "fusion"), text(hlo.InstructionFusionKind, kind),
			number(hlo.InstructionCalled, body)}
	}
	computation := func(id byte, instructions ...[]protobuf.Field) protobuf.Field {
		c := []protobuf.Field{number(hlo.ComputationID, id)}
		for _, i := range instructions {
			c = append(c, text(hlo.ComputationInstructions, string(fields(i))))
		}
		return text(hlo.ModuleComputations, string(fields(c)))
	}
	body := func(id byte) protobuf.Field {
		return computation(id, []protobuf.Field{text(hlo.InstructionOpcode, "add")})
	}
	call := []protobuf.Field{text(hlo.InstructionOpcode, "custom-call"), text(hlo.InstructionTarget, "fused")}
	module := fields([]protobuf.Field{body(1), computation(2, fusion("kLoop", 1)), body(3),
		computation(4, fusion("kLoop", 3)), computation(5, fusion("kLoop", 2), fusion("kCustom", 4))})
	want := fields([]protobuf.Field{body(3), computation(4, fusion("kLoop", 3)), computation(5, call,
		fusion("kCustom", 4))})
	require.Equal(t, wrapped(want), slim.WithoutFusions(wrapped(module)))
}

// What is no program of the plugin stays as it is.
func TestSlimWithoutFusionsOfOther(t *testing.T) {
	for _, other := range [][]byte{nil, {}, {0}, {0xff, 0xff}, []byte("program"), {10, 3, 10, 1, 7}, {10, 2, 8, 1}} {
		require.Equal(t, other, slim.WithoutFusions(other), fmt.Sprint(other))
	}
	text := wrapped([]byte("no message"))
	require.Equal(t, text, slim.WithoutFusions(text), "a string instead of the module")
	// A fusion that calls the computation 0, which is what one without a number has.
	fusion := fields([]protobuf.Field{
		{Number: hlo.InstructionOpcode, Kind: protowire.BytesType, Bytes: []byte("fusion")},
		{Number: hlo.InstructionCalled, Kind: protowire.VarintType, Bytes: []byte{0}}})
	caller := fields([]protobuf.Field{{Number: hlo.ComputationInstructions, Kind: protowire.BytesType, Bytes: fusion}})
	damaged := wrapped(fields([]protobuf.Field{
		{Number: hlo.ModuleComputations, Kind: protowire.BytesType, Bytes: caller},
		{Number: hlo.ModuleComputations, Kind: protowire.BytesType, Bytes: []byte("no message")}}))
	kept := string(slim.WithoutFusions(damaged))
	require.Contains(t, kept, "no message", "a string instead of a computation")
	number := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), 300)
	require.Equal(t, number, slim.WithoutFusions(number))
}
