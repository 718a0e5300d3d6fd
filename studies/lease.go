package studies

import (
	"slices"
	"time"
)

// lease is the right of one worker to run a trial. It lasts while the worker sends requests, by the monotonic clock of
// this process: setting the clock of the machine changes nothing. The revision of the lease in its bucket is a fence: a
// request with an older one is refused.
type lease struct {
	Worker   string
	Ack      string // subject on which the message of the queue is acknowledged
	Object   string // the newest checkpoint
	Attempts int64  // number of workers that have had the trial, without those that died of something else
	Excused  int64  // number of workers that had the trial and died of something else
	// Former are earlier revisions that the worker may know: leases were lost, or the answer to a write was. 0 is none.
	Former []uint64

	revision uint64
	lastSeen time.Time // zero: the worker is known to be gone
	freed    bool      // the trial was put back into the queue
	released bool      // the worker has given the trial back
	death    *death    // of this worker; nil: it is not known to have died
	blamed   *death    // of the worker before, which counts as an attempt
	unheard  bool      // an earlier coordinator granted the lease, and the worker has sent nothing since
}

// fences reports whether a request with this revision is valid.
func (l *lease) fences(revision uint64) bool {
	return revision == l.revision || revision != 0 && slices.Contains(l.Former, revision)
}

// revisions returns all revisions that the worker may know.
func (l *lease) revisions() []uint64 { return append(slices.Clone(l.Former), l.revision) }
