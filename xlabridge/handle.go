package xlabridge

import (
	"sync"

	"xlarun/xlabridge/internal/hostmemory"
)

// wasClosed is the reason why an object cannot be used after Close.
const wasClosed = "was closed"

// handle counts the calls that use an object of the plugin. If the object is closed while another goroutine uses it,
// the handle frees it after that use.
type handle struct {
	client *Client
	free   func() error // set once, called once
	bytes  int64        // the size that is counted in buffers

	mu     sync.Mutex
	holds  int
	gone   string // why it cannot be used, such as wasClosed; empty if it can
	closed bool
	freed  bool
	lost   bool // the garbage collector found it unreachable
}

// hold begins a use. It returns "", or why the object cannot be used.
func (h *handle) hold() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone == "" {
		h.holds++
	}
	return h.gone
}

// holdLast begins the use of a donation. It fails while others use the object.
func (h *handle) holdLast(gone string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone != "" {
		return h.gone
	}
	if h.holds > 0 {
		return "is in use by another call, so it cannot be donated"
	}
	h.holds++
	h.gone = gone
	return ""
}

// release ends a use. The last release after Close frees the object.
func (h *handle) release() {
	h.mu.Lock()
	h.holds--
	free := h.gone != "" && h.holds == 0 && !h.freed
	h.freed = h.freed || free
	lost := h.lost
	h.mu.Unlock()
	if free {
		_ = h.drop(lost)
	}
}

// drop frees the object. It is called once, without the lock, because lose may be called at the same time.
func (h *handle) drop(lost bool) error {
	err := h.free()
	if lost {
		hostmemory.Buffers.Free(h.bytes)
	} else {
		hostmemory.Buffers.GiveBack(h.bytes)
	}
	h.client.forget(h)
	return err
}

// keep ends a holdLast whose donation failed. The object can be used again, unless it was closed during the call.
func (h *handle) keep() {
	h.mu.Lock()
	h.gone = ""
	if h.closed {
		h.gone = wasClosed
	}
	h.mu.Unlock()
	h.release()
}

// lose is close for an object that the garbage collector found.
func (h *handle) lose() {
	h.mu.Lock()
	h.lost = true
	h.mu.Unlock()
	_ = h.close()
}

// close frees the object now or after its last use. A second close does nothing.
func (h *handle) close() error {
	h.mu.Lock()
	free := h.holds == 0 && !h.freed
	h.freed = h.freed || free
	h.closed = true
	if h.gone == "" {
		h.gone = wasClosed
	}
	lost := h.lost
	h.mu.Unlock()
	if !free {
		return nil
	}
	return h.drop(lost)
}
