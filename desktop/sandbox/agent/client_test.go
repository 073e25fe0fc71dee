package agent_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	"github.com/fxamacker/cbor/v2"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// farEnd is an agent of which a test decides every byte.
type farEnd struct {
	t    *testing.T
	conn net.Conn
}

// dialFarEnd gives a client's side of a connection and a far end that is about to greet.
func dialFarEnd(t *testing.T) (net.Conn, *farEnd) {
	t.Helper()
	near, far := net.Pipe()
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, &farEnd{t, far}
}

type message struct {
	id   uint32
	kind string
	body map[string]any
}

func (f *farEnd) greet() {
	f.raw([]byte{0, 0, 1, 0, 0, 0, 2, 0}) // ids 256 to 511
	f.send(0, 0, "core.ready", map[string]any{"agent_version": "far"})
}

func (f *farEnd) raw(b []byte) {
	if _, err := f.conn.Write(b); err != nil {
		f.t.Error(err)
	}
}

func (f *farEnd) send(id uint32, flags byte, kind string, body any) {
	p, err := cbor.Marshal(body)
	if err != nil {
		f.t.Error(err)
	}
	e, err := cbor.Marshal(map[string]any{"v": 7, "t": kind, "p": p})
	if err != nil {
		f.t.Error(err)
	}
	b := binary.BigEndian.AppendUint32(nil, uint32(5+len(e)))
	b = binary.BigEndian.AppendUint32(b, id)
	f.raw(append(append(b, flags), e...))
}

func (f *farEnd) receive() message {
	head := make([]byte, 9)
	if _, err := io.ReadFull(f.conn, head); err != nil {
		return message{}
	}
	body := make([]byte, binary.BigEndian.Uint32(head)-5)
	if _, err := io.ReadFull(f.conn, body); err != nil {
		return message{}
	}
	var e struct {
		T string `cbor:"t"`
		P []byte `cbor:"p"`
	}
	if err := cbor.Unmarshal(body, &e); err != nil {
		f.t.Error(err)
	}
	m := message{id: binary.BigEndian.Uint32(head[4:]), kind: e.T}
	if err := cbor.Unmarshal(e.P, &m.body); err != nil {
		f.t.Error(err)
	}
	return m
}

