package xlabridge

import "sync"

// wasClosed is why an object cannot be used after Close.
const wasClosed = "was closed"

// handle guards one object of the plugin: it counts the calls that are using the object, so that
// closing it while another goroutine uses it frees it after that use and not under it.
type handle struct {
	client *Client
	free   func() error // set once, called once
	bytes  int64        // what it counts in buffers

	mu    sync.Mutex
	holds int
	gone  string // why it cannot be used any more (wasClosed); empty: it can
	freed bool
	lost  bool // nobody refers to it any more
}

// hold begins a use; the answer is why the object cannot be used, or "".
func (h *handle) hold() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gone == "" {
		h.holds++
	}
	return h.gone
}

// holdLast begins the use that gives the object away. It is refused while others use the object.
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

// release ends a use. After an object was closed the last release frees it.
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

// drop frees the object; it is called once, without the lock: the object may be found lost meanwhile.
func (h *handle) drop(lost bool) error {
	err := h.free()
	if lost {
		buffers.free(h.bytes)
	} else {
		buffers.giveBack(h.bytes)
	}
	h.client.forget(h)
	return err
}

// keep ends a holdLast that came to nothing: the object is as it was.
func (h *handle) keep() {
	h.mu.Lock()
	h.gone = ""
	h.mu.Unlock()
	h.release()
}

// lose is close for what the garbage collector found.
func (h *handle) lose() {
	h.mu.Lock()
	h.lost = true
	h.mu.Unlock()
	_ = h.close()
}

// close frees the object now, or when its last user is done. Closing twice is fine.
func (h *handle) close() error {
	h.mu.Lock()
	free := h.holds == 0 && !h.freed
	h.freed = h.freed || free
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
