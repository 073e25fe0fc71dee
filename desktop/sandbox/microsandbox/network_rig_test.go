//go:build linux

package microsandbox_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// The rig has no network but its own. These addresses are given to its dummy interface, so that a Sandbox's connections
// go somewhere: one of the internet's, and one of a network at home.
const (
	publicIP  = "93.184.216.34"
	privateIP = "10.77.0.1"
)

// world is a stand-in for the internet: a name server, and a web server on each address.
func world(t testing.TB) (port int) {
	t.Helper()
	for _, ip := range []string{publicIP, privateIP} {
		command(t, "ip", "addr", "replace", ip+"/32", "dev", "dummy0")
	}
	old, err := os.ReadFile("/etc/resolv.conf")
	if err != nil {
		old = nil
	}
	if err := os.WriteFile("/etc/resolv.conf", []byte("nameserver 127.0.0.1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.WriteFile("/etc/resolv.conf", old, 0o644) })
	pc, err := net.ListenPacket("udp", "127.0.0.1:53")
	if err != nil {
		t.Fatal(err)
	}
	var ends sync.WaitGroup
	ends.Go(func() { answerNames(pc) })
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "hello "+r.Host)
	})}
	ends.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() {
		pc.Close()
		server.Close()
		ends.Wait()
	})
	return ln.Addr().(*net.TCPAddr).Port
}

// answerNames says that every name is the public address, and inside.example the private one.
func answerNames(pc net.PacketConn) {
	buf := make([]byte, 1500)
	for {
		n, from, err := pc.ReadFrom(buf)
		if err != nil {
			return
		}
		var m dnsmessage.Message
		if m.Unpack(buf[:n]) != nil || len(m.Questions) != 1 {
			continue
		}
		q := m.Questions[0]
		m.Response, m.RecursionAvailable, m.Additionals = true, true, nil
		if q.Type == dnsmessage.TypeA {
			ip := publicIP
			if strings.HasPrefix(q.Name.String(), "inside.") {
				ip = privateIP
			}
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
				Body:   &dnsmessage.AResource{A: [4]byte(net.ParseIP(ip).To4())},
			}}
		}
		if raw, err := m.Pack(); err == nil {
			_, _ = pc.WriteTo(raw, from)
		}
	}
}

func TestRigNetworkPolicies(t *testing.T) {
	b := rig(t)
	port := world(t)
	relay := listen(t, "tcp", "127.0.0.1:0", "relay")
	relayPort := uint16(relay.(*net.TCPAddr).Port)
	targets := map[string]string{
		"public address": fmt.Sprintf("http://%s:%d/", publicIP, port),
		"public name":    fmt.Sprintf("http://www.example.org:%d/", port),
		"other name":     fmt.Sprintf("http://other.example.net:%d/", port),
		"home name":      fmt.Sprintf("http://inside.example.org:%d/", port),
		"home network":   fmt.Sprintf("http://%s:%d/", privateIP, port),
		"machine":        fmt.Sprintf("http://host.microsandbox.internal:%d/", port),
		"relay":          fmt.Sprintf("http://host.microsandbox.internal:%d/", relayPort),
	}
	for _, c := range []struct {
		name    string
		network sandbox.Network
		reached string // of the targets, in order
	}{
		{"open", sandbox.Network{Policy: claudehub.NetworkOpen}, "home name, home network, machine, other name, public address, public name, relay"},
		{"internet", sandbox.Network{Policy: claudehub.NetworkInternet}, "other name, public address, public name, relay"},
		{"list", sandbox.Network{Policy: claudehub.NetworkAllowList, Allow: []string{fmt.Sprintf("*.example.org:%d", port)}}, "public name, relay"},
		{"nothing", sandbox.Network{Policy: claudehub.NetworkAllowList}, "relay"},
	} {
		t.Run(c.name, func(t *testing.T) {
			spec := small(t, "net-"+c.name)
			spec.Network, spec.Relay = c.network, sandbox.Relay{Port: relayPort}
			id := start(t, b, spec)
			if url, err := b.RelayURL(long(t), id); err != nil || url+"/" != targets["relay"] {
				t.Errorf("%q, %v", url, err)
			}
			var reached []string
			for _, name := range []string{"home name", "home network", "machine", "other name", "public address", "public name", "relay"} {
				began := time.Now()
				out, errs, code := run(t, b, id, sandbox.Command{Path: "curl", Args: []string{"-sS", "-m", "20", targets[name]}}, "")
				t.Logf("%-15s %3d %v %s%s", name, code, time.Since(began).Round(time.Millisecond), out, errs)
				if code == 0 {
					reached = append(reached, name)
				}
			}
			if got := strings.Join(reached, ", "); got != c.reached {
				t.Errorf("it reaches %s\n instead of %s", got, c.reached)
			}
		})
	}
}

// listen is a stand-in for the relay: it answers with its name and what it was asked for.
func listen(t testing.TB, network, address, name string) net.Addr {
	t.Helper()
	ln, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s got %d of %s", name, len(raw), r.URL.Path)
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(ln)
	}()
	t.Cleanup(func() { server.Close(); <-done })
	return ln.Addr()
}

func TestRigRelayReach(t *testing.T) {
	b := rig(t)
	dir, err := os.MkdirTemp(shared.dir, "r")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	socket := filepath.Join(dir, "relay")
	listen(t, "unix", socket, "socket")
	port := uint16(listen(t, "tcp", "127.0.0.1:0", "port").(*net.TCPAddr).Port)
	for _, c := range []struct {
		name  string
		relay sandbox.Relay
	}{{"socket", sandbox.Relay{Socket: socket, Port: port}}, {"port", sandbox.Relay{Port: port}}} {
		t.Run(c.name, func(t *testing.T) {
			spec := small(t, "relay-"+c.name)
			spec.Relay = c.relay
			id := start(t, b, spec)
			url, err := b.RelayURL(long(t), id)
			if err != nil {
				t.Fatal(err)
			}
			if got := sh(t, b, id, "head -c 3000000 /dev/zero | curl -sS -m 60 -T - "+url+"/v1"); got != c.name+" got 3000000 of /v1" {
				t.Errorf("%s answered %q", url, got)
			}
			began := time.Now()
			sh(t, b, id, "for i in 1 2 3 4 5 6 7 8 9 10; do curl -sS -m 60 "+url+"/v1; done")
			t.Logf("%s: ten requests in %v", url, time.Since(began).Round(time.Millisecond))
			if err := b.Stop(long(t), id, 0); err != nil {
				t.Fatal(err)
			}
			if err := b.Start(long(t), spec); err != nil {
				t.Fatal(err)
			}
			if got := sh(t, b, id, "curl -sS -m 60 "+url+"/v2"); got != c.name+" got 0 of /v2" {
				t.Errorf("after a sleep %s answered %q", url, got)
			}
		})
	}
	if err := b.Ping(context.Background(), "relay-none"); claudehub.CodeOf(err) != claudehub.NotFound {
		t.Errorf("got %v", err)
	}
}
