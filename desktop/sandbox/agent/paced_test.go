package agent_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/sandbox/agent"
)

// badStream is microsandbox's vsock as it was measured: writes over 32 KiB are lost, and after 256 KiB one way the writer
// waits until something goes the other way.
type badStream struct {
	net.Conn
	t     *testing.T
	mu    *sync.Mutex
	moved *sync.Cond
	sent  *int // since the other side last wrote
	other *int
}

func badPair(t *testing.T) (net.Conn, net.Conn) {
	t.Helper()
	a, b := net.Pipe()
	mu := &sync.Mutex{}
	moved := sync.NewCond(mu)
	x, y := new(int), new(int)
	return &badStream{a, t, mu, moved, x, y}, &badStream{b, t, mu, moved, y, x}
}

func (s *badStream) Write(b []byte) (int, error) {
	if len(b) > 32<<10 {
		s.t.Errorf("%d bytes would be lost", len(b))
	}
	s.mu.Lock()
	for *s.sent+len(b) > 256<<10 {
		s.moved.Wait()
	}
	*s.sent += len(b)
	*s.other = 0
	s.moved.Broadcast()
	s.mu.Unlock()
	return s.Conn.Write(b)
}

func pacedPair(t *testing.T) (*agent.Paced, *agent.Paced) {
	t.Helper()
	a, b := badPair(t)
	x, y := agent.NewPaced(a), agent.NewPaced(b)
	t.Cleanup(func() { x.Close(); y.Close() })
	return x, y
}

// TestPacedCarriesEverything: both ways at once, in pieces of any size, with a reader that lags behind.
func TestPacedCarriesEverything(t *testing.T) {
	for name, most := range map[string]int{"large writes": 1 << 20, "small writes": 7, "mixed": 40 << 10} {
		t.Run(name, func(t *testing.T) {
			size := 3 << 20
			if most < 100 {
				size = 1 << 17
			}
			x, y := pacedPair(t)
			var all sync.WaitGroup
			carry := func(from, to *agent.Paced, seed uint64) {
				r := rand.New(rand.NewPCG(seed, 1))
				sent := make([]byte, size)
				for i := range sent {
					sent[i] = byte(r.Uint32())
				}
				all.Go(func() {
					for rest := sent; len(rest) > 0; {
						n := min(len(rest), 1+r.IntN(most))
						if m, err := from.Write(rest[:n]); err != nil || m != n {
							t.Error(m, err)
							return
						}
						rest = rest[n:]
					}
					if err := from.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				all.Go(func() {
					got, err := io.ReadAll(to)
					if err != nil || !bytes.Equal(got, sent) {
						t.Errorf("%d of %d bytes arrived, %v", len(got), len(sent), err)
					}
				})
			}
			carry(x, y, 1)
			carry(y, x, 2)
			all.Wait()
		})
	}
}

// TestPacedStallsAlone: a reader that does not read holds up its writer, not what goes the other way.
func TestPacedStallsAlone(t *testing.T) {
	x, y := pacedPair(t)
	_ = x.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
	n, err := x.Write(make([]byte, 1<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n == 0 || n > 256<<10 {
		t.Errorf("%d bytes went out, %v", n, err)
	}
	sent := bytes.Repeat([]byte("back"), 1<<17)
	go func() { _, _ = y.Write(sent) }()
	if _, err := io.ReadFull(x, make([]byte, len(sent))); err != nil {
		t.Error(err)
	}
	_ = x.SetWriteDeadline(time.Time{})
	go func() { _, _ = x.Write([]byte("more")) }()
	if _, err := io.ReadFull(y, make([]byte, n+4)); err != nil {
		t.Error(err)
	}
}

func TestPacedEnds(t *testing.T) {
	x, y := pacedPair(t)
	_ = y.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := y.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	_ = y.SetReadDeadline(time.Time{})
	read := make(chan error, 1)
	go func() {
		_, err := y.Read(make([]byte, 1))
		read <- err
	}()
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	if err := <-read; !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken stream ended with %v", err)
	}
	if !y.HungUp() {
		t.Error("the hang-up was not noticed")
	}
	if _, err := x.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// FuzzPaced: a stranger at the other end can end the stream, and nothing else.
func FuzzPaced(f *testing.F) {
	f.Add([]byte{0, 0, 1, 'x', 1, 0xff, 0xff, 2, 0, 0})
	f.Add([]byte{9, 0, 0})
	f.Add(bytes.Repeat([]byte{0, 0xff, 0xff}, 100))
	f.Fuzz(func(t *testing.T, raw []byte) {
		near, far := net.Pipe()
		p := agent.NewPaced(near)
		go func() {
			_, _ = io.Copy(io.Discard, far)
		}()
		_ = far.SetWriteDeadline(time.Now().Add(time.Second)) // one that sent too much is not read any more
		go func() {
			_, _ = far.Write(raw)
			far.Close()
		}()
		got, err := io.ReadAll(p)
		if len(got) > len(raw) {
			t.Errorf("%d bytes came of %d", len(got), len(raw))
		}
		_ = err // any end will do
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}
