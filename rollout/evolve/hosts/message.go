package hosts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
)

// Message is what hosts send to each other.
type Message struct {
	Kind Kind   `json:"kind"`
	From string `json:"from"`         // the host that sends it
	To   string `json:"to,omitempty"` // the host that gets it; "": all other hosts
	Run  string `json:"run"`          // Identity.Digest of the sender
	// Generation is the number of generations that the sender has done. Of Rows and RowsRequest it is the number of the
	// generation, from 0.
	Generation int64 `json:"gen"`
	// Leading says that the sender computes its generations alone, and sends no rows of them.
	Leading bool `json:"leading,omitempty"`
	// Chunks are the chunks that the sender begins (Begin), has not (RowsRequest), or sends (Rows: one).
	Chunks []int `json:"chunks,omitempty"`
	// Fragment and Fragments say which part of a state Data is.
	Fragment  int `json:"fragment,omitempty"`
	Fragments int `json:"fragments,omitempty"`
	// Identity is the sender's, in Hello and Welcome.
	Identity Identity `json:"identity,omitempty"`
	Data     []byte   `json:"-"`
}

// Kind says what a message is for.
type Kind string

const (
	Hello        Kind = "hello"      // the sender joins: the others answer with Welcome
	Welcome      Kind = "welcome"    // the answer to Hello
	Beat         Kind = "beat"       // the sender is alive; once in BeatEvery
	Begin        Kind = "begin"      // the sender computes these chunks now
	Rows         Kind = "rows"       // the results of a chunk
	RowsRequest  Kind = "want"       // the sender lacks these chunks of a generation that the receiver has done
	StateRequest Kind = "want-state" // the sender is too far behind for rows
	State        Kind = "state"      // a part of a state with its history
	Leave        Kind = "leave"      // the sender ends
)

// errMessage is the error of bytes that are no message.
var errMessage = errors.New("these bytes are no message of a host")

// Encode returns the message as bytes: the length of a JSON header, the header, Data.
func (m Message) Encode() []byte {
	header, err := json.Marshal(m)
	if err != nil {
		panic(err) // a Message has only strings and numbers
	}
	b := binary.AppendUvarint(make([]byte, 0, len(header)+len(m.Data)+binary.MaxVarintLen64), uint64(len(header)))
	return append(append(b, header...), m.Data...)
}

// Decode reads a message. Data shares b's memory.
func Decode(b []byte) (m Message, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return m, errMessage
	}
	header, data := b[size:size+int(n)], b[size+int(n):]
	if json.Unmarshal(header, &m) != nil || m.Kind == "" || m.From == "" {
		return m, errMessage
	}
	m.Data = data
	return m, nil
}
