package notebook

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Context returns a context that ends when the notebook's stop button interrupts the cell; outside of a notebook, with
// Ctrl-C. The cell then has five seconds to save its state before the kernel kills it. A second interrupt ends the
// process at once.
func Context() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the next signal has its usual effect
	return ctx
}
