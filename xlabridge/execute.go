//go:build cgo

package xlabridge

import (
	"errors"
	"fmt"
	"slices"

	"xlarun/graph"
	"xlarun/xlabridge/internal/callback"
	"xlarun/xlabridge/internal/hostmemory"
	"xlarun/xlabridge/internal/pjrt"
)

// execute runs the program once and waits for its end. inputs is [replica][argument]. The arguments of replica r are on
// device r; a program of one replica runs on the device of its arguments. donate lists the numbers of the arguments
// that are donated by all replicas: after a successful call they cannot be used, and their memory may hold results. The
// result is [replica][output].
//
// If a callback panics, execute releases the arguments as after an error, and panics with a *CallbackPanic. If the
// callback panicked with a *graph.Error, execute returns that as its error.
func (e *Executable) execute(inputs [][]*buffer, donate []int) (outputs [][]*buffer, err error) {
	if err := e.use(); err != nil {
		return nil, err
	}
	defer e.h.release()
	if t := e.client.topology; t != nil {
		return nil, t.notRun(e.name)
	}
	c := &call{exe: e}
	defer c.end(false)
	if err := c.hold(inputs, donate); err != nil {
		return nil, err
	}
	e.returnForRun()
	results, err := e.inner.Execute(e.client.inner.Devices[c.device], c.args, c.donated)
	if p := callback.PanicOf(err); p != nil {
		if wrong, ok := p.Value.(*graph.Error); ok {
			return nil, wrong
		}
		panic(p)
	}
	if err != nil {
		if full := e.client.outOfMemory(e.name, err, e); full != nil {
			return nil, full
		}
		return nil, fmt.Errorf("xlabridge: run %s: %w", e.name, err)
	}
	c.end(true)
	return c.outputs(results)
}

// call holds the arguments of a run of a program, flat in the order [replica][argument].
type call struct {
	exe     *Executable
	args    []*pjrt.Buffer
	held    []*handle // those of args that are held so far
	donated []bool    // whether the argument is donated
	device  int       // device of a program with one replica
	bytes   int64     // of the donated arguments
}

// hold checks the arguments and begins the use of each.
func (c *call) hold(inputs [][]*buffer, donate []int) error {
	e := c.exe
	if len(inputs) != e.replicas && !(e.replicas == 1 && len(inputs) == 0) {
		return fmt.Errorf("xlabridge: run %s: got arguments for %d replicas, wanted %d", e.name, len(inputs),
			e.replicas)
	}
	n := 0
	if len(inputs) > 0 {
		n = len(inputs[0])
	}
	donated := make([]bool, n)
	for _, a := range donate {
		if a < 0 || a >= n {
			return fmt.Errorf("xlabridge: run %s: argument %d is to be donated, but there are %d (numbered from 0)",
				e.name, a, n)
		}
		donated[a] = true
	}
	if e.replicas == 1 && n > 0 && inputs[0][0] != nil {
		c.device = inputs[0][0].device
	}
	c.args = make([]*pjrt.Buffer, 0, n*e.replicas)
	c.donated = make([]bool, 0, n*e.replicas)
	c.held = make([]*handle, 0, n*e.replicas)
	for r, row := range inputs {
		if len(row) != n {
			return fmt.Errorf("xlabridge: run %s: replica %d got %d arguments, replica 0 got %d", e.name, r, len(row),
				n)
		}
		device := r
		if e.replicas == 1 {
			device = c.device
		}
		for a, b := range row {
			if err := c.add(b, donated[a], device); err != nil {
				return fmt.Errorf("xlabridge: run %s: argument %d of replica %d %w", e.name, a, r, err)
			}
		}
	}
	return nil
}

// add begins the use of one argument.
func (c *call) add(b *buffer, donate bool, device int) error {
	switch {
	case b == nil:
		return errors.New("is nil")
	case b.h.client != c.exe.client:
		return errors.New("belongs to another client; transfer it to this one")
	case b.device != device:
		return fmt.Errorf("is on device %d, wanted on device %d", b.device, device)
	}
	gone := ""
	if donate {
		gone = b.h.holdLast("was donated to program " + c.exe.name)
	} else {
		gone = b.h.hold()
	}
	if gone != "" && gone != wasClosed && slices.Contains(c.held, b.h) {
		return errors.New("is another argument of the call too, and donated; pass a buffer of its own")
	}
	if gone != "" {
		return errors.New(gone)
	}
	c.args = append(c.args, b.inner)
	c.donated = append(c.donated, donate)
	c.held = append(c.held, b.h)
	return nil
}

// end ends the use of all arguments. After a successful run, donated arguments are gone. After an error they stay with
// their owner; if the plugin has used them up, their next use returns an error. A second call does nothing.
func (c *call) end(succeeded bool) {
	for i, h := range c.held {
		if c.donated[i] && !succeeded {
			h.keep()
			continue
		}
		if c.donated[i] {
			c.bytes, h.bytes = c.bytes+h.bytes, 0 // see outputs
		}
		h.release()
	}
	c.held = nil
}

// outputs returns buffers of the results, [replica][output]. If the client was closed during the run, it returns an
// error and no buffers.
func (c *call) outputs(results []*pjrt.Buffer) ([][]*buffer, error) {
	e := c.exe
	rows := make([][]*buffer, e.replicas)
	sizes, failed := e.resultSizes(results)
	created := int64(0)
	for r := range rows {
		device := r
		if e.replicas == 1 {
			device = c.device
		}
		rows[r] = make([]*buffer, e.outputs)
		for o := range rows[r] {
			b, err := e.client.newBuffer(results[r*e.outputs+o], device, sizes[o])
			if err != nil {
				failed = err // wrap the others too, so that Close frees them
			} else {
				created += sizes[o]
			}
			rows[r][o] = b
		}
	}
	hostmemory.Buffers.Exchange(c.bytes, created)
	if failed != nil {
		return nil, fmt.Errorf("xlabridge: run %s: %w", e.name, failed)
	}
	return rows, nil
}

// returnForRun gives back what compiling has left if the run's results and temporaries need the memory.
func (e *Executable) returnForRun() {
	if !hostmemory.Left() {
		return
	}
	e.needsOnce.Do(func() {
		if m, err := memoryOf(e.inner); err == nil {
			e.needs = (m.Outputs + m.Temporaries) * int64(e.replicas)
		}
	})
	hostmemory.ReturnFor(hostmemory.Buffers.Held() + e.needs)
}
