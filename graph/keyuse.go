package graph

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"weak"
)

// KeyReuseError says that two draws, or a draw and a split, consumed the same random key. See CheckKeys.
type KeyReuseError struct {
	First, Second KeyUse
	Loop          string // "file:line" of the loop in two iterations of which they were; "": in none
}

// KeyUse is a call that consumed a key.
type KeyUse struct {
	Function string // such as "random.Normal"
	Where    string // "file:line" of the call, and of the calls around it as far as they tell the two apart
}

// Error implements error.
func (e *KeyReuseError) Error() string {
	const advice = ": split the key with random.Split, or fold a number into it with random.FoldIn; random.Clone " +
		"takes it again on purpose"
	switch {
	case e.Loop != "" && e.First == e.Second:
		return fmt.Sprintf("%s: %s: it gets the same key in each iteration of the loop at %s, so all iterations draw "+
			"the same numbers: carry a key and split it in each iteration, or fold the iteration's number into it "+
			"with random.FoldIn",
			e.First.Where, e.First.Function, e.Loop)
	case e.Loop != "":
		return fmt.Sprintf("%s: %s: it gets the key that %s at %s got in an earlier iteration of the loop at %s%s",
			e.Second.Where, e.Second.Function, e.First.Function, e.First.Where, e.Loop, advice)
	case e.First == e.Second:
		return fmt.Sprintf("%s: %s: it is called twice with the same key%s", e.First.Where, e.First.Function, advice)
	}
	return fmt.Sprintf("%s: %s: it gets the key that %s at %s got before%s", e.Second.Where, e.Second.Function,
		e.First.Function, e.First.Where, advice)
}

// ErrorCode is the error's code in a line of JSON.
func (e *KeyReuseError) ErrorCode() string { return "key_reuse" }

// keyChecks holds the check that runs on each goroutine, of which there are keyChecking.
var (
	keyChecks   sync.Map // goroutineID -> *keyCheck
	keyChecking atomic.Int64
)

// keyCheck records what consumes keys while a function runs.
type keyCheck struct {
	outside keyBody // what no traced function does
	found   keyFinds
	last    int         // number of the last clone or run of a program
	numbers map[any]int // of what weak pointers point to
}

// keyBody is a function that was traced, with what it gets and what consumed keys in it. Its arrays are those that it
// was traced over: neither VMap nor a derivative has changed them.
type keyBody struct {
	kind     keyBodyKind
	scope    *scope
	graph    *Graph   // nil: the function was left with an error
	captured []*Array // what the first parameters of graph stand for
	args     []*Array // what the other ones stand for, in the body around
	axes     []int    // lanes: the mapped axis of each argument, -1: none
	carry    int      // loop: the number of arguments that are its carry; the others are sliced
	trips    int      // loop: at most 2
	next     *keyBody // loop: what gives the next carry
	choice   *int     // branch: what is common to the branches
	branch   int
	events   []keyEvent
}

// keyEvent is what happens in a body: a call that consumes a key, or another body.
type keyEvent struct {
	key   *Array
	body  *keyBody
	run   int       // number of the run, if body is a program that is run
	stack []uintptr // of the call that consumes the key or runs the program, the innermost first
}

type keyBodyKind int

const (
	keysInCall    keyBodyKind = iota // called once
	keysInProgram                    // traced to be run later
	keysInLanes
	keysInLoop
	keysInBranch
	keysUnused // another form of a function that is recorded, such as its derivative
)

// CheckKeys is random.CheckKeys: use that.
func (randomOps) CheckKeys(f func()) (err error) {
	c := &keyCheck{numbers: map[any]int{}}
	id := goroutineID()
	around, nested := keyChecks.Swap(id, c)
	keyChecking.Add(1)
	defer func() {
		keyChecking.Add(-1)
		if nested {
			keyChecks.Store(id, around)
		} else {
			keyChecks.Delete(id)
		}
	}()
	thrown := Try(f)
	if err = c.errors(); err == nil || thrown == nil {
		return cmp.Or(thrown, err)
	}
	return errors.Join(thrown, err)
}

