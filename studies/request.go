package studies

import (
	"bytes"
	"encoding/gob"
	"time"

	"xlarun/studies/study"
)

// protocol is the number of what this file says: a change of it raises the number.
const protocol = 2

// Subjects of messages. Workers ask, the coordinator answers. Requests and answers may be lost, doubled and late: a
// worker asks again until it is answered, and the second time changes nothing.
const (
	nextKind    = "next"    // which trial do I run?
	beatKind    = "beat"    // the trial runs
	reportKind  = "report"  // an intermediate value
	keepKind    = "keep"    // a part of a checkpoint
	fetchKind   = "fetch"   // give me a part of a checkpoint
	releaseKind = "release" // I have to end: another one may run the trial
	resultKind  = "result"  // the result of the trial
	freeKind    = "free"    // of the coordinator: a trial is free, workers that wait ask
	overKind    = "over"    // of the coordinator: the study is over
	serveKind   = "serve"   // of a coordinator that comes: does another one serve a study under this name?
)

// subject returns the subject of a kind of messages. name tells studies of one message server apart; "": it has one.
func subject(kind, name string) string {
	if name != "" {
		kind += "." + name
	}
	return "xlarun.study." + kind
}

// request is a message of a worker to the coordinator.
type request struct {
	Worker     string
	Study      string // that the worker has the trial of; "": it asks for one
	Protocol   int
	Version    string // of xlarun
	Processor  string // its kind
	Threads    int
	Trial      int64
	Step, Last int64
	Value      float64
	File       string // of a checkpoint
	Part       part
	Stalled    bool // of a release: the run stood still
	Result     study.Result
	Limited    bool // of a result: it depends on the worker's machine
}

// reply is the answer to a request.
type reply struct {
	Study   string        // that has answered
	Refused string        // the coordinator's version, which is another one
	Over    bool          // the study is over
	Lost    bool          // the worker has lost the trial
	Job     *job          // the trial that the worker has got
	Busy    time.Duration // there is no free trial: ask again after this time
	Lease   time.Duration // how long a lease lasts
	Stop    bool          // the pruner stops the trial
	Part    part
	Note    string // a message about a result that was accepted
	Failed  string // why a checkpoint was not stored or read
}

// encoded returns the gob of a value.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// decoded reads a gob.
func decoded(data []byte, v any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(v) }
