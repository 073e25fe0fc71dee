package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// Paced makes a good stream of microsandbox's vsock, which is none (measured with 0.6.18, ADR 0010): a write of more than
// 32 KiB by the guest is lost, and after 256 KiB in one direction nothing more arrives until something went the other
// way. So both ends of such a connection wrap it:
//
//   - no write is larger than pacedWrite;
//   - what a reader has taken is acknowledged, and no more than pacedWindow is ever sent ahead of that, which is less than
//     where vsock stops;
//   - a goroutine always reads, into at most pacedWindow bytes, so that acknowledgements pass however slow a reader is.
//
// It ends with Close, and must be closed.
type Paced struct {
	raw net.Conn

	writing sync.Mutex // held over one write to raw

	mu      sync.Mutex
	changed *sync.Cond
	chunks  [][]byte // what has come and was not read
	taken   int      // read by our side and not acknowledged
	ahead   int      // sent and not acknowledged by the other side
	end     error    // of what comes; nil while it may
	closed  bool
	shut    bool // CloseWrite was called
	readBy  deadline
	writeBy deadline

	done chan struct{}
}

const (
	pacedWindow = 128 << 10
	pacedWrite  = 28 << 10
	pacedAck    = 32 << 10 // acknowledged at the latest
	// pacedHead counts, too: many small writes are more heads than data.
	pacedHead = 3
)

// What is on the wire: kind u8, n u16 BE, and with data n bytes.
const (
	pacedData = 0
	pacedGot  = 1 // n bytes were read
	pacedEOF  = 2
)

// NewPaced wraps a connection of which the other end is wrapped, too.
func NewPaced(raw net.Conn) *Paced {
	p := &Paced{raw: raw, done: make(chan struct{})}
	p.changed = sync.NewCond(&p.mu)
	p.readBy.changed, p.writeBy.changed = p.changed, p.changed
	go p.receive()
	return p
}

// receive reads until the connection ends.
func (p *Paced) receive() {
	defer close(p.done)
	err := p.follow()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end == nil {
		p.end = err
	}
	p.ahead = 0 // who waits for an acknowledgement learns it from the write
	p.changed.Broadcast()
}

func (p *Paced) follow() error {
	var head [pacedHead]byte
	for {
		if _, err := io.ReadFull(p.raw, head[:]); err != nil {
			if errors.Is(err, io.EOF) {
				return io.ErrUnexpectedEOF // a good end is announced
			}
			return err
		}
		n := int(binary.BigEndian.Uint16(head[1:]))
		switch head[0] {
		case pacedData:
			chunk := make([]byte, n)
			if _, err := io.ReadFull(p.raw, chunk); err != nil {
				return unexpected(err)
			}
			if err := p.keep(chunk); err != nil {
				return err
			}
		case pacedGot:
			p.mu.Lock()
			p.ahead = max(0, p.ahead-n)
			p.changed.Broadcast()
			p.mu.Unlock()
		case pacedEOF:
			p.mu.Lock()
			p.end = io.EOF
			p.changed.Broadcast()
			p.mu.Unlock()
		default:
			return fmt.Errorf("%w: kind %d of paced stream", errFrame, head[0])
		}
	}
}

func (p *Paced) keep(chunk []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	have := len(chunk)
	for _, c := range p.chunks {
		have += len(c)
	}
	if have > pacedWindow {
		return fmt.Errorf("%w: %d bytes were sent ahead", errFrame, have)
	}
	if last := len(p.chunks) - 1; last >= 0 && len(p.chunks[last])+len(chunk) <= smallChunk {
		p.chunks[last] = append(p.chunks[last], chunk...)
	} else if len(chunk) > 0 {
		p.chunks = append(p.chunks, chunk)
	}
	p.taken += pacedHead
	p.changed.Broadcast()
	return nil
}

