package graph

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
)

// DebugTarget is the kernel with which compiled programs call back. Its first input is a debug op's message (u8[n]),
// the others are what it is about. Its result (an int32 scalar) has no meaning.
const DebugTarget = "xlarun_debug"

type debugAttrs struct {
	text     string // what is printed, or the name of a callback
	callback bool
	lanes    int // how many of the inputs' first axes VMap has mapped
}

// message is the attributes as a kernel's input.
func (a debugAttrs) message() []byte {
	return append(binary.AppendUvarint([]byte{boolByte(a.callback)}, uint64(a.lanes)), a.text...)
}

func boolByte(x bool) byte { return byte(boolBit(x)) }

var _ = register(&Op{
	Apart: alwaysApart,
	Name:  "debug", Effect: true,
	Shape: func(c *call) []Shape { return []Shape{{DType: Int32}} },
	Batch: func(b *batching, n *Node, in []*Array, dims []int) ([]*Array, []int) {
		a := n.Attrs.(debugAttrs)
		a.lanes++
		return apply(n.Op, a, b.front(in, dims)), []int{-1}
	},
	JVP: zeroJVP, NotLinear: "it has no result",
	Emit: func(e *emitter, n *Node) { e.callHost(n, DebugTarget, n.Attrs.(debugAttrs).message(), true) },
	Eval: func(n *Node, in []*Tensor) []*Tensor {
		if err := RunDebug(n.Attrs.(debugAttrs).message(), in); err != nil {
			panic(&Error{Where: n.Where(), Op: "debug", Msg: err.Error()})
		}
		return []*Tensor{newTensor(Shape{DType: Int32})}
	},
	Cost: costElements,
	Cases: func() []Case {
		RegisterCallback("xlarun_quiet", func([]*Tensor) {})
		return []Case{{Inputs: []Shape{ShapeOf(Float32, 3), ShapeOf(Int32)}, Fn: func(x []*Array) *Array {
			Callback("xlarun_quiet", x...)
			return Mul(x[0], 2)
		}}}
	},
})

// debugging is where Debugf writes and what Callback calls. The lock is held to look things up, never while code of the
// user's runs, which may well call what is below; printing has a turn, and so has each callback.
var debugging = struct {
	sync.Mutex
	out       io.Writer
	printing  turn
	callbacks map[string]*callback
}{out: os.Stderr, callbacks: map[string]*callback{}}

type callback struct {
	f    func(args []*Tensor)
	turn turn
}

// turn is a lock that the goroutine that has it may take again.
type turn struct {
	mu    sync.Mutex
	owner atomic.Uint64 // goroutine id, 0: nobody
}

// take waits for the turn; the caller ends it with the function that it gets.
func (t *turn) take() (end func()) {
	id := goroutineID()
	if t.owner.Load() == id {
		return func() {}
	}
	t.mu.Lock()
	t.owner.Store(id)
	return func() {
		t.owner.Store(0)
		t.mu.Unlock()
	}
}

// SetDebugOutput says where Debugf writes from now on, and gives what it was; by default it is the standard error.
func SetDebugOutput(w io.Writer) (old io.Writer) {
	debugging.Lock()
	defer debugging.Unlock()
	old, debugging.out = debugging.out, w
	return old
}

// RegisterCallback makes a function known under the name that Callback calls it by. A compiled program names it: it is
// looked up when the program runs, in the process that runs it. Calls come from any goroutine, those of one name one at
// a time. f may use this package, Debugf and RegisterCallback included, and run programs, but not wait for a program
// that calls the same name. A panic of f's ends the call of the program: xlabridge.CallbackPanic says how.
func RegisterCallback(name string, f func(args []*Tensor)) {
	debugging.Lock()
	defer debugging.Unlock()
	if c := debugging.callbacks[name]; c != nil {
		c.f = f
		return
	}
	debugging.callbacks[name] = &callback{f: f}
}

