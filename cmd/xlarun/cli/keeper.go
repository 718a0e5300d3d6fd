package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"xlarun/cmd/xlarun/console"
	"xlarun/cmd/xlarun/runfolder"
)

const (
	// snapshotEvery is how old the state held for an interrupt may get; a shorter time would cost short generations
	// a transfer each.
	snapshotEvery = 200 * time.Millisecond
	// holdShare is how much longer a run goes on between two copies of its state than one copy takes, at least.
	holdShare = 50
	// checkpointEvery is how often a run puts its state on disk.
	checkpointEvery = 10 * time.Second
	// largeState is the size from which the memory of a copy that is no longer held is collected at once: left to
	// itself, the collector waits until there is as much garbage as there is in use.
	largeState = 4 << 20
)

// commandRun is a run of a command whose runs have a folder.
type commandRun struct {
	*app
	start  time.Time // of the process
	given  *pflag.FlagSet
	config string // resolved, TOML
	folder *runfolder.Folder
}

// record puts what was chosen for the run into the resolved config: with it, the run repeats to the byte whatever is
// stored or free then.
func (r *commandRun) record(chosen map[string]any) error {
	for name, value := range chosen {
		if err := r.given.Set(name, fmt.Sprint(value)); err != nil {
			return err
		}
	}
	text, err := resolvedConfig(r.given)
	if err == nil {
		r.config = text
	}
	return err
}

// keeper feeds the folder of a run while it works: the log, the state held for an interrupt, the checkpoints; and ends
// the run.
type keeper struct {
	run *commandRun
	// unit is what the run counts, and round what it has to get through before anything is written.
	unit, round string

	// Used by work alone.
	heldAt, checkpointAt time.Time
	holding              time.Duration // that the last copy of the state took

	// What follows is written by work and read by finish, which may run while work is inside a call.
	mu     sync.Mutex
	logger *runfolder.Logger
	held   *runfolder.Checkpoint // a state on the host
	first  time.Duration         // from the process's start to the end of the first round
	ended  bool                  // finish has the word
}

// begin opens the log once the first round is through, so that a run which never gets there leaves nothing.
func (k *keeper) begin(at time.Time) error {
	k.checkpointAt = at
	k.mu.Lock()
	defer k.mu.Unlock()
	k.first = at.Sub(k.run.start)
	if k.run.folder == nil || k.ended {
		return nil
	}
	if err := k.run.folder.Write("config.toml", []byte(k.run.config)); err != nil {
		return err
	}
	var err error
	k.logger, err = k.run.folder.NewLogger(k.unit, 0)
	return err
}

// keep holds the state, and puts it on disk, where it is time.
func (k *keeper) keep(state func() (runfolder.Checkpoint, error)) error {
	if now := time.Now(); now.Sub(k.heldAt) > max(snapshotEvery, holdShare*k.holding) {
		if err := k.hold(state); err != nil {
			return err
		}
		k.heldAt = time.Now()
		k.holding = k.heldAt.Sub(now)
	}
	if now := time.Now(); now.Sub(k.checkpointAt) > checkpointEvery {
		k.checkpointAt = now
		return k.checkpoint()
	}
	return nil
}

// hold copies the state to the host.
func (k *keeper) hold(state func() (runfolder.Checkpoint, error)) error {
	if k.run.folder == nil {
		return nil
	}
	s, err := state()
	if err != nil {
		return err
	}
	k.mu.Lock()
	k.held = &s
	k.mu.Unlock()
	size := 0
	for _, a := range s.Arrays {
		size += a.Shape().Bytes()
	}
	if size >= largeState {
		runtime.GC()
	}
	return nil
}

// checkpoint puts the held state on disk.
func (k *keeper) checkpoint() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held == nil || k.run.folder == nil || k.ended {
		return nil
	}
	_, err := k.writeCheckpoint()
	return err
}

// writeCheckpoint needs the mutex.
func (k *keeper) writeCheckpoint() (path string, err error) {
	c := *k.held
	c.Config = k.run.config
	return k.run.folder.SaveCheckpoint(c)
}

// ending is what a command has to say at the end of a run.
type ending struct {
	last    int             // generation or step; 0: the first round was not done
	close   func(...string) // the display
	files   func() error    // writes the folder's further files
	summary func() []string
	json    bool
	result  func() any // with json
}

// finish writes what the run leaves behind, closes the display and returns the command's error. It needs the mutex. cause
// is what work ended with, or errInterrupted while work is still inside a call.
func (k *keeper) finish(cause error, e ending) error {
	k.ended = true
	interrupted := cause != nil && errors.As(cause, new(console.InterruptedError))
	if e.last == 0 {
		e.close()
		if k.run.folder != nil {
			k.run.folder.Abandon()
		}
		if interrupted {
			return console.InterruptedError{Err: fmt.Errorf("interrupted before the first %s was done; nothing was written", k.round)}
		}
		return cause
	}
	var state string
	var err error
	if k.run.folder != nil {
		state, err = k.leave(e.files)
	}
	e.close(e.summary()...)
	if e.json {
		line, jsonErr := json.Marshal(e.result())
		err = errors.Join(err, jsonErr)
		fmt.Fprintf(k.run.Out, "%s\n", line)
	}
	if interrupted {
		text := fmt.Sprintf("interrupted after %s %d", k.unit, e.last)
		if state != "" {
			text += fmt.Sprintf("; the state of %s %d is in %s", k.unit, k.held.Step, state)
		}
		return console.InterruptedError{Err: errors.Join(errors.New(text), err)}
	}
	return errors.Join(cause, err)
}

// leave writes the folder's last files.
func (k *keeper) leave(files func() error) (state string, err error) {
	if k.held != nil {
		if state, err = k.writeCheckpoint(); err != nil {
			return "", err
		}
	}
	if k.logger != nil {
		err = k.logger.Close()
	}
	err = errors.Join(err, files())
	err = errors.Join(err, k.run.folder.Close())
	return state, err
}

// writeJSON puts a value in the folder.
func (r *commandRun) writeJSON(name string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return r.folder.Write(name, append(text, '\n'))
}
