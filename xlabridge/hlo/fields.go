package hlo

import "google.golang.org/protobuf/encoding/protowire"

// The numbers of fields, of XLA's xla/service/hlo.proto and xla/xla_data.proto.
const (
	// Of HloModuleProtoWithConfig.
	WithConfigModule protowire.Number = 1

	// Of HloModuleProto. The shape is a ProgramShapeProto of the host's program.
	ModuleName         protowire.Number = 1
	ModuleComputations protowire.Number = 3
	ModuleShape        protowire.Number = 4
	ModuleEntry        protowire.Number = 6

	// Of HloComputationProto.
	ComputationName         protowire.Number = 1
	ComputationInstructions protowire.Number = 2
	ComputationID           protowire.Number = 5
	ComputationRoot         protowire.Number = 6

	// Of HloInstructionProto. Only custom calls have a target. The backend has written the config.
	InstructionName       protowire.Number = 1
	InstructionOpcode     protowire.Number = 2
	InstructionShape      protowire.Number = 3
	InstructionLiteral    protowire.Number = 8
	InstructionFusionKind protowire.Number = 11
	InstructionTarget     protowire.Number = 28
	InstructionID         protowire.Number = 35
	InstructionOperands   protowire.Number = 36
	InstructionCalled     protowire.Number = 38
	InstructionConfig     protowire.Number = 43

	// Of ProgramShapeProto.
	ProgramResult protowire.Number = 2

	// Of ShapeProto.
	ShapeElement    protowire.Number = 2
	ShapeDimensions protowire.Number = 3
	ShapeTuple      protowire.Number = 4

	// Of LiteralProto: the integers.
	LiteralS32 protowire.Number = 4
	LiteralS64 protowire.Number = 5
	LiteralU32 protowire.Number = 6
	LiteralU64 protowire.Number = 7
)
