package runfolder

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// A TensorBoard event file is a sequence of records (TensorFlow, lib/io/record_writer.h):
//
//	uint64 length, uint32 masked crc32c of the length, the bytes, uint32 masked crc32c of the bytes
//
// The bytes are an Event message (tensorflow/core/util/event.proto).

// Field numbers of Event, SessionLog, Summary and Summary.Value.
const (
	eventWallTime    = 1 // double, seconds since 1970
	eventStep        = 2 // int64
	eventFileVersion = 3 // string, in the first record only
	eventSummary     = 5 // Summary
	eventSession     = 7 // SessionLog
	sessionStatus    = 1 // enum
	sessionStart     = 1 // its value START
	summaryValue     = 1 // repeated Value
	valueTag         = 1 // string
	valueSimple      = 2 // float
)

const eventVersion = "brain.Event:2"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// eventsPrefix begins the name of every event file.
const eventsPrefix = "events.out.tfevents."

// eventsName returns the name of a new event file. It sorts after the files that are there: TensorBoard reads a
// folder's files in the order of their names.
func eventsName(there []fs.DirEntry, now time.Time) string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	second := now.Unix()
	for _, e := range there {
		rest, ok := strings.CutPrefix(e.Name(), eventsPrefix)
		digits, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.ParseInt(digits, 10, 64); ok && err == nil && len(digits) == 10 {
			second = max(second, n+1)
		}
	}
	return fmt.Sprintf("%s%010d.%s.%d.0", eventsPrefix, second, filepath.Base(host), os.Getpid())
}

// eventsHead returns the first record of an event file.
func eventsHead(start time.Time) []byte {
	head := appendWallTime(nil, start)
	head = protowire.AppendTag(head, eventFileVersion, protowire.BytesType)
	head = protowire.AppendString(head, eventVersion)
	return record(head)
}

// eventsRestart returns the record after which TensorBoard ignores this and later steps of earlier files.
func eventsRestart(start time.Time, step int64) []byte {
	session := protowire.AppendTag(nil, sessionStatus, protowire.VarintType)
	session = protowire.AppendVarint(session, sessionStart)
	event := appendWallTime(nil, start)
	event = protowire.AppendTag(event, eventStep, protowire.VarintType)
	event = protowire.AppendVarint(event, uint64(step))
	event = protowire.AppendTag(event, eventSession, protowire.BytesType)
	event = protowire.AppendBytes(event, session)
	return record(event)
}

// eventStep returns the step of an event, for a row's Step and Work.
func (f *Folder) eventStep(step int64, work float64) int64 {
	if f.options.EventsBySteps && work > 0 {
		return int64(work)
	}
	return step
}

// eventRecord returns the record of a row: every value is a scalar with its name.
func eventRecord(r Row, step int64) []byte {
	size := 0
	for _, values := range [][]Value{r.Metrics, r.Timings} {
		for _, v := range values {
			size += 1 + protowire.SizeBytes(valueSize(v))
		}
	}
	summary := make([]byte, 0, size)
	for _, values := range [][]Value{r.Metrics, r.Timings} {
		for _, v := range values {
			summary = protowire.AppendTag(summary, summaryValue, protowire.BytesType)
			summary = protowire.AppendVarint(summary, uint64(valueSize(v)))
			summary = protowire.AppendTag(summary, valueTag, protowire.BytesType)
			summary = protowire.AppendString(summary, v.Name)
			summary = protowire.AppendTag(summary, valueSimple, protowire.Fixed32Type)
			summary = protowire.AppendFixed32(summary, math.Float32bits(float32(v.Number)))
		}
	}
	event := appendWallTime(nil, r.Time)
	event = protowire.AppendTag(event, eventStep, protowire.VarintType)
	event = protowire.AppendVarint(event, uint64(step))
	event = protowire.AppendTag(event, eventSummary, protowire.BytesType)
	event = protowire.AppendBytes(event, summary)
	return record(event)
}

// valueSize returns the length of a Summary.Value: two tags of a byte each, a name and four bytes.
func valueSize(v Value) int {
	return 1 + protowire.SizeBytes(len(v.Name)) + 1 + protowire.SizeFixed32()
}

func appendWallTime(b []byte, t time.Time) []byte {
	b = protowire.AppendTag(b, eventWallTime, protowire.Fixed64Type)
	return protowire.AppendFixed64(b, math.Float64bits(float64(t.UnixMicro())/1e6))
}

// record returns the bytes of one event as a record.
func record(data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, len(data)+16), uint64(len(data)))
	b = binary.LittleEndian.AppendUint32(b, maskedCRC(b))
	b = append(b, data...)
	return binary.LittleEndian.AppendUint32(b, maskedCRC(data))
}

// maskedCRC is TensorFlow's crc32c for data that may contain checksums: rotated right by 15 bits, plus a constant
// (lib/hash/crc32c.h).
func maskedCRC(data []byte) uint32 {
	crc := crc32.Checksum(data, castagnoli)
	return (crc>>15 | crc<<17) + 0xa282ead8
}
