package process

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// pipeGuard is how long we go on reading a pipe that brings nothing after the child itself has ended. A grandchild
	// that inherited the pipe would otherwise keep a reader waiting for as long as it lives.
	pipeGuard = 250 * time.Millisecond
	// afterEnd bounds what is read then. Whatever the child wrote fits, since a pipe holds no more; a grandchild that
	// goes on writing is cut off here.
	afterEnd = 1 << 20
)

// Output reads a child's pipe or terminal, and lets go of it once the child has ended and nothing more comes.
type Output struct {
	f *os.File

	mu   sync.Mutex
	over bool // the child has ended
	left int  // bytes still taken after that
}

// NewOutput takes over our end of a pipe; it must be one that does not block, as those of os.Pipe.
func NewOutput(f *os.File) *Output { return &Output{f: f} }

// Close frees the pipe and ends a read.
func (o *Output) Close() error { return o.f.Close() }

// Ended tells that the child is gone. What it wrote is still read, however late.
func (o *Output) Ended() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over, o.left = true, afterEnd
	_ = o.f.SetReadDeadline(time.Now().Add(pipeGuard)) // wakes a reader that waits now
}

func (o *Output) Read(p []byte) (int, error) {
	over, left := o.state(0)
	if over {
		if left <= 0 {
			return 0, io.EOF
		}
		// From the read and not from the child's end: the reader may have been away all the while.
		_ = o.f.SetReadDeadline(time.Now().Add(pipeGuard))
	}
	n, err := o.f.Read(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		n, err = o.readNow(p)
	}
	if n > 0 {
		o.state(n)
		return n, nil
	}
	// A terminal whose programs have all ended says EIO.
	if err != nil && (errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EIO)) {
		err = io.EOF
	}
	return n, err
}

func (o *Output) state(took int) (over bool, left int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		o.left -= took
	}
	return o.over, o.left
}

// readNow takes what is there without waiting. A deadline that passed fails a read before it looks, and on a busy
// machine it can pass between being set and the read.
func (o *Output) readNow(p []byte) (int, error) {
	raw, err := o.f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var failed error
	err = raw.Control(func(fd uintptr) {
		for {
			n, failed = syscall.Read(int(fd), p)
			if !errors.Is(failed, syscall.EINTR) {
				return
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed != nil && !errors.Is(failed, syscall.EAGAIN):
		return 0, failed
	case n <= 0:
		return 0, io.EOF
	}
	return n, nil
}
