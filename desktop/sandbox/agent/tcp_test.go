//go:build linux

package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// listener is a program in the Sandbox: what a test does with each of its connections.
func listener(t *testing.T, serve func(*net.TCPConn)) uint16 {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			serve(c.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return uint16(ln.Addr().(*net.TCPAddr).Port)
}

func dialTCP(t *testing.T, socket string, port uint16) (net.Conn, error) {
	t.Helper()
	c, err := agent.Dial(soon(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.DialTCP(soon(t), "127.0.0.1", port)
	if err == nil {
		t.Cleanup(func() { conn.Close() })
	}
	return conn, err
}

func TestDialTCP(t *testing.T) {
	socket := server(t)
	port := listener(t, func(c *net.TCPConn) {
		defer c.Close()
		_, _ = io.Copy(c, c)
	})
	conn, err := dialTCP(t, socket, port)
	if err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("0123456789"), 300_000)
	go func() {
		_, _ = conn.Write(sent)
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(sent), err)
	}
}

func TestDialTCPToNobody(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := uint16(ln.Addr().(*net.TCPAddr).Port)
	ln.Close()
	if _, err := dialTCP(t, server(t), port); claudehub.CodeOf(err) != claudehub.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestDialTCPDeadlines(t *testing.T) {
	held := make(chan *net.TCPConn, 1)
	port := listener(t, func(c *net.TCPConn) { held <- c })
	conn, err := dialTCP(t, server(t), port)
	if err != nil {
		t.Fatal(err)
	}
	far := <-held
	defer far.Close()
	_ = conn.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
	if _, err := conn.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("got %v", err)
	}
	_ = conn.SetReadDeadline(time.Time{})
	if _, err := far.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		t.Error(err)
	}
}

// TestDialTCPHangUp: a program that does not read does not keep a client that is gone.
func TestDialTCPHangUp(t *testing.T) {
	held := make(chan *net.TCPConn, 1)
	port := listener(t, func(c *net.TCPConn) { held <- c })
	conn, err := dialTCP(t, server(t), port)
	if err != nil {
		t.Fatal(err)
	}
	far := <-held
	defer far.Close()
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		for {
			if _, err := conn.Write(make([]byte, 64<<10)); err != nil {
				return
			}
		}
	}()
	select {
	case <-stuck:
		t.Fatal("the write failed too soon")
	case <-time.After(300 * time.Millisecond): // by now everything between them is full
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	<-stuck
	_ = far.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.Copy(io.Discard, far); os.IsTimeout(err) {
		t.Error("the program was not told")
	}
}

func TestUsage(t *testing.T) {
	c, err := agent.Dial(soon(t), server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	u, err := c.Usage(soon(t))
	if err != nil || u.Memory <= 0 || u.Processes <= 0 {
		t.Errorf("%+v, %v", u, err)
	}
}

// call is the test binary as a guest that calls: over a unix socket, and paced.
func call(socket string) int {
	reaper := process.NewReaper()
	go reaper.Run(context.Background())
	s := &agent.Server{Reaper: reaper, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/", Version: "caller", End: func(context.Context) {}}
	err := s.Call(context.Background(), func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, err
		}
		return agent.NewPaced(conn), nil
	}, 2)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// TestCall: connections wait before they are needed, a used one is replaced, and a Runner that is gone is called again
// when it is back.
func TestCall(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "HUB_TEST_SERVER="+socket)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	var last *agent.Conn
	for range 2 { // a Runner, and the one after it
		ln, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		var open []*agent.Conn
		for range 5 { // more than wait at a time
			raw, err := ln.Accept()
			if err != nil {
				t.Fatal(err)
			}
			c, err := agent.Greet(soon(t), agent.NewPaced(raw))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Ping(soon(t)); err != nil {
				t.Fatal(err)
			}
			open = append(open, c)
		}
		p, err := open[0].Exec(soon(t), sandbox.Command{Path: "sh", Args: []string{"-c", "head -c 2000000 /dev/zero; exit 5"}, Dir: "/"})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, p.Stdout()); n != 2000000 || err != nil {
			t.Error(n, err)
		}
		if code := wait(t, p); code != 5 {
			t.Errorf("code %d", code)
		}
		p.Close()
		if last != nil {
			last.Close()
		}
		last = open[4]
		for _, c := range open[1:4] {
			c.Close()
		}
		ln.Close()
	}
	if err := last.Shutdown(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := last.AwaitEnd(soon(t)); err != nil {
		t.Error(err)
	}
	last.Close()
	if err := <-ended; err != nil {
		t.Errorf("the caller ended with %v", err)
	}
}