// Debugf prints a line whenever a running program passes here: format is fmt.Sprintf's, with one verb for each array;
// scalars are numbers or bools to it, larger arrays have %v. Under VMap it prints a line for each lane, in Scan one for
// each step. Lines of different places may come in another order than they stand in the program. It runs on the CPU and
// the interpreter; a program without it is not changed in any way. Outside of a traced function it prints at once.
func Debugf(format string, args ...*Array) { debug("Debugf", debugAttrs{text: format}, args) }

// Callback calls the function registered under a name whenever a running program passes here, with the values of args;
// under VMap once for each lane. See Debugf for when and where.
func Callback(name string, args ...*Array) {
	debug("Callback", debugAttrs{text: name, callback: true}, args)
}

func debug(name string, a debugAttrs, args []*Array) {
	if len(args) == 0 {
		throw(name, "got no arrays: when a program passes a place depends on what it needs there")
	}
	if slices.ContainsFunc(args, func(a *Array) bool { return a == nil }) {
		throw(name, "got a nil *Array")
	}
	if slices.ContainsFunc(args, (*Array).IsTraced) {
		apply(op("debug"), a, args)
		return
	}
	values := make([]*Tensor, len(args))
	for i, x := range args {
		t, err := ToTensor(x)
		if err != nil {
			throw(name, "%v", err)
		}
		values[i] = t
	}
	if err := RunDebug(a.message(), values); err != nil {
		throw(name, "%v", err)
	}
}

// RunDebug prints or calls what a debug op's message says, once for each lane: what a backend does when it meets the
// op.
func RunDebug(message []byte, args []*Tensor) error {
	if len(message) == 0 {
		return fmt.Errorf("graph.RunDebug: got an empty message")
	}
	lanes, n := binary.Uvarint(message[1:])
	if n <= 0 || len(args) == 0 || int(lanes) > args[0].Shape.Rank() {
		return fmt.Errorf("graph.RunDebug: got a damaged message of %d bytes for %d arrays", len(message), len(args))
	}
	text := string(message[1+n:])
	debugging.Lock()
	out, take := debugging.out, debugging.printing.take
	f := func(args []*Tensor) {
		values := make([]any, len(args))
		for i, t := range args {
			values[i] = t.goValue()
		}
		fmt.Fprintf(out, text+"\n", values...)
	}
	if message[0] != 0 {
		c := debugging.callbacks[text]
		if c == nil {
			debugging.Unlock()
			return fmt.Errorf("no callback is registered under the name %q: call graph.RegisterCallback before the "+
				"program runs", text)
		}
		f, take = c.f, c.turn.take
	}
	debugging.Unlock()
	defer take()()
	for lane := range product(args[0].Shape.Dims[:lanes]) {
		part := make([]*Tensor, len(args))
		for i, t := range args {
			s := t.Shape.dims(t.Shape.Dims[lanes:]...)
			part[i] = &Tensor{s, t.V[lane*s.Size() : (lane+1)*s.Size()]}
		}
		f(part)
	}
	return nil
}

// goValue is what Debugf's verbs get.
func (t *Tensor) goValue() any {
	switch d := t.Shape.DType; {
	case t.Shape.Rank() > 0:
		return t.format()
	case isFloat(d):
		return t.F(0)
	case isSigned(d):
		return t.I(0)
	case d == Bool:
		return t.B(0)
	}
	return t.U(0)
}

// TensorFromBytes reads a host array's bytes (row-major, little-endian).
func TensorFromBytes(s Shape, b []byte) (*Tensor, error) {
	if len(b) != s.Bytes() {
		return nil, fmt.Errorf("graph.TensorFromBytes: got %d bytes for %s, want %d", len(b), s, s.Bytes())
	}
	return tensorFromBytes(s, b), nil
}

// hasEffect reports whether the graph or a body in it has an op that is more than its results.
func (g *Graph) hasEffect() bool {
	return slices.ContainsFunc(g.Nodes, func(n *Node) bool {
		return n.Op.Effect || slices.ContainsFunc(n.Bodies, (*Graph).hasEffect)
	})
}
