package xlabridge

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/xlabridge/hlo"
)

// A program that the CPU plugin serializes holds machine code and the optimized program as HLO. Loading makes objects
// of the HLO again, which takes two thirds of the time. The bodies of fusions are most of it, and are machine code
// already. So an entry of the cache has a stand-in for them: the parameters, and a result of the right shape.

// A serialized program is executableField{resultField{moduleField{HloModuleProto}}}: so the plugin wraps the HLO.
const executableField, resultField, moduleField protowire.Number = 1, 1, 1

// field is a field of a message: the number in data if it is one, else the bytes.
type field struct {
	number protowire.Number
	kind   protowire.Type
	value  uint64
	data   []byte
}

// fieldsOf splits a message, and returns nil if it is none.
func fieldsOf(message []byte) (all []field) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		size := protowire.ConsumeFieldValue(number, kind, message[n:])
		if size < 0 {
			return nil
		}
		f := field{number: number, kind: kind, data: message[n : n+size]}
		switch kind {
		case protowire.VarintType:
			f.value, _ = protowire.ConsumeVarint(f.data)
		case protowire.BytesType:
			f.data, _ = protowire.ConsumeBytes(f.data)
		}
		all, message = append(all, f), message[n+size:]
	}
	return all
}

// message is the reverse of fieldsOf.
func message(all []field) (out []byte) {
	for _, f := range all {
		out = protowire.AppendTag(out, f.number, f.kind)
		if f.kind == protowire.BytesType {
			out = protowire.AppendBytes(out, f.data)
		} else {
			out = append(out, f.data...)
		}
	}
	return out
}

// find returns the first field of a number.
func find(all []field, number protowire.Number) (f field) {
	for _, f := range all {
		if f.number == number {
			return f
		}
	}
	return field{}
}

// replace applies change to the message in the first field of the path's first number, and so on.
func replace(outer []byte, change func([]byte) []byte, path ...protowire.Number) []byte {
	if len(path) == 0 {
		return change(outer)
	}
	all := fieldsOf(outer)
	for i, f := range all {
		if f.number == path[0] && f.kind == protowire.BytesType {
			all[i].data = replace(f.data, change, path[1:]...)
			return message(all)
		}
	}
	return outer
}

// withoutFusions returns a serialized program of the CPU plugin without the bodies of the fusions that are machine
// code. A program that looks different is returned unchanged.
func withoutFusions(program []byte) []byte {
	return replace(program, withoutBodies, executableField, resultField, moduleField)
}

// withoutBodies is withoutFusions of an HloModuleProto.
func withoutBodies(module []byte) []byte {
	all := fieldsOf(module)
	if all == nil {
		return module
	}
	fused := map[uint64]bool{}
	for _, c := range all {
		if c.number != hlo.ModuleComputations {
			continue
		}
		for _, i := range fieldsOf(c.data) {
			if i.number != hlo.ComputationInstructions {
				continue
			}
			instruction := fieldsOf(i.data)
			// Libraries read the bodies of custom fusions when the program runs.
			if string(find(instruction, hlo.InstructionOpcode).data) == "fusion" &&
				!bytes.Equal(find(instruction, hlo.InstructionFusionKind).data, []byte("kCustom")) {
				for _, id := range numbers(instruction, hlo.InstructionCalled) {
					fused[id] = true
				}
			}
		}
	}
	for k, c := range all {
		if c.number != hlo.ModuleComputations {
			continue
		}
		computation := fieldsOf(c.data)
		if computation != nil && fused[find(computation, hlo.ComputationID).value] {
			all[k].data = message(standIn(computation))
		}
	}
	return message(all)
}

// numbers are a repeated field of whole numbers, packed or not.
func numbers(all []field, number protowire.Number) (out []uint64) {
	for _, f := range all {
		switch {
		case f.number != number:
		case f.kind == protowire.VarintType:
			out = append(out, f.value)
		case f.kind == protowire.BytesType:
			for packed := f.data; len(packed) > 0; {
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

// standIn returns a computation with the parameters only, and as its result a custom call of the same shape.
func standIn(computation []field) (out []field) {
	root := find(computation, hlo.ComputationRoot).value
	for _, f := range computation {
		if f.number != hlo.ComputationInstructions {
			out = append(out, f)
			continue
		}
		instruction := fieldsOf(f.data)
		switch {
		case string(find(instruction, hlo.InstructionOpcode).data) == "parameter":
			out = append(out, f)
		case find(instruction, hlo.InstructionID).value == root:
			f.data = message([]field{
				find(instruction, hlo.InstructionName),
				{number: hlo.InstructionOpcode, kind: protowire.BytesType, data: []byte("custom-call")},
				find(instruction, hlo.InstructionShape),
				{number: hlo.InstructionTarget, kind: protowire.BytesType, data: []byte("fused")},
				find(instruction, hlo.InstructionID),
			})
			out = append(out, f)
		}
	}
	return out
}
