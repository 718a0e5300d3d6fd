package notebook

import (
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// The environment variables with the paths of gonb's named pipes.
const (
	pipeEnv = "GONB_PIPE"      // to the kernel
	backEnv = "GONB_PIPE_BACK" // from the kernel
)

// Active reports whether this process is a cell of a notebook.
func Active() bool { return os.Getenv(pipeEnv) != "" }

// message is gonb's DisplayData. gob matches its fields by name.
type message struct {
	Data      map[string]any // by MIME type
	Metadata  map[string]any
	DisplayID string // a later message with this ID takes the place of the earlier one; "": a display of its own
}

// value is gonb's CommValue.
type value struct {
	Address string
	Request bool
	Value   any
}

const (
	valueName   = "github.com/janpfeifer/gonb/gonbui/protocol.CommValue" // the name of value on the pipe
	valueKey    = "gonb/comm_value"                                      // the key of a value in message.Data
	syncAddress = "#gonbui/sync"
	ackAddress  = "#gonbui/sync_ack"
)

// ackWait is the longest time that a display waits for the kernel. It is a variable for tests.
var ackWait = 2 * time.Second

// kernel is the connection to gonb. The pipes are opened by the first message.
type kernel struct {
	mu   sync.Mutex
	out  *gob.Encoder
	acks chan int
	sent int
	err  error // the first error; later messages are dropped
}

var process kernel

// show sends a message and waits until the kernel has it: gonb drops what is in the pipe when the process ends.
// The first error goes to stderr.
func show(m message) {
	if Active() {
		process.send(m)
	}
}

func (k *kernel) send(m message) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.err != nil {
		return
	}
	if k.err = k.exchange(m); k.err != nil {
		fmt.Fprintf(os.Stderr, "notebook: the display is off: %v\n", k.err)
	}
}

func (k *kernel) exchange(m message) error {
	if k.out == nil {
		if err := k.open(); err != nil {
			return err
		}
	}
	k.sent++
	sync := message{Data: map[string]any{valueKey: value{Address: syncAddress, Value: k.sent}}}
	if err := errors.Join(k.out.Encode(m), k.out.Encode(sync)); err != nil {
		return err
	}
	late := time.NewTimer(ackWait)
	defer late.Stop()
	for {
		select {
		case n, ok := <-k.acks:
			if !ok {
				return errors.New("the kernel closed its pipe")
			}
			if n == k.sent {
				return nil
			}
		case <-late.C: // the kernel is busy: its acknowledgement is skipped when it comes
			return nil
		}
	}
}

// register names the type of values for gob, which allows one type for a name and panics otherwise.
func register() (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("this program uses gonbui too: use one of the two")
		}
	}()
	gob.RegisterName(valueName, value{})
	return nil
}

// open opens both pipes and starts to read acknowledgements.
func (k *kernel) open() error {
	if err := register(); err != nil {
		return err
	}
	out, err := os.OpenFile(os.Getenv(pipeEnv), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	in, err := os.Open(os.Getenv(backEnv))
	if err != nil {
		return errors.Join(err, out.Close())
	}
	k.out, k.acks = gob.NewEncoder(out), make(chan int, 16)
	go func() {
		defer close(k.acks)
		for decoder := gob.NewDecoder(in); ; {
			var v value
			if decoder.Decode(&v) != nil {
				return
			}
			if n, ok := v.Value.(int); ok && v.Address == ackAddress {
				select {
				case k.acks <- n:
				default: // nobody waits for so old ones
				}
			}
		}
	}()
	return nil
}
