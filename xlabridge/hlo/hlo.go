// Package hlo reads the optimized program that a plugin gives back, a serialized HloModuleProto, and counts the kernels
// in it. It knows the fields of xla/service/hlo.proto and xla/xla_data.proto that it needs.
package hlo

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
)

// Module is a compiled program.
type Module struct {
	Name         string
	Computations []*Computation
	Entry        *Computation
	byID         map[int64]*Computation
}

// Computation is a sequence of instructions, such as the body of a loop.
type Computation struct {
	Name         string
	Instructions []*Instruction
	id           int64
}

// Instruction is one operation of the compiled program.
type Instruction struct {
	Name   string
	Opcode string // as in HLO text: "fusion", "while"
	// Target is the name that a custom-call calls.
	Target string
	// Bytes is the size of the result.
	Bytes    int64
	id       int64
	operands []int64
	called   []int64
	// constant is the value of an integer constant without dimensions.
	constant    int64
	hasConstant bool
	// config is the backend's own text about the instruction.
	config string
}

// Parse reads a HloModuleProto, alone ("hlo") or as the first field of a HloModuleProtoWithConfig ("hlo_with_config").
func Parse(format string, code []byte) (*Module, error) {
	switch format {
	case "hlo":
	case "hlo_with_config":
		var module []byte
		err := fields(code, func(number protowire.Number, _ uint64, bytes []byte) error {
			if number == WithConfigModule {
				module = bytes
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		code = module
	default:
		return nil, fmt.Errorf("hlo: got a program in the format %q, wants hlo or hlo_with_config", format)
	}
	m := &Module{byID: map[int64]*Computation{}}
	var entry int64
	err := fields(code, func(number protowire.Number, value uint64, bytes []byte) error {
		switch number {
		case ModuleName:
			m.Name = string(bytes)
		case ModuleEntry:
			entry = int64(value)
		case ModuleComputations:
			c, err := parseComputation(bytes)
			if err != nil {
				return err
			}
			m.Computations = append(m.Computations, c)
			m.byID[c.id] = c
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if m.Entry = m.byID[entry]; m.Entry == nil {
		return nil, fmt.Errorf("hlo: the program has no entry computation")
	}
	return m, nil
}

func parseComputation(message []byte) (*Computation, error) {
	c := &Computation{}
	return c, fields(message, func(number protowire.Number, value uint64, bytes []byte) error {
		switch number {
		case ComputationName:
			c.Name = string(bytes)
		case ComputationID:
			c.id = int64(value)
		case ComputationInstructions:
			x, err := parseInstruction(bytes)
			if err != nil {
				return err
			}
			c.Instructions = append(c.Instructions, x)
		}
		return nil
	})
}

func parseInstruction(message []byte) (*Instruction, error) {
	x := &Instruction{}
	return x, fields(message, func(number protowire.Number, value uint64, bytes []byte) (err error) {
		switch number {
		case InstructionName:
			x.Name = string(bytes)
		case InstructionOpcode:
			x.Opcode = string(bytes)
		case InstructionShape:
			x.Bytes, err = shapeBytes(bytes)
		case InstructionTarget:
			x.Target = string(bytes)
		case InstructionConfig:
			x.config = string(bytes)
		case InstructionLiteral:
			x.constant, x.hasConstant, err = integer(bytes)
		case InstructionID:
			x.id = int64(value)
		case InstructionOperands:
			x.operands, err = numbers(x.operands, value, bytes)
		case InstructionCalled:
			x.called, err = numbers(x.called, value, bytes)
		}
		return err
	})
}

// bits are the sizes of element types by their numbers in PrimitiveType. Others, such as tokens, have no size.
var bits = map[uint64]int64{1: 8, 2: 8, 3: 16, 4: 32, 5: 64, 6: 8, 7: 16, 8: 32, 9: 64, 10: 16, 11: 32, 12: 64, 15: 64,
	16: 16, 18: 128, 19: 8, 20: 8, 21: 4, 22: 4, 23: 8, 24: 8, 25: 8}

// shapeBytes returns the bytes of a ShapeProto. Those of a tuple are the sum of its parts.
func shapeBytes(message []byte) (int64, error) {
	var element uint64
	var dims []int64
	var tuple int64
	err := fields(message, func(number protowire.Number, value uint64, bytes []byte) (err error) {
		switch number {
		case ShapeElement:
			element = value
		case ShapeDimensions:
			dims, err = numbers(dims, value, bytes)
		case ShapeTuple:
			var part int64
			part, err = shapeBytes(bytes)
			tuple += part
		}
		return err
	})
	size := bits[element]
	for _, n := range dims {
		size *= n
	}
	return tuple + (size+7)/8, err
}

// integer returns the value of a LiteralProto that is one integer.
func integer(literal []byte) (value int64, ok bool, err error) {
	var all []int64
	err = fields(literal, func(number protowire.Number, value uint64, bytes []byte) (err error) {
		switch number {
		case LiteralS32, LiteralS64, LiteralU32, LiteralU64:
			all, err = numbers(all, value, bytes)
		}
		return err
	})
	if err != nil || len(all) != 1 {
		return 0, false, err
	}
	return all[0], true, nil
}

// numbers appends the values of a repeated field, packed or not.
func numbers(all []int64, value uint64, packed []byte) ([]int64, error) {
	if packed == nil {
		return append(all, int64(value)), nil
	}
	for len(packed) > 0 {
		v, n := protowire.ConsumeVarint(packed)
		if n < 0 {
			return nil, protowire.ParseError(n)
		}
		all, packed = append(all, int64(v)), packed[n:]
	}
	return all, nil
}

// fields calls f with each field of a message that is a number or bytes, which are not nil.
func fields(message []byte, f func(number protowire.Number, value uint64, bytes []byte) error) error {
	all, err := protobuf.Fields(message)
	if err != nil {
		return fmt.Errorf("hlo: the program is damaged: %w", err)
	}
	for _, field := range all {
		switch field.Kind {
		case protowire.VarintType:
			err = f(field.Number, field.Value, nil)
		case protowire.BytesType:
			err = f(field.Number, 0, field.Bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

var (
	tripCount = regexp.MustCompile(`"known_trip_count":\s*\{\s*"n":\s*"?(\d+)`)
	execTime  = regexp.MustCompile(`"exec_time_us":\s*"?([0-9.eE+-]+)`)
	cycles    = regexp.MustCompile(`"estimated_cycles":\s*"(\d+)"`)
)

// Trips returns how often a while loop runs; 0: it is not known. The compiler says it, or the loop counts up to a
// constant. Such a loop counts from 0 in programs of xlarun and JAX.
func (m *Module) Trips(x *Instruction) int64 {
	if n := x.number(tripCount); n > 0 {
		return int64(n)
	}
	called := m.called(x)
	if len(called) < 2 {
		return 0
	}
	return max(0, m.bound(called[1]))
}

// bound returns the constant up to which the condition of a loop counts; 0: it does more than that.
func (m *Module) bound(condition *Computation) (bound int64) {
	for _, x := range condition.Instructions {
		switch {
		case x.Opcode == "constant" && x.hasConstant && bound == 0:
			bound = x.constant
		case x.Opcode == "fusion" || x.Opcode == "call":
			for _, callee := range m.called(x) {
				if n := m.bound(callee); n > 0 {
					bound = n
				}
			}
		case !slices.Contains([]string{"parameter", "get-tuple-element", "compare", "copy", "bitcast"}, x.Opcode):
			return 0
		}
	}
	return bound
}

// Microseconds returns the compiler's estimate of the time of a kernel on a GPU; 0: it gives none.
func (x *Instruction) Microseconds() float64 { return x.number(execTime) }

// Cycles returns the compiler's estimate of the cycles of a kernel on a TPU; 0: it gives none.
func (x *Instruction) Cycles() float64 { return x.number(cycles) }

func (x *Instruction) number(of *regexp.Regexp) float64 {
	if m := of.FindStringSubmatch(x.config); m != nil {
		v, _ := strconv.ParseFloat(m[1], 64)
		return v
	}
	return 0
}