// TestFramesOfOthersAreDropped: a relay may deliver what was meant for the client that had our ids before.
func TestFramesOfOthersAreDropped(t *testing.T) {
	near, far := dialFarEnd(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		far.greet()
		m := far.receive()
		if m.id < 256 || m.id >= 512 || m.kind != "core.exec.request" {
			t.Errorf("got %+v", m)
		}
		other := m.id ^ 1
		far.send(other, 0, "core.exec.started", map[string]any{"pid": 1})
		far.send(other, 1, "core.exec.failed", map[string]any{"kind": "not_found"})
		far.send(m.id, 0, "core.exec.started", map[string]any{"pid": 2})
		far.send(other, 0, "core.exec.stdout", map[string]any{"data": []byte("theirs")})
		far.send(other, 1, "core.exec.exited", map[string]any{"code": 9})
		far.send(m.id, 0, "core.exec.stdout", map[string]any{"data": []byte("ours")})
		far.send(m.id, 0, "core.something.new", map[string]any{"x": 1})
		far.send(m.id, 1, "core.exec.exited", map[string]any{"code": 4})
	}()
	c, err := agent.Greet(soon(t), near)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Exec(soon(t), sandbox.Command{Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	raw, err := io.ReadAll(p.Stdout())
	if err != nil || string(raw) != "ours" {
		t.Errorf("%q, %v", raw, err)
	}
	if code, err := p.Wait(soon(t)); err != nil || code != 4 {
		t.Errorf("%d, %v", code, err)
	}
	<-done
}

func TestIDsBeginAtARandomPlace(t *testing.T) {
	seen := map[uint32]bool{}
	for range 20 {
		near, far := dialFarEnd(t)
		ids := make(chan uint32, 1)
		go func() {
			far.greet()
			m := far.receive()
			far.send(m.id, 1, "core.pong", map[string]any{})
			ids <- m.id
		}()
		c, err := agent.Greet(soon(t), near)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Ping(soon(t)); err != nil {
			t.Fatal(err)
		}
		seen[<-ids] = true
	}
	if len(seen) < 5 {
		t.Errorf("20 connections began with %d ids", len(seen))
	}
}

// TestAStrangersGreeting: none of these may hang, crash or succeed.
func TestAStrangersGreeting(t *testing.T) {
	for name, raw := range map[string][]byte{
		"no ids":       {0, 0, 0, 5, 0, 0, 0, 5},
		"wrong order":  {0, 0, 0, 9, 0, 0, 0, 5},
		"not ready":    append([]byte{0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0xa3, 0x61, 'v', 7, 0x61, 't', 0x61, 'x', 0x61, 'p', 0x41, 0xa0}, 0),
		"huge frame":   {0, 0, 0, 1, 0, 0, 0, 9, 0xff, 0, 0, 0},
		"not a packet": []byte("HTTP/1.1 400 Bad Request\r\n\r\n"),
	} {
		t.Run(name, func(t *testing.T) {
			near, far := dialFarEnd(t)
			go func() {
				_, _ = far.conn.Write(raw)
				far.conn.Close()
			}()
			if c, err := agent.Greet(soon(t), near); err == nil {
				c.Close()
				t.Error("it was taken for an agent")
			}
		})
	}
}

func TestASilentAgentCostsTheDeadline(t *testing.T) {
	near, _ := dialFarEnd(t)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := agent.Greet(ctx, near); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestALostConnectionIsNotAnExit(t *testing.T) {
	near, far := dialFarEnd(t)
	go func() {
		far.greet()
		m := far.receive()
		far.send(m.id, 0, "core.exec.started", map[string]any{"pid": 2})
		far.send(m.id, 0, "core.exec.stdout", map[string]any{"data": []byte("half")})
		far.conn.Close()
	}()
	c, err := agent.Greet(soon(t), near)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Exec(soon(t), sandbox.Command{Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	raw, err := io.ReadAll(p.Stdout())
	if string(raw) != "half" || claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("%q, %v", raw, err)
	}
	if _, err := p.Wait(soon(t)); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestALostConnectionIsNotAnEnd: of an agent that was killed nobody knows whether its disk is written.
func TestALostConnectionIsNotAnEnd(t *testing.T) {
	for _, says := range []bool{true, false} {
		near, far := dialFarEnd(t)
		go func() {
			far.greet()
			m := far.receive()
			if says && m.kind == "core.shutdown" {
				far.send(m.id, 1, "core.shutdown", map[string]any{})
			}
			far.conn.Close()
		}()
		c, err := agent.Greet(soon(t), near)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Shutdown(soon(t)); err != nil {
			t.Fatal(err)
		}
		if err := c.AwaitEnd(soon(t)); (err == nil) != says {
			t.Errorf("it says so: %v; got %v", says, err)
		}
		c.Close()
	}
}

// TestSignalGivesUp: a far end that reads nothing must not hold a signal for ever, nor Close.
func TestSignalGivesUp(t *testing.T) {
	near, far := dialFarEnd(t)
	go func() {
		far.greet()
		m := far.receive()
		far.send(m.id, 0, "core.exec.started", map[string]any{"pid": 2})
	}()
	c, err := agent.Greet(soon(t), near)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Exec(soon(t), sandbox.Command{Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	stuck := make(chan error, 1)
	writing := make(chan struct{})
	go func() {
		close(writing)
		_, err := p.Stdin().Write([]byte("nobody reads this"))
		stuck <- err
	}()
	<-writing
	time.Sleep(10 * time.Millisecond) // lets the write above go first; when it does not, the signal is the one stuck
	signalled := make(chan error, 1)
	go func() { signalled <- p.Signal(15) }()
	select {
	case err := <-signalled:
		if err == nil {
			t.Error("it was sent")
		}
	case <-time.After(20 * time.Second):
		t.Error("it still waits")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if err := <-stuck; err == nil {
		t.Error("the write succeeded")
	}
}

func TestResizeToNothingIsRefused(t *testing.T) {
	near, far := dialFarEnd(t)
	go func() {
		far.greet()
		m := far.receive()
		far.send(m.id, 0, "core.exec.started", map[string]any{"pid": 2})
	}()
	c, err := agent.Greet(soon(t), near)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Exec(soon(t), sandbox.Command{Path: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if err := p.Resize(0, 24); claudehub.CodeOf(err) != claudehub.Invalid {
		t.Errorf("got %v", err)
	}
}
