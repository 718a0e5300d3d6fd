package xlabridge_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/xlabridge/hlo"
)

// message makes protobuf messages from pairs of a field's number and its value.
func message(pairs ...any) (m []byte) {
	for i := 0; i < len(pairs); i += 2 {
		number, ok := pairs[i].(protowire.Number)
		if !ok { // a field that is not read
			number = protowire.Number(pairs[i].(int))
		}
		switch v := pairs[i+1].(type) {
		case int:
			m = protowire.AppendVarint(protowire.AppendTag(m, number, protowire.VarintType), uint64(v))
		case string:
			m = protowire.AppendString(protowire.AppendTag(m, number, protowire.BytesType), v)
		case []byte:
			m = protowire.AppendBytes(protowire.AppendTag(m, number, protowire.BytesType), v)
		case float64: // a field that is not read
			m = protowire.AppendFixed64(protowire.AppendTag(m, number, protowire.Fixed64Type), math.Float64bits(v))
		}
	}
	return m
}

// f32 is the shape of a matrix of floats, with its dimensions packed.
func f32(rows, columns int) []byte {
	return message(hlo.ShapeElement, 11, hlo.ShapeDimensions, []byte{byte(rows), byte(columns)})
}

func instruction(name, opcode string, pairs ...any) []byte {
	return message(append([]any{hlo.InstructionName, name, hlo.InstructionOpcode, opcode, 99, 1.5}, pairs...)...)
}

func computation(id int, name string, instructions ...[]byte) []byte {
	m := message(hlo.ComputationName, name, hlo.ComputationID, id)
	for _, x := range instructions {
		m = append(m, message(hlo.ComputationInstructions, x)...)
	}
	return m
}

// testModule has an entry with two loops, one inside the other, a conditional and a collective.
func testModule() []byte {
	ten := message(hlo.LiteralS32, []byte{10})
	return message(hlo.ModuleName, "m", hlo.ModuleEntry, 1,
		hlo.ModuleComputations, computation(1, "main",
			instruction("p", "parameter", hlo.InstructionShape, f32(4, 8), hlo.InstructionID, 1),
			instruction("f", "fusion", hlo.InstructionShape, f32(4, 8), hlo.InstructionCalled, 7, hlo.InstructionID, 2,
				hlo.InstructionOperands, []byte{1},
				hlo.InstructionConfig, `{"reification_cost":[{"exec_time_us":2.5}]}`),
			instruction("w", "while", hlo.InstructionCalled, []byte{2, 3}),
			instruction("ar", "all-reduce-start", hlo.InstructionShape, f32(2, 2)),
			instruction("ard", "all-reduce-done"),
			instruction("if", "conditional", hlo.InstructionCalled, []byte{5, 6}),
			instruction("buffer", "custom-call", hlo.InstructionTarget, "AllocateBuffer")),
		hlo.ModuleComputations, computation(2, "body",
			instruction("g", "custom-call", hlo.InstructionTarget, "gemm", hlo.InstructionShape,
				message(hlo.ShapeTuple, f32(2, 2), hlo.ShapeTuple, f32(1, 1))),
			instruction("c", "call", hlo.InstructionCalled, 5),
			instruction("w2", "while", hlo.InstructionCalled, []byte{4, 3}, hlo.InstructionConfig,
				`{"known_trip_count":{"n":"500"}}`)),
		hlo.ModuleComputations, computation(3, "condition", instruction("p", "parameter"),
			instruction("ten", "constant", hlo.InstructionLiteral, ten), instruction("lt", "compare")),
		hlo.ModuleComputations, computation(4, "inner", instruction("copy", "copy", hlo.InstructionShape, f32(1, 1))),
		hlo.ModuleComputations, computation(5, "one", instruction("t", "transpose")),
		hlo.ModuleComputations, computation(6, "two", instruction("s", "sort"), instruction("r", "reduce")),
		hlo.ModuleComputations, computation(7, "fused", instruction("x", "dot")),
	)
}

