package studies

import (
	"context"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// ServeMessages runs a message server without a study until ctx ends: for runs that several hosts compute together. It
// calls listening with its address, HOST:PORT.
func ServeMessages(ctx context.Context, l Listen, listening func(address string)) error {
	o, err := l.server()
	if err != nil {
		return err
	}
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
