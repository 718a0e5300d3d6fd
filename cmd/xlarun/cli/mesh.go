package cli

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/internal/credentials"
	"xlarun/internal/messaging"
	"xlarun/xlabridge"
	"xlarun/xlabridge/coordination"
)

// meshFlags make a process one of several whose devices form one mesh. jax.distributed.initialize
// names its arguments alike.
type meshFlags struct {
	credentials.Files
	coordinator  string
	numProcesses int
	processID    int
}

func (m *meshFlags) add(f *pflag.FlagSet) {
	AddFiles(f, &m.Files)
	f.StringVar(&m.coordinator, "coordinator", "", "nats://HOST:PORT/NAME: form one mesh with the "+
		"other processes that give this server and name, which is a new one for each start")
	f.IntVar(&m.numProcesses, "num-processes", 0, "processes of the mesh")
	f.IntVar(&m.processID, "process-id", 0, "number of this process, from 0")
}

// open joins the mesh. It returns nil without --coordinator. close leaves it.
func (m *meshFlags) open(ctx context.Context) (d *xlabridge.Distributed, close func(), err error) {
	if m.coordinator == "" {
		if m.numProcesses != 0 || m.processID != 0 {
			return nil, nil, console.BadInput(
				"--num-processes and --process-id need --coordinator nats://HOST:PORT/NAME")
		}
		return nil, func() {}, nil
	}
	address, err := messaging.Parse(m.coordinator)
	if err == nil && address.Name == "" {
		err = fmt.Errorf("a name after the server: %s/NAME", address)
	}
	if err != nil {
		return nil, nil, console.BadInput("--coordinator got %q, wants %w", m.coordinator, err)
	}
	if m.numProcesses == 0 {
		return nil, nil, console.BadInput("--coordinator needs --num-processes, how many processes form the mesh, " +
			"and --process-id, the number of this one, from 0")
	}
	if m.numProcesses < 1 || m.processID < 0 || m.processID >= m.numProcesses {
		return nil, nil, console.BadInput("--num-processes got %d and --process-id %d, wants a number "+
			"of processes and one of their numbers, from 0", m.numProcesses, m.processID)
	}
	server := coordination.Server{Address: address}
	if err := server.Use(m.Files, credentials.Worker); err != nil {
		return nil, nil, console.BadInput("%w", err)
	}
	store, err := coordination.Join(ctx, server, address.Name)
	if err != nil {
		return nil, nil, err
	}
	return &xlabridge.Distributed{ProcessID: m.processID, NumProcesses: m.numProcesses, Store: store}, store.Close, nil
}
