package studies

import (
	"context"
	"os"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// ServeMessages runs a message server without a study until ctx ends: for runs that several hosts compute together. It
// calls listening with its address, HOST:PORT.
func ServeMessages(ctx context.Context, l Listen, listening func(address string)) error {
	o, err := l.server()
	if err != nil {
		return err
	}
	// It keeps which runs are done, and what processes of one mesh tell each other.
	if o.StoreDir, err = os.MkdirTemp("", "xlarun-serve-*"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(o.StoreDir) }()
	o.JetStream, o.DisableJetStreamBanner = true, true
	o.JetStreamMaxMemory, o.JetStreamMaxStore = 64<<20, 1<<30
	s, err := natsserver.NewServer(o)
	if err != nil {
		return err
	}
	defer func() {
		s.Shutdown()
		s.WaitForShutdown()
	}()
	if err := started(s); err != nil {
		return err
	}
	listening(s.Addr().String())
	<-ctx.Done()
	return nil
}
