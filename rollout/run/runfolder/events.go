package runfolder

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"xlarun/internal/protobuf"
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
	head := newEvent(start)
	head.Text(eventFileVersion, eventVersion)
	return record(head)
}

// eventsRestart returns the record after which TensorBoard ignores this and later steps of earlier files.
func eventsRestart(start time.Time, step int64) []byte {
	var session protobuf.Message
	session.Int(sessionStatus, sessionStart)
	event := newEvent(start)
	event.Int(eventStep, step)
	event.Bytes(eventSession, session)
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
	var summary, value protobuf.Message
	for _, values := range [][]Value{r.Metrics, r.Timings} {
		for _, v := range values {
			value = value[:0]
			value.Text(valueTag, v.Name)
			value.Float(valueSimple, float32(v.Number))
			summary.Bytes(summaryValue, value)
		}
	}
	event := newEvent(r.Time)
	event.Int(eventStep, step)
	event.Bytes(eventSummary, summary)
	return record(event)
}

// newEvent returns an event with its time.
func newEvent(t time.Time) (event protobuf.Message) {
	event.Double(eventWallTime, seconds(t))
	return event
}

// seconds returns the seconds since 1970, to microseconds.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

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
