package agent

import (
	"io"
	"sync"
)

const (
	// bufferSize is what one output stream may hold before its writer waits.
	bufferSize = 256 << 10
	// sharedBuffer is the same where nobody may wait, and a reader that is that far behind is given up.
	sharedBuffer = 8 << 20
)

// smallChunk is up to where pieces are joined, so that a stranger's one-byte frames cost no more than their bytes.
const smallChunk = 4 << 10

// buffer is a bounded pipe that takes ownership of what is put in.
type buffer struct {
	mu      sync.Mutex
	changed sync.Cond
	chunks  [][]byte
	size    int
	most    int
	end     error // what the reader gets behind the last byte; nil while open
	gone    bool  // nobody will read: everything is dropped
}

func newBuffer() *buffer {
	b := &buffer{most: bufferSize}
	b.changed.L = &b.mu
	return b
}

// put waits for room and takes p. It never waits for a reader that closed.
func (b *buffer) put(p []byte) {
	if len(p) == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.size >= b.most && !b.gone && b.end == nil {
		b.changed.Wait()
	}
	if b.gone || b.end != nil {
		return
	}
	if last := len(b.chunks) - 1; last >= 0 && len(b.chunks[last])+len(p) <= smallChunk {
		b.chunks[last] = append(b.chunks[last], p...)
	} else {
		b.chunks = append(b.chunks, p)
	}
	b.size += len(p)
	b.changed.Broadcast()
}

// full tells that put would wait.
func (b *buffer) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.size >= b.most && !b.gone && b.end == nil
}

// finish lets the reader drain what is there and then gives it err.
func (b *buffer) finish(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end == nil {
		b.end = err
	}
	b.changed.Broadcast()
}

// drop ends both sides at once.
func (b *buffer) drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone, b.chunks, b.size = true, nil, 0
	b.changed.Broadcast()
}

func (b *buffer) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.chunks) == 0 && b.end == nil && !b.gone {
		b.changed.Wait()
	}
	if b.gone {
		return 0, io.ErrClosedPipe
	}
	if len(b.chunks) == 0 {
		return 0, b.end
	}
	n := 0
	for n < len(p) && len(b.chunks) > 0 {
		m := copy(p[n:], b.chunks[0])
		n += m
		if m == len(b.chunks[0]) {
			b.chunks[0] = nil
			b.chunks = b.chunks[1:]
		} else {
			b.chunks[0] = b.chunks[0][m:]
		}
	}
	b.size -= n
	b.changed.Broadcast()
	return n, nil
}
