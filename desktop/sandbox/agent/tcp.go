package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"claude-hub/internal/claudehub"
)

// DialTCP connects to a TCP port as the Sandbox sees it, and takes the connection to the agent over, whatever comes of
// it. The context bounds the start alone. What is returned has CloseWrite, too.
func (c *Conn) DialTCP(ctx context.Context, host string, port uint16) (net.Conn, error) {
	near, far := net.Pipe()
	t := &tunnel{Conn: near, far: far, c: c, id: c.nextID(), to: net.JoinHostPort(host, strconv.Itoa(int(port))), done: make(chan struct{})}
	err := c.bounded(ctx, func() error {
		if err := c.send(nil, t.id, flagStart, typeConnect, connect{Host: host, Port: port}); err != nil {
			return err
		}
		return t.awaitConnect()
	})
	if err != nil {
		c.Close()
		return nil, err
	}
	go t.read()
	return t, nil
}

// tunnel is a TCP connection of the Sandbox. What arrives goes through a pipe, which knows deadlines; what is written
// goes out at once.
type tunnel struct {
	net.Conn // our end of the pipe
	far      net.Conn
	c        *Conn
	id       uint32
	to       string
	done     chan struct{}
	closing  sync.Once
	ended    sync.Once // CloseWrite
}

func (t *tunnel) awaitConnect() error {
	for {
		f, err := t.c.frames.next()
		if err != nil {
			return fmt.Errorf("await connection: %w", err)
		}
		if f.id != t.id {
			continue
		}
		switch f.kind {
		case typeConnected:
			return nil
		case typeConnectFailed:
			var why connectFailed
			_ = f.decode(&why) // the sentence does without
			return claudehub.WithCause(claudehub.Unavailable, errors.New(why.Error),
				"Nothing answers at %s in the Sandbox. Start the program that listens there, and try again.", t.to)
		case typeError:
			return protocolError(f)
		}
	}
}

// read is the connection's one reader.
func (t *tunnel) read() {
	defer close(t.done)
	defer t.far.Close()
	for {
		f, err := t.c.frames.next()
		if err != nil {
			return
		}
		if f.id != t.id {
			continue
		}
		switch f.kind {
		case typeTCPData:
			var d data
			if f.decode(&d) != nil {
				return
			}
			if t.c.shared {
				// Whoever shares the relay must not wait for our reader.
				_ = t.far.SetWriteDeadline(time.Now().Add(sharedPatience))
			}
			if _, err := t.far.Write(d.Data); err != nil {
				t.c.Close()
				return
			}
		case typeTCPEOF:
			t.far.Close()
		case typeTCPClosed, typeError, typeConnectFailed:
			return
		}
	}
}

func (t *tunnel) Write(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		part := b[n:min(len(b), n+chunk)]
		if err := t.c.send(nil, t.id, 0, typeTCPData, data{Data: part}); err != nil {
			return n, err
		}
		n += len(part)
	}
	return n, nil
}

// CloseWrite tells the far end that no more comes.
func (t *tunnel) CloseWrite() error {
	var err error
	t.ended.Do(func() { err = t.c.send(nil, t.id, 0, typeTCPEOF, nothing{}) })
	return err
}

func (t *tunnel) SetDeadline(d time.Time) error {
	return errors.Join(t.SetReadDeadline(d), t.SetWriteDeadline(d))
}

// SetWriteDeadline is for the whole frame: a write that it cut leaves a connection that is of no more use.
func (t *tunnel) SetWriteDeadline(d time.Time) error { return t.c.conn.SetWriteDeadline(d) }

func (t *tunnel) Close() error {
	t.closing.Do(func() {
		t.c.Close()
		t.Conn.Close()
		<-t.done
	})
	return nil
}

func (t *tunnel) RemoteAddr() net.Addr { return tunnelAddr(t.to) }
func (t *tunnel) LocalAddr() net.Addr  { return tunnelAddr("runner") }

type tunnelAddr string

func (tunnelAddr) Network() string  { return "tcp" }
func (a tunnelAddr) String() string { return string(a) }

var _ io.ReadWriteCloser = (*tunnel)(nil)
