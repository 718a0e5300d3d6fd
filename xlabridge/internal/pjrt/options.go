package pjrt

import (
	"google.golang.org/protobuf/encoding/protowire"

	"xlarun/internal/protobuf"
)

// Field numbers of CompileOptionsProto, ExecutableBuildOptionsProto and DeviceAssignmentProto.
const (
	fieldBuildOptions     protowire.Number = 3
	fieldPortable         protowire.Number = 4
	fieldDeviceOrdinal    protowire.Number = 1
	fieldReplicas         protowire.Number = 4
	fieldPartitions       protowire.Number = 5
	fieldSPMD             protowire.Number = 6
	fieldDeviceAssignment protowire.Number = 9
	fieldReplicaCount     protowire.Number = 1
	fieldComputationCount protowire.Number = 2
	fieldComputation      protowire.Number = 3
	fieldReplicaDevices   protowire.Number = 1
)

// CompileOptions returns the CompileOptionsProto of a program that is replicated over devices. The program of one
// device is portable: it runs on any, so the device's number is not used. The bytes are those of go-xla, since they are
// part of the keys of users' caches.
func CompileOptions(devices ...int) []byte {
	var options, build, assignment, computation protobuf.Message
	build.Int(fieldDeviceOrdinal, -1)
	build.Int(fieldReplicas, int64(len(devices)))
	build.Int(fieldPartitions, 1)
	if len(devices) == 1 {
		options.Bytes(fieldBuildOptions, build)
		options.Bool(fieldPortable, true)
		return options
	}
	build.Bool(fieldSPMD, true)
	var numbers []byte
	for _, n := range devices {
		numbers = protowire.AppendVarint(numbers, uint64(n))
	}
	computation.Bytes(fieldReplicaDevices, numbers)
	assignment.Int(fieldReplicaCount, int64(len(devices)))
	assignment.Int(fieldComputationCount, 1)
	assignment.Bytes(fieldComputation, computation)
	build.Bytes(fieldDeviceAssignment, assignment)
	options.Bytes(fieldBuildOptions, build)
	return options
}