func TestLoops(t *testing.T) {
	m, err := hlo.Parse("hlo", testModule())
	require.NoError(t, err)
	require.Equal(t, "m", m.Name)
	loops := m.Loops()
	require.Len(t, loops, 3, "the entry and both loops, but not the fusion")
	entry, outer, inner := loops[0], loops[1], loops[2]
	require.Equal(t, []hlo.Kernel{{Name: "f", Opcode: "fusion", Bytes: 128, Read: 128}, {Name: "s", Opcode: "sort"},
		{Name: "r", Opcode: "reduce"}}, entry.Kernels,
		"of a conditional, the branch with more kernels")
	require.Equal(t, []hlo.Kernel{{Name: "ar", Opcode: "all-reduce", Bytes: 16}}, entry.Collectives,
		"the end of a collective is no launch")
	require.InDelta(t, 2.5e-6, entry.Seconds, 1e-12)
	require.EqualValues(t, 4, entry.Launches)
	require.Equal(t, []hlo.Kernel{{Name: "g", Opcode: "gemm", Bytes: 20}, {Name: "t", Opcode: "transpose"}},
		outer.Kernels, "calls are followed")
	require.EqualValues(t, 10, outer.Trips, "the condition compares with a constant")
	require.EqualValues(t, 20, outer.Launches)
	require.Equal(t, 2, inner.Depth)
	require.EqualValues(t, 500, inner.Trips, "the compiler says it")
	require.EqualValues(t, 5000, inner.Launches)
	require.False(t, hlo.AtLeast(loops), "the length of each loop is known")

	// In microseconds, with a byte each: the entry's fusion reads and writes 256 bytes, its all-reduce 16, and two
	// kernels of no bytes take the time of a launch. Then 10 turns of 20 bytes and a launch, and 5,000 turns of 4
	// bytes.
	require.InDelta(t, 256+16+2+10*(20+1)+5000*4, 1e6*hlo.Estimate(loops, 1e6, 1e-6), 1e-6)
	with, err := hlo.Parse("hlo_with_config", message(1, testModule(), 2, "config"))
	require.NoError(t, err)
	require.Equal(t, loops, with.Loops())
}

// A condition that does more than compare with a constant has no known bound.
func TestUnknownTurns(t *testing.T) {
	for name, condition := range map[string][]byte{
		"another input": computation(3, "c", instruction("p", "parameter"), instruction("lt", "compare")),
		"an early end": computation(3, "c", instruction("p", "parameter"),
			instruction("ten", "constant", hlo.InstructionLiteral, message(hlo.LiteralS32, []byte{10})),
			instruction("lt", "compare"), instruction("and", "and")),
		"a fraction": computation(3, "c", instruction("x", "constant", hlo.InstructionLiteral, message(8, 1.5)),
			instruction("lt", "compare")),
	} {
		m, err := hlo.Parse("hlo", message(hlo.ModuleEntry, 1, hlo.ModuleComputations, computation(1, "main",
			instruction("w", "while", hlo.InstructionCalled, []byte{2, 3})), hlo.ModuleComputations,
			computation(2, "body", instruction("k", "copy")), hlo.ModuleComputations, condition))
		require.NoError(t, err, name)
		loops := m.Loops()
		require.Len(t, loops, 2, name)
		require.Zero(t, loops[1].Trips, name)
		require.EqualValues(t, 1, loops[1].Launches, name)
		require.True(t, hlo.AtLeast(loops), "the loop may turn more than once")
		text, err := json.Marshal(loops[1])
		require.NoError(t, err)
		require.NotContains(t, string(text), "trips", "a number that is not known is absent, not 0")
	}
}

func TestDamaged(t *testing.T) {
	_, err := hlo.Parse("mlir", nil)
	require.ErrorContains(t, err, `got a program in the format "mlir"`)
	_, err = hlo.Parse("hlo", nil)
	require.ErrorContains(t, err, "no entry computation")
	whole := testModule()
	for n := range whole { // a program cut short is an error or a shorter program, never a panic
		if m, err := hlo.Parse("hlo", whole[:n]); err == nil {
			m.Loops()
		}
	}
}
