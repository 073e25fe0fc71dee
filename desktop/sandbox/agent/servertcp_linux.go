package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"
)

// connectTimeout bounds how long a program in the Sandbox may take to accept.
const connectTimeout = 10 * time.Second

// stream is one TCP connection that a client asked for.
type stream struct{ conn *net.TCPConn }

// connect answers a request for a TCP connection.
func (c *client) connect(ctx context.Context, f frame) error {
	var r connect
	if err := f.decode(&r); err != nil {
		return c.send(f.id, flagTerminal, typeError, wrong{Kind: "invalid_payload", Message: err.Error()})
	}
	if _, taken := c.streams[f.id]; taken {
		return c.send(f.id, flagTerminal, typeConnectFailed, connectFailed{Error: "the id is taken"})
	}
	d := net.Dialer{Timeout: connectTimeout}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(r.Host, strconv.Itoa(int(r.Port))))
	if err != nil {
		return c.send(f.id, flagTerminal, typeConnectFailed, connectFailed{Error: err.Error()})
	}
	s := &stream{conn: conn.(*net.TCPConn)} //nolint:forcetypeassert // the network is "tcp"
	c.streams[f.id] = s
	if err := c.send(f.id, 0, typeConnected, nothing{}); err != nil {
		return err // serve closes it
	}
	c.ended.Go(func() { s.forward(c, f.id) })
	return nil
}

// forward sends what the program says, and that it has ended.
func (s *stream) forward(c *client, id uint32) {
	buf := buffers.Get().(*[chunk]byte)
	defer buffers.Put(buf)
	for {
		n, err := s.conn.Read(buf[:])
		if n > 0 && c.send(id, 0, typeTCPData, data{Data: buf[:n]}) != nil {
			return
		}
		if err == io.EOF { //nolint:errorlint // a net.Conn returns it as it is
			_ = c.send(id, 0, typeTCPEOF, nothing{}) // the reader notices a broken connection
			return
		}
		if err != nil {
			_ = c.send(id, flagTerminal, typeTCPClosed, nothing{})
			return
		}
	}
}

// relay acts on a frame of an open connection.
func (c *client) relay(f frame, s *stream) error {
	switch f.kind {
	case typeTCPData:
		return s.write(c, f)
	case typeTCPEOF:
		_ = s.conn.CloseWrite() // it may be gone
	case typeTCPClose:
		_ = s.conn.Close()
		delete(c.streams, f.id)
	}
	return nil
}

// write passes on what the client said. A program that does not read holds up this connection, which is its own, and
// until the client hangs up.
func (s *stream) write(c *client, f frame) error {
	var d data
	if err := f.decode(&d); err != nil {
		return c.send(f.id, 0, typeError, wrong{Kind: "invalid_payload", Message: err.Error()})
	}
	for b := d.Data; len(b) > 0; {
		_ = s.conn.SetWriteDeadline(time.Now().Add(hangUpCheck))
		n, err := s.conn.Write(b)
		b = b[n:]
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			if c.hungUp() {
				return io.EOF
			}
		default:
			_ = s.conn.Close() // forward tells
			return nil
		}
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new([chunk]byte) }}
