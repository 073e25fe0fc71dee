package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lock makes the caller the only one, in any process, that changes the thing of this name. The kernel lets go of it when
// we die.
func (b *Backend) lock(ctx context.Context, name string) (unlock func(), err error) {
	path := filepath.Join(b.state, "lock", name)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			// The file goes while it is locked, so that none is left for what is long gone; see tryLock.
			return func() { os.Remove(path); f.Close() }, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another change of %s: %w", name, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tryLock returns nil when somebody else has the lock.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		f.Close()
		return nil, nil
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	// Whoever had it before removed its file: a lock on a file that nobody else can open is none.
	have, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	there, err := os.Stat(path)
	if err != nil || !os.SameFile(have, there) {
		f.Close()
		return nil, nil //nolint:nilerr // the next try makes it anew
	}
	return f, nil
}
