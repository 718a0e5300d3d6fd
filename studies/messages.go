package studies

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
)

// ServeMessages runs a message server without a study until ctx ends: for runs that several hosts compute together. It
// calls listening with its address, HOST:PORT.
func ServeMessages(ctx context.Context, l Listen, listening func(address string)) error {
	o := l.options()
	if err := l.address(o); err != nil {
		return err
	}
	var err error
	// It keeps which runs are done, and what processes of one mesh tell each other.
	var remove func()
	if o.StoreDir, remove, err = newStore(os.TempDir()); err != nil {
		return err
	}
	defer remove()
	o.JetStream, o.DisableJetStreamBanner = true, true
	o.JetStreamMaxMemory, o.JetStreamMaxStore = 64<<20, 64<<20
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

// address sets the address of a message server that listens itself. The server only logs what hinders it, so the
// address is tried first.
func (l Listen) address(o *natsserver.Options) error {
	if l.Address == "" {
		return nil
	}
	probe, err := net.Listen("tcp", l.Address)
	if err != nil {
		return err
	}
	o.Host, _, _ = net.SplitHostPort(l.Address)
	o.Port = probe.Addr().(*net.TCPAddr).Port
	return probe.Close()
}

const (
	// storePattern is the name of a folder with what a message server without a study keeps.
	storePattern = "xlarun-serve-*"
	// storeLock is a file in it, which its process has locked.
	storeLock = "lock"
	// newStoreTime is how long a folder counts as one whose process has not locked it yet.
	newStoreTime = time.Minute
)

// newStore makes a folder for a message server's data in a folder. remove removes it. Those that processes which were
// killed have left are removed first.
func newStore(in string) (dir string, remove func(), err error) {
	removeStores(in, time.Now().Add(-newStoreTime))
	if dir, err = os.MkdirTemp(in, storePattern); err != nil {
		return "", nil, err
	}
	lock, ok, err := tryLock(filepath.Join(dir, storeLock))
	if err == nil && !ok {
		err = errors.New("another process has locked the folder " + dir)
	}
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, func() {
		_ = os.RemoveAll(dir)
		_ = lock.Unlock()
	}, nil
}

// removeStores removes the folders of newStore that were made before a time, and whose process has ended. Those of
// other users stay.
func removeStores(in string, before time.Time) {
	locks, _ := filepath.Glob(filepath.Join(in, storePattern, storeLock))
	for _, lock := range locks {
		if info, err := os.Lstat(lock); err == nil && info.Mode().IsRegular() && info.ModTime().Before(before) &&
			!locked(lock) {
			_ = os.RemoveAll(filepath.Dir(lock))
		}
	}
}