// keyCheckHere is the check on this goroutine, or nil.
func keyCheckHere() *keyCheck {
	if keyChecking.Load() == 0 {
		return nil
	}
	c, _ := keyChecks.Load(goroutineID())
	check, _ := c.(*keyCheck)
	return check
}

// body is the innermost function that is being traced.
func (c *keyCheck) body() *keyBody {
	if t := currentTrace(); t != nil {
		for s := t.cur; s != nil; s = s.parent {
			if s.keys != nil {
				return s.keys
			}
		}
	}
	return &c.outside
}

// ConsumeKey tells CheckKeys that its caller consumes a random key, u32[2]. Whatever draws or splits calls it.
func (randomOps) ConsumeKey(key *Array) {
	c := keyCheckHere()
	if c == nil {
		return
	}
	b := c.body()
	b.events = append(b.events, keyEvent{key: key, stack: callers()})
}

// callers is the stack of the caller's caller.
func callers() []uintptr {
	stack := make([]uintptr, mostFrames)
	return slices.Clone(stack[:runtime.Callers(3, stack)])
}

// mostFrames bounds the frames of a stack that are read.
const mostFrames = 1024

// CloneKey is random.Clone for a key's words.
func (randomOps) CloneKey(key *Array) *Array {
	c := keyCheckHere()
	if c == nil {
		return key
	}
	if t := currentTrace(); t != nil && key.scope == nil {
		key = t.cur.use(key) // each iteration of a loop has a clone of its own
	}
	c.last++
	return apply1(op("stop_gradient"), stopAttrs{clone: c.last}, key)
}

// watchKeys tells the check of keys, if there is one, what the function that is being traced is.
func watchKeys(b keyBody) *keyBody {
	c := keyCheckHere()
	if c == nil {
		return nil
	}
	around := c.body()
	if b.kind == keysInProgram {
		around = &c.outside
	}
	b.scope = currentTrace().cur
	b.scope.keys = &b
	b.next = &b
	around.events = append(around.events, keyEvent{body: &b})
	return &b
}

// ConsumeKeys tells CheckKeys that the program is about to run with args, the leaves of its arguments. Interpret and
// xlabridge call it.
func (p *Program) ConsumeKeys(args []*Array) {
	c := keyCheckHere()
	if c == nil || p.keys == nil {
		return
	}
	called := *p.keys
	called.args = args
	c.last++
	traced := func(e keyEvent) bool { return e.body == p.keys }
	c.outside.events = append(slices.DeleteFunc(c.outside.events, traced),
		keyEvent{body: &called, run: c.last, stack: callers()})
	c.examine() // before the arguments' memory is given away
}

// keyFinds holds who consumed each key, by its words.
type keyFinds struct {
	by    map[[2]uint32][]keyRun
	reuse []keyReuse
}

// keyReuse is two uses of a key, in the order of the program.
type keyReuse struct {
	first, second keyRun
	loop          string // see KeyReuseError
}

// keyRun is one run of a call that consumes a key.
type keyRun struct {
	stack []uintptr
	path  []keyStep // the loops, choices and runs of programs around it, the outermost first
}

// keyStep is an iteration of a loop, a branch of a choice or a run of a program.
type keyStep struct {
	of    any // *keyBody of a loop, *int of a choice, number of a run
	trip  int
	stack []uintptr // of the call that runs the program
}

// outer is the frame of what no traced function does.
func (c *keyCheck) outer() *keyFrame {
	return &keyFrame{check: c, bound: map[*Array]func() keyValue{}, values: map[*Array]keyValue{}}
}

// examine finds the keys that the events outside of traced functions consume, and drops these. Programs that nothing
// has run are left.
func (c *keyCheck) examine() {
	f := c.outer()
	c.outside.events = slices.DeleteFunc(c.outside.events, func(e keyEvent) bool {
		done := e.body == nil || e.body.kind != keysInProgram || e.run > 0
		if done {
			c.found.event(e, f, nil)
		}
		return done
	})
}

