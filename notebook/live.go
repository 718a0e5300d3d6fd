package notebook

import (
	"crypto/rand"
	"sync"
	"time"
)

// redrawEvery is the least time between two pictures of a display that moves. It is a variable for tests.
var redrawEvery = 200 * time.Millisecond

// Live is a display that changes while the cell runs. Its methods may be called from many goroutines.
type Live struct {
	mu    sync.Mutex
	id    string
	draw  func() (fragment, text string)
	timer *time.Timer // draws the state that came after the last picture; nil: nothing is waiting
	last  time.Time
}

// NewLive returns a display that draw draws as HTML and as text. draw is called by one goroutine at a time.
func NewLive(draw func() (fragment, text string)) *Live { return &Live{id: rand.Text(), draw: draw} }

// Update draws the display, or has it drawn soon if it was drawn just now.
func (l *Live) Update() {
	if !Active() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		return
	}
	wait := redrawEvery - time.Since(l.last)
	if wait <= 0 {
		l.redraw()
		return
	}
	l.timer = time.AfterFunc(wait, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.timer != nil {
			l.timer = nil
			l.redraw()
		}
	})
}

// Close draws the last state. Call it before the process ends.
func (l *Live) Close() {
	if !Active() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	l.redraw()
}

// redraw draws now. It needs the mutex.
func (l *Live) redraw() {
	fragment, text := l.draw()
	show(display(fragment, text, l.id))
	l.last = time.Now()
}
