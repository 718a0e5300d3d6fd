package xlabridge

import (
	"bytes"

	"google.golang.org/protobuf/encoding/protowire"
)

// A program that the CPU plugin serializes holds machine code and the optimized program as HLO. Loading makes objects
// of the HLO again, which takes two thirds of the time. The bodies of fusions are most of it, and are machine code
// already. So an entry of the cache has a stand-in for them: the parameters, and a result of the right shape.

// The numbers of fields, of XLA's xla/service/hlo.proto and of what the plugin puts around it. A serialized program is
// executableField{resultField{moduleField{HloModuleProto}}}.
const (
	executableField, resultField, moduleField protowire.Number = 1, 1, 1

	moduleComputations      protowire.Number = 3
	computationInstructions protowire.Number = 2
	computationID           protowire.Number = 5
	computationRoot         protowire.Number = 6

	instructionName   protowire.Number = 1
	instructionOpcode protowire.Number = 2
	instructionShape  protowire.Number = 3
	fusionKind        protowire.Number = 11
	customCallTarget  protowire.Number = 28
	instructionID     protowire.Number = 35
	calledIDs         protowire.Number = 38
)

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
		if c.number != moduleComputations {
			continue
		}
		for _, i := range fieldsOf(c.data) {
			if i.number != computationInstructions {
				continue
			}
			instruction := fieldsOf(i.data)
			// Libraries read the bodies of custom fusions when the program runs.
			if string(find(instruction, instructionOpcode).data) == "fusion" &&
				!bytes.Equal(find(instruction, fusionKind).data, []byte("kCustom")) {
				for _, id := range numbers(instruction, calledIDs) {
					fused[id] = true
				}
			}
		}
	}
	for k, c := range all {
		if c.number != moduleComputations {
			continue
		}
		computation := fieldsOf(c.data)
		if computation != nil && fused[find(computation, computationID).value] {
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
	root := find(computation, computationRoot).value
	for _, f := range computation {
		if f.number != computationInstructions {
			out = append(out, f)
			continue
		}
		instruction := fieldsOf(f.data)
		switch {
		case string(find(instruction, instructionOpcode).data) == "parameter":
			out = append(out, f)
		case find(instruction, instructionID).value == root:
			f.data = message([]field{
				find(instruction, instructionName),
				{number: instructionOpcode, kind: protowire.BytesType, data: []byte("custom-call")},
				find(instruction, instructionShape),
				{number: customCallTarget, kind: protowire.BytesType, data: []byte("fused")},
				find(instruction, instructionID),
			})
			out = append(out, f)
		}
	}
	return out
}
