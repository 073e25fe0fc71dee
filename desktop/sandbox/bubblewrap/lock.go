//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox"
)

// lock makes the caller the only one, in any process, that changes this Sandbox. The kernel lets go of it when we die,
// and there is no file for each Sandbox to clear away: one byte of one file stands for each.
func (b *Backend) lock(ctx context.Context, id sandbox.ID) (unlock func(), err error) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		unlock, ok, err := b.tryLock(id)
		if err != nil || ok {
			return unlock, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another change of this sandbox: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// tryLock is lock for who does not wait.
func (b *Backend) tryLock(id sandbox.ID) (unlock func(), ok bool, err error) {
	f, err := os.OpenFile(filepath.Join(b.state, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, false, fmt.Errorf("open lock: %w", err)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash never fails
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK, Start: int64(h.Sum64() >> 2), Len: 1})
	if err == nil {
		return func() { f.Close() }, true, nil
	}
	f.Close()
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.EINTR) {
		return nil, false, nil
	}
	return nil, false, fmt.Errorf("lock sandbox: %w", err)
}
