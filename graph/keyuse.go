package graph

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// KeyReuseError says that two draws, or a draw and a split, consumed the same random key. See CheckKeys.
type KeyReuseError struct {
	First, Second KeyUse
	Loop          string // "file:line" of the loop in two turns of which they were; "": in none
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
		return fmt.Sprintf("%s: %s: it gets the same key in each turn of the loop at %s, so all turns draw the same "+
			"numbers: carry a key and split it in each turn, or fold the number of the turn into it with random.FoldIn",
			e.First.Where, e.First.Function, e.Loop)
	case e.Loop != "":
		return fmt.Sprintf("%s: %s: it gets the key that %s at %s got in an earlier turn of the loop at %s%s",
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
	done    int     // events of outside that were examined
	found   [keyTrials]keyFinds
	depth   int // of the stack of the function
	last    int // number of the last use or clone
}

// keyBody is a function that was traced, with what it gets and what consumed keys in it. Its arrays are those that it
// was traced over: neither VMap nor a derivative has changed them.
type keyBody struct {
	kind     keyBodyKind
	parent   *keyBody
	scope    *scope
	graph    *Graph   // nil: the function was left with an error
	captured []*Array // what the first parameters of graph stand for
	args     []*Array // what the other ones stand for, in the body around
	axes     []int    // lanes: the mapped axis of each argument, -1: none
	carry    int      // loop: the number of arguments that are its carry; the others are sliced
	turns    int      // loop: at most 2
	reverse  bool     // loop: from the last slice to the first
	step     *keyBody // loop: what gives the next carry
	choice   *int     // branch: what is common to the branches
	branch   int
	ran      bool // program: it was run
	events   []keyEvent
}

// keyEvent is what happens in a body: one of its fields.
type keyEvent struct {
	use  *keyUse
	body *keyBody
	args []*Array // body is a program that is run with them
}

type keyUse struct {
	number int
	key    *Array
	stack  []runtime.Frame // the innermost first
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

// CheckKeys runs f and returns an error for each key that is consumed twice by what f calls on this goroutine: what
// random.CheckKeys does.
func CheckKeys(f func()) (err error) {
	c := &keyCheck{depth: runtime.Callers(1, make([]uintptr, mostFrames))}
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
	defer catch(&err)
	f()
	return c.errors()
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
func ConsumeKey(key *Array) {
	c := keyCheckHere()
	if c == nil {
		return
	}
	c.last++
	b := c.body()
	b.events = append(b.events, keyEvent{use: &keyUse{c.last, key, c.stack()}})
}

// CloneKey is random.Clone for a key's words.
func CloneKey(key *Array) *Array {
	c := keyCheckHere()
	if c == nil {
		return key
	}
	if t := currentTrace(); t != nil && key.scope == nil {
		key = t.cur.use(key) // each turn of a loop has a clone of its own
	}
	c.last++
	return apply1(op("stop_gradient"), stopAttrs{clone: c.last}, key)
}

// mostFrames bounds the frames of a stack that are read.
const mostFrames = 1024

// stack is the frames between the caller's caller and the function that is checked.
func (c *keyCheck) stack() []runtime.Frame {
	pcs := make([]uintptr, mostFrames)
	n := runtime.Callers(3, pcs)
	if n < mostFrames {
		n = max(0, n+2-c.depth)
	}
	var out []runtime.Frame
	frames := runtime.CallersFrames(pcs[:n])
	for {
		f, more := frames.Next()
		if f.PC != 0 {
			out = append(out, f)
		}
		if !more {
			return out
		}
	}
}

// watchKeys tells the check of keys, if there is one, what the function that is being traced is.
func watchKeys(b keyBody) *keyBody {
	c := keyCheckHere()
	if c == nil {
		return nil
	}
	b.parent = c.body()
	b.scope = currentTrace().cur
	b.scope.keys = &b
	if b.step == nil {
		b.step = &b
	}
	b.parent.events = append(b.parent.events, keyEvent{body: &b})
	return &b
}

// Running tells CheckKeys that the program is about to run with args, the leaves of its arguments. Interpret and
// xlabridge call it.
func (p *Program) Running(args []*Array) {
	if c := keyCheckHere(); c != nil && p.keys != nil && p.keys.graph != nil {
		p.keys.ran = true
		c.outside.events = append(c.outside.events, keyEvent{body: p.keys, args: args})
		c.examine() // before the arguments' memory is given away
	}
}

// keyTrials is how often the keys of a function are computed, each time with other numbers for what is not known. Keys
// that are the same in all of them do not depend on such numbers.
const keyTrials = 8

// keyFinds holds, for the words of each key, who consumed it.
type keyFinds struct {
	by    map[[2]uint32][]keyTurn
	reuse []keyReuse
}

// keyReuse is two uses of a key, in the order of the program.
type keyReuse struct {
	first, second *keyUse
	loop          string // see KeyReuseError
}

// keyTurn is one run of a use.
type keyTurn struct {
	use  *keyUse
	path []keyStep // the loops and choices around it, the outermost first
}

// keyStep is a turn of a loop or a branch of a choice. Each has an instance for each turn of the loops around it.
type keyStep struct {
	of   any // *keyBody of a loop, *int of a choice
	in   *keyFrame
	turn int
}

// examine finds the keys that the events outside of traced functions consume. Programs that nothing has run are left.
func (c *keyCheck) examine() {
	for trial := range c.found {
		outside := newKeyFrame(nil, nil, trial)
		for _, e := range c.outside.events[c.done:] {
			if e.body == nil || e.body.kind != keysInProgram {
				c.found[trial].event(e, outside, nil)
			} else if e.args != nil {
				f := outside.inside(e.body)
				f.bindAll(e.body.own(), func(i int) keyValue { return outside.value(e.args[i]) })
				c.found[trial].events(e.body, f, nil)
			}
		}
	}
	c.done = len(c.outside.events)
}

// errors is what was found.
func (c *keyCheck) errors() error {
	c.examine()
	found := reusedIn(c.found)
	for _, e := range c.outside.events {
		if b := e.body; b != nil && b.kind == keysInProgram && !b.ran && b.graph != nil {
			var one [keyTrials]keyFinds
			for trial := range one {
				one[trial].events(b, newKeyFrame(nil, nil, trial).inside(b), nil)
			}
			found = append(found, reusedIn(one)...)
		}
	}
	var errs []error
	known := map[KeyReuseError]bool{}
	for _, r := range found {
		e := KeyReuseError{Loop: r.loop}
		if e.First, e.Second = describe(r.first, r.second); !known[e] {
			known[e] = true
			errs = append(errs, &e)
		}
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}

// reusedIn lists what all trials found, for each second use the first before it.
func reusedIn(trials [keyTrials]keyFinds) (out []keyReuse) {
	seen := map[keyReuse]int{} // the number of trials that found it, in turn
	for i, t := range trials {
		for _, r := range t.reuse {
			if seen[r] == i {
				seen[r]++
			}
		}
	}
	second := map[*keyUse]bool{}
	for _, r := range trials[0].reuse {
		if seen[r] == len(trials) && !second[r.second] {
			second[r.second] = true
			out = append(out, r)
		}
	}
	return out
}

// events runs what happens in a body, whose frame is f.
func (k *keyFinds) events(b *keyBody, f *keyFrame, path []keyStep) {
	for _, e := range b.events {
		k.event(e, f, path)
	}
}

// event is one event of a body whose frame is f.
func (k *keyFinds) event(e keyEvent, f *keyFrame, path []keyStep) {
	if e.use != nil {
		k.consume(keyTurn{e.use, path}, f.value(e.use.key).tensor())
		return
	}
	b := e.body
	if b.graph == nil {
		return
	}
	switch b.kind {
	case keysInCall:
		k.events(b, f.calling(b), path)
	case keysInBranch:
		k.events(b, f.calling(b), append(slices.Clone(path), keyStep{b.choice, f, b.branch}))
	case keysInLanes:
		if inner := f.lane(b); inner != nil {
			k.events(b, inner, path)
		}
	case keysInLoop:
		for turn := range b.turns {
			k.events(b, f.turn(b, turn), append(slices.Clone(path), keyStep{b.step, f, turn}))
		}
	}
}

// consume notes that a key is consumed, and whether it was before.
func (k *keyFinds) consume(t keyTurn, key *Tensor) {
	if len(key.V) != 2 {
		return
	}
	words := [2]uint32{uint32(key.V[0]), uint32(key.V[1])}
	if k.by == nil {
		k.by = map[[2]uint32][]keyTurn{}
	}
	for _, before := range k.by[words] {
		if loop, reused := before.and(t); reused {
			k.reuse = append(k.reuse, keyReuse{before.use, t.use, loop})
		}
	}
	k.by[words] = append(k.by[words], t)
}

// and reports whether both runs of uses take place, and the line of the loop in two turns of which they do.
func (t keyTurn) and(u keyTurn) (loop string, both bool) {
	for i, s := range t.path {
		if i >= len(u.path) || s.of != u.path[i].of || s.in != u.path[i].in {
			break
		}
		if s.turn == u.path[i].turn {
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
func describe(a, b *keyUse) (KeyUse, KeyUse) {
	x, y := a.lines(), b.lines()
	n := 0
	for n < min(len(x), len(y))-1 && x[n] == y[n] {
		n++
	}
	where := func(lines []string) string {
		switch {
		case len(lines) == 0:
			return "an unknown line"
		case a == b || n == 0:
			return lines[0]
		case slices.Equal(x, y):
			return lines[0] + ", called at " + lines[1]
		}
		return lines[0] + ", called at " + lines[n]
	}
	return KeyUse{a.function(), where(x)}, KeyUse{b.function(), where(y)}
}

// lines are the user's lines of the stack.
func (u *keyUse) lines() (out []string) {
	for _, f := range u.stack {
		if outside(f) {
			out = append(out, fmt.Sprintf("%s:%d", filepath.Base(f.File), f.Line))
		}
	}
	return slices.Compact(out)
}

// function is the function of the library that the user called.
func (u *keyUse) function() string {
	name := ""
	for _, f := range u.stack {
		of := path.Base(f.Function)
		if outside(f) || strings.HasPrefix(of, "graph.") {
			break
		}
		name = of
	}
	name, _, _ = strings.Cut(name, "[")
	return strings.NewReplacer("(*", "", ")", "").Replace(name)
}
