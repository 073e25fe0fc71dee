//go:build linux

package microsandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/microsandbox"
	"claude-hub/internal/claudehub"
)

// base is the Image that the tests in real microVMs start from; it is imported once for all of them.
const base sandbox.Image = "base"

// shared is the one state folder of all tests in real microVMs: an import takes a minute on an emulated machine.
var shared struct {
	sync.Once
	dir      string
	imported time.Duration
	err      error
}

// patience is how much slower than life this machine is.
func patience() float64 {
	if p, err := strconv.ParseFloat(os.Getenv("CLAUDE_HUB_PATIENCE"), 64); err == nil {
		return p
	}
	return 1
}

func times(d time.Duration) time.Duration { return time.Duration(float64(d) * patience()) }

// rig skips where there are no microVMs, and gives a Backend that has the base Image.
func rig(t testing.TB) *microsandbox.Backend {
	t.Helper()
	if os.Getenv("CLAUDE_HUB_MICROVM") == "" {
		t.Skip("this test is for a machine with KVM; build/microvm runs it in an emulated one, with CLAUDE_HUB_MICROVM=1")
	}
	shared.Do(func() { shared.err = prepare() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return another(t, shared.dir)
}

// another is a Backend on a state folder, as another process would make it.
func another(t testing.TB, state string) *microsandbox.Backend {
	t.Helper()
	b, err := open(state)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

func open(state string) (*microsandbox.Backend, error) {
	return microsandbox.New(microsandbox.Options{State: state, Guest: os.Getenv("CLAUDE_HUB_GUEST"), Patience: patience()})
}

func prepare() error {
	shared.dir = os.Getenv("CLAUDE_HUB_RIG_STATE") // kept from run to run by whoever works on this
	if shared.dir == "" {
		dir, err := os.MkdirTemp("", "ms")
		if err != nil {
			return err
		}
		shared.dir = dir
	}
	b, err := open(shared.dir)
	if err != nil {
		return err
	}
	defer b.Close()
	began := time.Now()
	err = b.Import(context.Background(), os.Getenv("CLAUDE_HUB_BASE_TAR"), base, nil)
	shared.imported = time.Since(began)
	return err
}

// small is a Spec with what an emulated machine can bear.
func small(t testing.TB, id string) sandbox.Spec {
	t.Helper()
	workspace, err := os.MkdirTemp(shared.dir, "ws-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(workspace) })
	return sandbox.Spec{
		ID: sandbox.ID(id), Image: base, Limits: sandbox.Limits{CPUs: 1, MemoryBytes: 512 << 20, DiskBytes: 2 << 30},
		Mounts:  []sandbox.Mount{{Host: workspace, Guest: "/workspace"}},
		Network: sandbox.Network{Policy: claudehub.NetworkAllowList},
	}
}

// long bounds a test's calls; those inside have deadlines of their own.
func long(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), times(5*time.Minute))
	t.Cleanup(cancel)
	return ctx
}

// start starts a Sandbox and removes it with the test.
func start(t testing.TB, b *microsandbox.Backend, spec sandbox.Spec) sandbox.ID {
	t.Helper()
	removeAfter(t, b, spec.ID)
	if err := b.Start(long(t), spec); err != nil {
		t.Fatalf("%v\n%s", err, diagnosis(b, spec.ID))
	}
	return spec.ID
}

// removeAfter has a Sandbox not outlive its test: another would find its Image in use.
func removeAfter(t testing.TB, b *microsandbox.Backend, id sandbox.ID) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), times(time.Minute))
		defer cancel()
		if err := b.Remove(ctx, id); err != nil {
			t.Error(err)
		}
	})
}

// diagnosis is what msb itself wrote about a VM.
func diagnosis(_ *microsandbox.Backend, id sandbox.ID) string {
	found, _ := filepath.Glob(filepath.Join(shared.dir, "m", "sandboxes", "*-"+string(id), "logs", "*.log"))
	var all strings.Builder
	for _, f := range found {
		raw, _ := os.ReadFile(f)
		fmt.Fprintf(&all, "--- %s\n%s\n", f, raw[max(0, len(raw)-2000):])
	}
	return all.String()
}

// run runs a command to its end.
func run(t testing.TB, b *microsandbox.Backend, id sandbox.ID, cmd sandbox.Command, input string) (stdout, stderr string, code int) {
	t.Helper()
	ctx := long(t)
	p, err := b.Exec(ctx, id, cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var out, errs bytes.Buffer
	var pumps sync.WaitGroup
	pumps.Go(func() { _, _ = io.Copy(&out, p.Stdout()) })
	pumps.Go(func() { _, _ = io.Copy(&errs, p.Stderr()) })
	if _, err := io.WriteString(p.Stdin(), input); err != nil {
		t.Error(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Error(err)
	}
	pumps.Wait()
	code, err = p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), code
}

// sh runs a script that must succeed, and returns what it printed.
func sh(t testing.TB, b *microsandbox.Backend, id sandbox.ID, script string) string {
	t.Helper()
	out, errs, code := run(t, b, id, sandbox.Command{Path: "sh", Args: []string{"-c", script}}, "")
	if code != 0 {
		t.Fatalf("%s\nended with %d: %s%s", script, code, out, errs)
	}
	return strings.TrimSpace(out)
}

// short bounds one look of many.
func short(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), times(200*time.Millisecond))
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for something to become true.
func eventually(t testing.TB, otherwise string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(times(20 * time.Second)); !ok(); {
		if time.Now().After(end) {
			t.Fatal(otherwise)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// serveEcho has a Sandbox answer on a port with what it is sent. The guest program itself is no help there: nothing in a
// Sandbox but our far end would be tested with it.
func serveEcho(t testing.TB, b *microsandbox.Backend, id sandbox.ID, port int) {
	t.Helper()
	script := fmt.Sprintf(`use IO::Socket::INET; $|=1;
my $s=IO::Socket::INET->new(LocalAddr=>"127.0.0.1",LocalPort=>%d,Listen=>5,ReuseAddr=>1) or die $@; print "up\n";
while(my $c=$s->accept){ unless(fork){ while(sysread($c,my $d,65536)){ my $o=0; while($o<length $d){ my $n=syswrite($c,$d,length($d)-$o,$o); last unless $n; $o+=$n } } exit } close $c }`, port)
	p, err := b.Exec(long(t), id, sandbox.Command{Path: "perl", Args: []string{"-e", script}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	line := make([]byte, 3)
	if _, err := io.ReadFull(p.Stdout(), line); err != nil {
		rest, _ := io.ReadAll(p.Stderr())
		t.Fatalf("%v: %s", err, rest)
	}
}

// echoes sends a megabyte through a connection, closes its half, and expects all of it back and the end.
func echoes(t testing.TB, c net.Conn) {
	t.Helper()
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = c.Write(sent)
		_ = c.(interface{ CloseWrite() error }).CloseWrite()
	}()
	_ = c.SetReadDeadline(time.Now().Add(times(30 * time.Second)))
	got, err := io.ReadAll(c)
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(sent), err)
	}
}

// command runs a program of the machine.
func command(t testing.TB, name string, args ...string) string {
	t.Helper()
	r, err := process.Run(long(t), process.Command{Path: name, Args: args})
	if err != nil || r.Code != 0 {
		t.Fatalf("%s %v: %d %v %s", name, args, r.Code, err, r.Stderr)
	}
	return string(r.Stdout)
}
