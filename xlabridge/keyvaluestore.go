package xlabridge

import (
	"context"
	"errors"
	"fmt"
)

// KeyValueStore is where the processes of a mesh tell each other how to reach them. It is for use by several goroutines
// at a time.
type KeyValueStore interface {
	// Get waits until a key has a value, or until ctx ends.
	Get(ctx context.Context, key string) ([]byte, error)
	// TryGet returns the value of a key, if it has one.
	TryGet(key string) (value []byte, ok bool, err error)
	// Put gives a key a value.
	Put(key string, value []byte) error
}

// Distributed makes a client one of several processes whose devices form one mesh, as jax.distributed.initialize does.
// A client has the devices of its own process; a program may span all of them.
type Distributed struct {
	ProcessID    int // from 0
	NumProcesses int
	Store        KeyValueStore // the same for all processes, and of this mesh only
}

// check returns an error for numbers that name no process, and for a backend whose plugin knows no other process.
func (d *Distributed) check(o Options) error {
	switch {
	case d == nil:
	case d.NumProcesses < 1 || d.ProcessID < 0 || d.ProcessID >= d.NumProcesses:
		return fmt.Errorf("got process %d of %d, wanted a number of processes and one of their numbers, from 0",
			d.ProcessID, d.NumProcesses)
	case o.Topology != nil:
		return errors.New("devices that need not be there form no mesh of several processes")
	case o.Backend == "cpu" && o.PluginPath == "":
		return errors.New("its plugin forms no mesh of several processes; hosts share a population by --join")
	}
	return nil
}
