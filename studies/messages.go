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
	b, err := openBus(l, "")
	if err != nil {
		return err
	}
	defer b.close()
	listening(b.address())
	<-ctx.Done()
	return nil
}

// address sets the address of a message server that listens itself. The server only logs what hinders it, so the
// address is tried first.
func (l Listen) address(o *natsserver.Options) error {
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
