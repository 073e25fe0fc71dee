//go:build linux

package runner

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// echoServer is a program that answers each line on a port of the Sandbox, and says goodbye at the end of its input.
const echoServer = `perl -MIO::Socket::INET -e '$s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1",LocalPort=>shift,Listen=>5,ReuseAddr=>1) or die;
while($c=$s->accept){ if(!fork){ $c->autoflush; while(<$c>){print $c "heard $_"} print $c "goodbye\n"; exit } close $c }' `

func (c *computer) serves(id claudehub.SessionID, port int) {
	c.t.Helper()
	c.run(id, "setsid "+echoServer+strconv.Itoa(port)+" >/dev/null 2>&1 & exit 0")
}

func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// TestPortsAndForwards: what listens in the Sandbox is shown while somebody watches, and nothing else of the machine; a
// forwarded port answers on the machine's loopback, both ways to their ends, and ends with the Session.
func TestPortsAndForwards(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.portsTime = 100 * time.Millisecond }
	c.start()
	id := c.session()
	c.hub.wish(id, func(*wire.DesiredSession) {})
	c.hub.awaitPhase(t, id, claudehub.PhaseAwake)
	port := freePort(t)
	c.serves(id, port)
	c.hub.say(wire.EventAttach, wire.Attach{Session: id, Feed: "feed"})
	o := c.hub.await(t, id, "what listens", func(o claudehub.Observed) bool { return len(o.Ports) > 0 })
	if len(o.Ports) != 1 || o.Ports[0].Port != port || !o.Ports[0].Listens || o.Ports[0].Process != "perl" || o.Ports[0].Local != "" {
		t.Errorf("%+v", o.Ports)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Forwards = []claudehub.Forward{{Port: port}} })
	o = c.hub.await(t, id, "the forward", func(o claudehub.Observed) bool { return len(o.Ports) == 1 && o.Ports[0].Local != "" })
	local := o.Ports[0].Local
	if host, _, err := net.SplitHostPort(local); err != nil || host != "127.0.0.1" {
		t.Errorf("it is at %s", local)
	}
	conn, err := net.Dial("tcp", local)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	if _, err := conn.Write([]byte("one\ntwo\n")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(conn)
	if got, _ := lines.ReadString('\n'); got != "heard one\n" {
		t.Errorf("it said %q", got)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	rest, err := io.ReadAll(lines)
	if err != nil || string(rest) != "heard two\ngoodbye\n" {
		t.Errorf("after our end it said %q, %v", rest, err)
	}
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Desired = claudehub.WantAsleep })
	c.hub.awaitPhase(t, id, claudehub.PhaseAsleep)
	until(t, "the forward ended", func() bool {
		conn, err := net.Dial("tcp", local)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

// TestSamePort: a sign-in's callback needs the same number; one that is taken says so, and is opened once it is free.
func TestSamePort(t *testing.T) {
	c := newComputer(t)
	c.adjust = func(r *Runner) { r.parts.portsTime = 100 * time.Millisecond }
	c.start()
	id := c.session()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	c.hub.wish(id, func(d *wire.DesiredSession) { d.Forwards = []claudehub.Forward{{Port: port, Same: true}} })
	o := c.hub.await(t, id, "it is taken", func(o claudehub.Observed) bool { return len(o.Ports) == 1 && o.Ports[0].Error != "" })
	if want := "Port " + strconv.Itoa(port) + " of this machine is taken"; !strings.HasPrefix(o.Ports[0].Error, want) || o.Ports[0].Local != "" {
		t.Errorf("%+v", o.Ports)
	}
	taken.Close()
	c.hub.await(t, id, "it is open", func(o claudehub.Observed) bool {
		return len(o.Ports) == 1 && o.Ports[0].Local == "127.0.0.1:"+strconv.Itoa(port)
	})
}

// TestForwardIsForItsOwner: a connection of somebody else on the machine is not served, and a silent one ends.
func TestForwardIsForItsOwner(t *testing.T) {
	dialled := make(chan net.Conn, 10)
	dial := func(context.Context, uint16) (net.Conn, error) {
		ours, theirs := net.Pipe()
		dialled <- theirs
		return ours, nil
	}
	f, err := newForward(t.Context(), claudehub.Forward{Port: 80}, dial, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	f.own, f.idle = func(remote, local netip.AddrPort) bool { return !peerIsOwn(remote, local) }, 50*time.Millisecond
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	ends := func() {
		t.Helper()
		conn, err := net.Dial("tcp", f.local())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("read: %v", err)
		}
	}
	ends() // it is our own, and so another's to this one
	if len(dialled) != 0 {
		t.Error("the Sandbox was asked for a stranger")
	}
	cancel()
	<-done
	f, err = newForward(t.Context(), claudehub.Forward{Port: 80}, dial, quiet())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	f.idle = 50 * time.Millisecond
	done = make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	ends() // of silence
	if len(dialled) != 1 {
		t.Errorf("the Sandbox was asked %d times", len(dialled))
	}
	cancel()
	<-done
}

// TestListenScript: it finds who listens, and where nobody does it ends with its first look.
func TestListenScript(t *testing.T) {
	script := func(argv ...string) string {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), argv[0], append(argv[1:], "sh", "-c", listenScript)...).Output() //nolint:gosec // the test's own words
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	if found := parseListening(strings.NewReader(script("env"))); !slices.ContainsFunc(found, func(p claudehub.Port) bool { return p.Port == port && p.Process != "" }) {
		t.Errorf("%d is not in %+v", port, found)
	}
	if said := script("bwrap", "--unshare-net", "--dev-bind", "/", "/"); said != "" {
		t.Errorf("nothing listens, and it says %q", said)
	}
}