// errors is what was found. Of each second call it has the first before it.
func (c *keyCheck) errors() error {
	c.examine()
	found := c.found.reuse
	for _, e := range c.outside.events {
		var alone keyFinds
		alone.event(e, c.outer(), nil)
		found = append(found, alone.reuse...)
	}
	var errs []error
	known := map[KeyUse]bool{}
	for _, r := range found {
		e := KeyReuseError{Loop: r.loop}
		if e.First, e.Second = describe(r.first, r.second); !known[e.Second] {
			known[e.Second] = true
			errs = append(errs, &e)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// event is one event of a body, whose frame is f.
func (k *keyFinds) event(e keyEvent, f *keyFrame, path []keyStep) {
	if e.key != nil {
		k.consume(keyRun{e.stack, path}, f.value(e.key))
		return
	}
	b := e.body
	if b.graph == nil {
		return
	}
	inside := func(inner *keyFrame, steps ...keyStep) {
		path := slices.Concat(path, steps)
		for _, e := range b.events {
			k.event(e, inner, path)
		}
	}
	switch b.kind {
	case keysInCall:
		inside(f.calling(b, 0))
	case keysInProgram:
		inside(f.calling(b, e.run), keyStep{of: e.run, stack: e.stack})
	case keysInBranch:
		inside(f.calling(b, 0), keyStep{of: b.choice, trip: b.branch})
	case keysInLanes:
		inside(f.lane(b))
	case keysInLoop:
		for trip := range b.trips {
			inside(f.trip(b, trip), keyStep{of: b.next, trip: trip})
		}
	}
}

// consume notes that a key is consumed, and whether it was before.
func (k *keyFinds) consume(t keyRun, key keyValue) {
	if !key.shape.Equal(ShapeOf(Uint32, 2)) {
		return
	}
	words := [2]uint32{uint32(key.exact.V[0]), uint32(key.exact.V[1])}
	if k.by == nil {
		k.by = map[[2]uint32][]keyRun{}
	}
	for _, before := range k.by[words] {
		if loop, reused := before.and(t); reused {
			k.reuse = append(k.reuse, keyReuse{before, t, loop})
			break
		}
	}
	k.by[words] = append(k.by[words], t)
}

// and reports whether both runs of uses take place, and the line of the loop in two iterations of which they do.
func (t keyRun) and(u keyRun) (loop string, both bool) {
	for i, s := range t.path {
		if i >= len(u.path) || s.of != u.path[i].of {
			break
		}
		if s.trip == u.path[i].trip {
			continue
		}
		if b, is := s.of.(*keyBody); is {
			return b.scope.pos.String(), true
		}
		return "", false // of two branches only one runs
	}
	return "", true
}

// describe names two uses by their lines. Where these are the same the first lines around that differ tell them apart.
func describe(a, b keyRun) (KeyUse, KeyUse) {
	f, x := a.read()
	g, y := b.read()
	n := 0
	for n < min(len(x), len(y))-1 && x[n] == y[n] {
		n++
	}
	where := func(lines []string) string {
		switch {
		case len(lines) == 0:
			return "an unknown line"
		case n == 0 || slices.Equal(x, y):
			return lines[0]
		}
		return lines[0] + ", called at " + lines[n]
	}
	return KeyUse{f, where(x)}, KeyUse{g, where(y)}
}

// read is the function of the library that the user called, and the user's lines: those of the stack, and of the calls
// of programs around it.
func (t keyRun) read() (function string, lines []string) {
	function, lines = readStack(t.stack)
	for _, s := range t.path {
		_, calls := readStack(s.stack)
		lines = append(lines, calls...)
	}
	return function, lines
}

func readStack(stack []uintptr) (function string, lines []string) {
	frames := runtime.CallersFrames(stack)
	library := true
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		of := path.Base(f.Function)
		switch {
		case outside(f):
			library = false
			lines = append(lines, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		case strings.HasPrefix(of, "graph."):
			library = false
		case library:
			function = of
		}
	}
	return strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(function), slices.Compact(lines)
}

// numberOf stands for what p points to. It does not hold that, and what comes to lie there later has another number.
func numberOf[T any](c *keyCheck, p *T) uint64 {
	at := weak.Make(p)
	if c.numbers[at] == 0 {
		c.numbers[at] = len(c.numbers) + 1
	}
	return uint64(c.numbers[at])
}
