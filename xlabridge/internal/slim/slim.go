// Package slim makes entries of the cache smaller. With whole entries a warm start of evolve takes 0.24 s of a
// processor for 0.18. One of ppo takes 1.39 s for 1.01, at a peak of 183 MB for 127, and its cache 2.59 MB for 1.04
// (smallest of 2, in turn, two busy cores of an AMD EPYC).
package slim

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
	"xlarun/xlabridge/hlo"
)

// A program that the CPU plugin serializes holds machine code and the optimized program as HLO. Loading makes objects
// of the HLO again, which takes two thirds of the time. The bodies of fusions are most of it, and are machine code
// already. So an entry of the cache has custom calls instead of fusions, and no bodies.

// A serialized program is executableField{resultField{moduleField{HloModuleProto}}}: so the plugin wraps the HLO.
const executableField, resultField, moduleField protowire.Number = 1, 1, 1

// fieldsOf splits a message, and returns nil if it is none.
func fieldsOf(message []byte) []protobuf.Field {
	all, err := protobuf.Fields(message)
	if err != nil {
		return nil
	}
	return all
}

// message is the reverse of fieldsOf.
func message(all []protobuf.Field) (out []byte) {
	for _, f := range all {
		out = protowire.AppendTag(out, f.Number, f.Kind)
		if f.Kind == protowire.BytesType {
			out = protowire.AppendBytes(out, f.Bytes)
		} else {
			out = append(out, f.Bytes...)
		}
	}
	return out
}

// find returns the first field of a number.
func find(all []protobuf.Field, number protowire.Number) (f protobuf.Field) {
	for _, f := range all {
		if f.Number == number {
			return f
		}
	}
	return protobuf.Field{}
}

// replace applies change to the message in the first field of the path's first number, and so on.
func replace(outer []byte, change func([]byte) []byte, path ...protowire.Number) []byte {
	if len(path) == 0 {
		return change(outer)
	}
	all := fieldsOf(outer)
	for i, f := range all {
		if f.Number == path[0] && f.Kind == protowire.BytesType {
			all[i].Bytes = replace(f.Bytes, change, path[1:]...)
			return message(all)
		}
	}
	return outer
}

// WithoutFusions returns a serialized program of the CPU plugin without the bodies of the fusions that are machine
// code. A program that looks different is returned unchanged.
func WithoutFusions(program []byte) []byte {
	return replace(program, withoutBodies, executableField, resultField, moduleField)
}

// withoutBodies is WithoutFusions of an HloModuleProto.
func withoutBodies(module []byte) []byte {
	all := fieldsOf(module)
	fused := map[uint64]bool{}               // the computations that are bodies
	library := map[uint64]bool{}             // bodies that libraries read when the program runs
	for k, c := range slices.Backward(all) { // callers first
		if c.Number != hlo.ModuleComputations {
			continue
		}
		computation := fieldsOf(c.Bytes)
		ofLibrary := library[find(computation, hlo.ComputationID).Value]
		for i, f := range computation {
			if f.Number != hlo.ComputationInstructions {
				continue
			}
			instruction := fieldsOf(f.Bytes)
			if string(find(instruction, hlo.InstructionOpcode).Bytes) != "fusion" {
				continue
			}
			of, custom := fused, ofLibrary || string(find(instruction, hlo.InstructionFusionKind).Bytes) == "kCustom"
			if custom {
				of = library
			}
			for _, id := range numbers(instruction, hlo.InstructionCalled) {
				of[id] = true
			}
			if !custom {
				computation[i].Bytes = message(callOf(instruction))
			}
		}
		if computation != nil {
			all[k].Bytes = message(computation)
		}
	}
	if len(fused) == 0 {
		return module
	}
	return message(slices.DeleteFunc(all, func(c protobuf.Field) bool {
		computation := fieldsOf(c.Bytes)
		return c.Number == hlo.ModuleComputations && computation != nil &&
			fused[find(computation, hlo.ComputationID).Value]
	}))
}

// numbers are a repeated field of whole numbers, packed or not.
func numbers(all []protobuf.Field, number protowire.Number) (out []uint64) {
	for _, f := range all {
		switch {
		case f.Number != number:
		case f.Kind == protowire.VarintType:
			out = append(out, f.Value)
		case f.Kind == protowire.BytesType:
			for packed := f.Bytes; len(packed) > 0; {
				v, n := protowire.ConsumeVarint(packed)
				if n < 0 {
					break
				}
				out, packed = append(out, v), packed[n:]
			}
		}
	}
	return out
}

// callOf returns a custom call with the name, the shape and the operands of a fusion. Nothing runs it.
func callOf(fusion []protobuf.Field) []protobuf.Field {
	kept := slices.DeleteFunc(fusion, func(f protobuf.Field) bool {
		return f.Number == hlo.InstructionOpcode || f.Number == hlo.InstructionFusionKind ||
			f.Number == hlo.InstructionCalled || f.Number == hlo.InstructionConfig
	})
	return append(kept,
		protobuf.Field{Number: hlo.InstructionOpcode, Kind: protowire.BytesType, Bytes: []byte("custom-call")},
		protobuf.Field{Number: hlo.InstructionTarget, Kind: protowire.BytesType, Bytes: []byte("fused")})
}