func (p *Paced) Read(b []byte) (int, error) {
	p.mu.Lock()
	for len(p.chunks) == 0 && p.end == nil && !p.closed && !p.readBy.passed() {
		p.changed.Wait()
	}
	switch {
	case p.closed:
		p.mu.Unlock()
		return 0, net.ErrClosed
	case p.readBy.passed():
		p.mu.Unlock()
		return 0, os.ErrDeadlineExceeded
	case len(p.chunks) == 0:
		defer p.mu.Unlock()
		return 0, p.end
	}
	n := 0
	for n < len(b) && len(p.chunks) > 0 {
		m := copy(b[n:], p.chunks[0])
		n += m
		if p.chunks[0] = p.chunks[0][m:]; len(p.chunks[0]) == 0 {
			p.chunks = p.chunks[1:]
		}
	}
	p.taken += n
	ack := 0
	if p.taken >= pacedAck {
		ack, p.taken = p.taken, 0
	}
	p.mu.Unlock()
	for ack > 0 {
		part := min(ack, 1<<15)
		if p.send(pacedGot, part, nil) != nil {
			break // the reader learns it soon enough
		}
		ack -= part
	}
	return n, nil
}

// send writes one message in one piece.
func (p *Paced) send(kind byte, n int, data []byte) error {
	b := make([]byte, 0, pacedHead+len(data))
	b = append(b, kind)
	b = binary.BigEndian.AppendUint16(b, uint16(n)) //nolint:gosec // n is at most 32 Ki
	b = append(b, data...)
	p.writing.Lock()
	defer p.writing.Unlock()
	_, err := p.raw.Write(b)
	return err
}

func (p *Paced) Write(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		room, err := p.room(len(b) - n)
		if err != nil {
			return n, err
		}
		if err := p.send(pacedData, room, b[n:n+room]); err != nil {
			return n, err
		}
		n += room
	}
	return n, nil
}

// room waits until something may be sent, and takes of that.
func (p *Paced) room(want int) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.ahead+pacedHead >= pacedWindow && !p.closed && !p.shut && !p.writeBy.passed() {
		p.changed.Wait()
	}
	switch {
	case p.closed:
		return 0, net.ErrClosed
	case p.shut:
		return 0, io.ErrClosedPipe
	case p.writeBy.passed():
		return 0, os.ErrDeadlineExceeded
	}
	n := min(want, pacedWrite, pacedWindow-p.ahead-pacedHead)
	p.ahead += n + pacedHead
	return n, nil
}

// CloseWrite tells the other side that no more comes.
func (p *Paced) CloseWrite() error {
	p.mu.Lock()
	again := p.shut
	p.shut = true
	p.changed.Broadcast()
	p.mu.Unlock()
	if again {
		return nil
	}
	return p.send(pacedEOF, 0, nil)
}

// Close ends reads and writes, and returns once nothing of it is left.
func (p *Paced) Close() error {
	p.mu.Lock()
	p.closed = true
	p.readBy.stop()
	p.writeBy.stop()
	p.changed.Broadcast()
	p.mu.Unlock()
	err := p.raw.Close()
	<-p.done
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// HungUp tells that the other side is gone.
func (p *Paced) HungUp() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// LocalAddr is the connection's own.
func (p *Paced) LocalAddr() net.Addr { return p.raw.LocalAddr() }

// RemoteAddr is the connection's own.
func (p *Paced) RemoteAddr() net.Addr { return p.raw.RemoteAddr() }

// SetDeadline is for reads and writes.
func (p *Paced) SetDeadline(t time.Time) error {
	return errors.Join(p.SetReadDeadline(t), p.SetWriteDeadline(t))
}

// SetReadDeadline ends a Read that waits, then.
func (p *Paced) SetReadDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.readBy.set(&p.mu, t)
	return nil
}

// SetWriteDeadline ends a Write that waits for the other side, then. A message that is being written is written whole:
// the other side always reads.
func (p *Paced) SetWriteDeadline(t time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.writeBy.set(&p.mu, t)
	return nil
}

// deadline wakes whoever waits when it has passed. Its lock is that of its condition.
type deadline struct {
	changed *sync.Cond
	at      time.Time
	timer   *time.Timer
}

func (d *deadline) passed() bool { return !d.at.IsZero() && !time.Now().Before(d.at) }

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
	}
}

func (d *deadline) set(mu *sync.Mutex, t time.Time) {
	d.stop()
	d.at = t
	if !t.IsZero() {
		d.timer = time.AfterFunc(time.Until(t), func() {
			mu.Lock()
			defer mu.Unlock()
			d.changed.Broadcast()
		})
	}
	d.changed.Broadcast()
}
