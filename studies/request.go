package studies

import (
	"bytes"
	"encoding/gob"
	"time"

	"xlarun/studies/study"
)

// Kinds of requests of workers. A worker asks again if an answer is lost: the second time changes nothing.
const (
	helloKind      = "hello"   // the worker is there: it says so while it waits for a trial
	claimKind      = "claim"   // may I run this trial of the queue?
	beatKind       = "beat"    // the trial runs
	reportKind     = "report"  // an intermediate value
	checkpointKind = "keep"    // a checkpoint was stored
	releaseKind    = "release" // the worker has to end: another one may run the trial
	resultKind     = "result"  // the result of the trial
)

// request is a message of a worker to the server.
type request struct {
	Trial      int64
	Worker     string
	Fence      uint64 // revision of its lease
	Ack        string // subject on which the queue's message is acknowledged
	Step, Last int64
	Value      float64
	Object     string
	Result     study.Result
	Threads    int
}

// reply is the answer to a request.
type reply struct {
	Lost  bool          // the worker has lost the trial
	Over  bool          // the trial has finished
	Busy  time.Duration // not 0: another worker runs the trial; ask again after this time
	Stop  bool          // the pruner stops the trial
	Fence uint64
	Job   *job
	Note  string        // a message about a result that was accepted
	Lease time.Duration // how long a lease lasts; in an answer to a hello
}

// encoded returns the gob of a value.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// decoded reads a gob.
func decoded(data []byte, v any) error { return gob.NewDecoder(bytes.NewReader(data)).Decode(v) }
