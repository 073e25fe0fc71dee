package agent

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"time"

	"claude-hub/internal/claudehub"
)

// sendTimeout bounds how long a signal, a resize or a shutdown waits to be sent.
const sendTimeout = 5 * time.Second

// sharedPatience is how long one reader may hold up a relay that serves all clients of its Sandbox from one queue.
const sharedPatience = time.Second

// Conn is one connection to a Sandbox's agent, for one purpose: Ping, Usage and Shutdown at will, or one Exec or
// DialTCP, which take it.
type Conn struct {
	shared bool // the far end is microsandbox's relay

	conn    net.Conn
	frames  *frameReader
	id      uint32 // the next free one
	first   uint32
	end     uint32
	version string

	writing chan struct{} // holds one token; who has it may write
}

// Dial connects to the agent behind a unix socket and waits for its greeting.
func Dial(ctx context.Context, socket string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("dial agent: %w", err)
	}
	return Greet(ctx, conn)
}

// DialRelay is Dial for microsandbox's own agent. Behind its relay a reader that stalls holds up every other client of
// that Sandbox, so here none may: a command whose output waits for its reader is given up instead.
func DialRelay(ctx context.Context, socket string) (*Conn, error) {
	c, err := Dial(ctx, socket)
	if err == nil {
		c.shared = true
	}
	return c, err
}

// Greet takes over a connection and waits for the agent's greeting. When it fails, the connection is closed.
func Greet(ctx context.Context, conn net.Conn) (*Conn, error) {
	c := &Conn{conn: conn, frames: &frameReader{r: bufio.NewReaderSize(conn, chunk)}, writing: make(chan struct{}, 1)}
	c.writing <- struct{}{}
	if err := c.bounded(ctx, c.greet); err != nil {
		conn.Close()
		return nil, fmt.Errorf("greet agent: %w", err)
	}
	return c, nil
}

// bounded runs f, whose reads and writes fail once ctx ends.
func (c *Conn) bounded(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
	err := f()
	if !stop() {
		// The deadline may fall at any moment from now on: this connection is of no more use.
		c.conn.Close()
		if err == nil {
			err = ctx.Err()
		}
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *Conn) greet() error {
	var ids [8]byte
	if _, err := io.ReadFull(c.frames.r, ids[:]); err != nil {
		return fmt.Errorf("read ids: %w", err)
	}
	c.first, c.end = binary.BigEndian.Uint32(ids[:4]), binary.BigEndian.Uint32(ids[4:])
	if c.end <= c.first {
		return fmt.Errorf("%w: no ids in [%d, %d)", errFrame, c.first, c.end)
	}
	c.id = c.first + rand.Uint32N(c.end-c.first)
	f, err := c.frames.next()
	if err != nil {
		return fmt.Errorf("read ready: %w", err)
	}
	if f.kind != typeReady {
		return fmt.Errorf("%w: %q where %s belongs", errFrame, f.kind, typeReady)
	}
	var r ready
	if err := f.decode(&r); err != nil {
		return err
	}
	c.version = r.AgentVersion
	return nil
}

// Version is what the agent calls itself.
func (c *Conn) Version() string { return c.version }

// Close frees the connection.
func (c *Conn) Close() error { return c.conn.Close() }

// nextID never gives the same id twice in a row, and stays in the range.
func (c *Conn) nextID() uint32 {
	id := c.id
	if c.id++; c.id >= c.end {
		c.id = c.first
	}
	return id
}

// send writes one frame in one piece. It waits for its turn until the timer, or for good without one.
func (c *Conn) send(timeout <-chan time.Time, id uint32, flags uint8, kind string, payload any) error {
	b, err := appendFrame(nil, id, flags, kind, payload)
	if err != nil {
		return err
	}
	select {
	case <-c.writing:
	case <-timeout:
		return claudehub.Errorf(claudehub.Unavailable,
			"The Sandbox takes no input at the moment: the program in it does not read. Stop it, or end the Session's program.")
	}
	defer func() { c.writing <- struct{}{} }()
	if _, err := c.conn.Write(b); err != nil {
		return fmt.Errorf("send %s: %w", kind, err)
	}
	return nil
}

// Ping asks the agent for a sign of life.
func (c *Conn) Ping(ctx context.Context) error {
	return c.bounded(ctx, func() error {
		id := c.nextID()
		if err := c.send(nil, id, 0, typePing, nothing{}); err != nil {
			return err
		}
		for {
			f, err := c.frames.next()
			if err != nil {
				return fmt.Errorf("read pong: %w", err)
			}
			if f.id == id && f.kind == typePong {
				return nil
			}
			if f.id == id && f.kind == typeError {
				return protocolError(f)
			}
		}
	})
}

// AwaitEnd returns nil once the agent has said, after Shutdown, that every process has ended. One that hangs up without a
// word may have been killed.
func (c *Conn) AwaitEnd(ctx context.Context) error {
	return c.bounded(ctx, func() error {
		for {
			f, err := c.frames.next()
			if err != nil {
				return fmt.Errorf("await end: %w", err)
			}
			if f.kind == typeShutdown {
				return nil
			}
		}
	})
}

// Shutdown asks the agent to end every process and then itself. It returns once that is sent.
func (c *Conn) Shutdown(ctx context.Context) error {
	return c.bounded(ctx, func() error { return c.send(nil, c.nextID(), flagShutdown, typeShutdown, nothing{}) })
}
