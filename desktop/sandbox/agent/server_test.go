//go:build linux

package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// TestMain lets the test binary be the server: its Reaper takes every child of its process, so it needs one of its own.
func TestMain(m *testing.M) {
	if os.Getenv("HUB_TEST_SERVER") != "" {
		os.Exit(serve())
	}
	goleak.VerifyTestMain(m)
}

func serve() int {
	if to := os.Getenv("HUB_TEST_SERVER"); to != "1" {
		return call(to)
	}
	ln, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	syscall.CloseOnExec(3)
	reaper := process.NewReaper()
	go reaper.Run(context.Background())
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=/nowhere"}
	if err := (&agent.Server{Reaper: reaper, Env: env, Dir: "/", Version: "test", End: func(context.Context) {}}).Serve(context.Background(), ln); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// server starts one and returns its socket.
func server(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	f, err := ln.File()
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "HUB_TEST_SERVER=1")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.Close()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return socket
}

func execute(t testing.TB, socket string, cmd sandbox.Command) sandbox.Process {
	t.Helper()
	if cmd.Dir == "" {
		cmd.Dir = "/tmp"
	}
	c, err := agent.Dial(soon(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Exec(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func script(text string) sandbox.Command {
	return sandbox.Command{Path: "sh", Args: []string{"-c", text}}
}

// line reads up to the next line end.
func line(t testing.TB, r io.Reader) string {
	t.Helper()
	var b []byte
	for one := make([]byte, 1); ; {
		if _, err := r.Read(one); err != nil {
			t.Fatalf("after %q: %v", b, err)
		}
		if one[0] == '\n' {
			return strings.TrimSuffix(string(b), "\r")
		}
		b = append(b, one[0])
	}
}

func wait(t testing.TB, p sandbox.Process) int {
	t.Helper()
	code, err := p.Wait(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func running(pid int) bool {
	raw, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	i := bytes.LastIndexByte(raw, ')')
	return err == nil && raw[i+2] != 'Z'
}

func TestPingAndVersion(t *testing.T) {
	c, err := agent.Dial(soon(t), server(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.Version() != "test" {
		t.Errorf("got %q", c.Version())
	}
	for range 3 {
		if err := c.Ping(soon(t)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStreamsAndExitCode(t *testing.T) {
	p := execute(t, server(t), script("cat; echo err >&2; exit 7"))
	if _, err := io.WriteString(p.Stdin(), "in"); err != nil {
		t.Fatal(err)
	}
	if err := p.Stdin().Close(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(p.Stdout())
	if err != nil || string(out) != "in" {
		t.Errorf("%q, %v", out, err)
	}
	errs, err := io.ReadAll(p.Stderr())
	if err != nil || string(errs) != "err\n" {
		t.Errorf("%q, %v", errs, err)
	}
	if code := wait(t, p); code != 7 {
		t.Errorf("code %d", code)
	}
}

func TestEnvironmentIsLaidOver(t *testing.T) {
	cmd := sandbox.Command{Path: "env", Env: []string{"HOME=/there", "SECRET=a=b", "EMPTY="}}
	out, err := io.ReadAll(execute(t, server(t), cmd).Stdout())
	if err != nil {
		t.Fatal(err)
	}
	want := "PATH=" + os.Getenv("PATH") + "\nHOME=/there\nSECRET=a=b\nEMPTY=\n"
	if string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestStartsThatFail(t *testing.T) {
	socket := server(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("no program"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cmd  sandbox.Command
		code claudehub.Code
		says string
	}{
		"no program":    {sandbox.Command{Path: "/no/such"}, claudehub.NotFound, `"/no/such" could not be started in the Sandbox: it is not there.`},
		"not on PATH":   {sandbox.Command{Path: "no-such-program"}, claudehub.NotFound, "it is not there"},
		"no directory":  {sandbox.Command{Path: "true", Dir: "/no/dir"}, claudehub.NotFound, "its working directory cannot be used"},
		"no permission": {sandbox.Command{Path: text}, claudehub.Forbidden, "it cannot be executed"},
		"no name":       {sandbox.Command{}, claudehub.Internal, "could not be started"},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := agent.Dial(soon(t), socket)
			if err != nil {
				t.Fatal(err)
			}
			if c.cmd.Dir == "" {
				c.cmd.Dir = "/"
			}
			_, err = conn.Exec(soon(t), c.cmd)
			if claudehub.CodeOf(err) != c.code || !strings.Contains(claudehub.MessageOf(err), c.says) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSignalReachesTheGroup(t *testing.T) {
	p := execute(t, server(t), script("sleep 1000 & echo $!; wait"))
	sleeper, err := strconv.Atoi(line(t, p.Stdout()))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(int(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, p); code != -1 {
		t.Errorf("code %d", code)
	}
	gone(t, sleeper)
}

func gone(t testing.TB, pid int) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); running(pid); {
		if time.Now().After(end) {
			t.Fatalf("process %d still runs", pid)
		}
	}
}

func TestHangUpKillsTheGroupAndLeavesDaemons(t *testing.T) {
	p := execute(t, server(t), script("sleep 1000 & echo $!; setsid sleep 1001 </dev/null >/dev/null 2>&1 & echo $!; wait"))
	inGroup, err := strconv.Atoi(line(t, p.Stdout()))
	if err != nil {
		t.Fatal(err)
	}
	daemon, err := strconv.Atoi(line(t, p.Stdout()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(daemon, syscall.SIGKILL) //nolint:errcheck // the end of this test's own process
	// It leaves the group a moment after the shell has told its number.
	for end := time.Now().Add(30 * time.Second); ; {
		if pgid, err := syscall.Getpgid(daemon); err == nil && pgid == daemon {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the daemon did not leave")
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	gone(t, inGroup)
	if !running(daemon) {
		t.Error("the daemon was killed")
	}
}

func TestAChildLeftBehindDoesNotHoldTheExit(t *testing.T) {
	p := execute(t, server(t), script("sleep 1000 & echo $!"))
	pid, err := strconv.Atoi(line(t, p.Stdout()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // the end of this test's own process
	if rest, err := io.ReadAll(p.Stdout()); err != nil || len(rest) != 0 {
		t.Errorf("%q, %v", rest, err)
	}
	if code := wait(t, p); code != 0 {
		t.Errorf("code %d", code)
	}
	if !running(pid) {
		t.Error("what the command left behind was killed")
	}
}

func TestTerminal(t *testing.T) {
	cmd := script("tty; stty size; stty -echo; echo ready; read x; stty size; echo got $x; exec cat")
	cmd.TTY, cmd.Cols, cmd.Rows = true, 100, 30
	p := execute(t, server(t), cmd)
	if tty := line(t, p.Stdout()); !strings.HasPrefix(tty, "/dev/pts/") {
		t.Errorf("got %q", tty)
	}
	if size := line(t, p.Stdout()); size != "30 100" {
		t.Errorf("got %q", size)
	}
	if l := line(t, p.Stdout()); l != "ready" {
		t.Errorf("got %q", l)
	}
	if err := p.Resize(160, 50); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(p.Stdin(), "한글 é 🙂\n"); err != nil {
		t.Fatal(err)
	}
	if size := line(t, p.Stdout()); size != "50 160" {
		t.Errorf("got %q", size)
	}
	if l := line(t, p.Stdout()); l != "got 한글 é 🙂" {
		t.Errorf("got %q", l)
	}
	if _, err := p.Stdin().Write([]byte{3}); err != nil { // Ctrl-C goes through the terminal
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(p.Stdout()); err != nil {
		t.Errorf("%q, %v", rest, err)
	}
	if code := wait(t, p); code != -1 {
		t.Errorf("code %d", code)
	}
	if errs, err := io.ReadAll(p.Stderr()); err != nil || len(errs) != 0 {
		t.Errorf("%q, %v", errs, err)
	}
}

func TestManyBytesArriveWhole(t *testing.T) {
	const n = 50 << 20
	p := execute(t, server(t), script("head -c "+strconv.Itoa(n)+" /dev/zero | tr '\\0' 'x'"))
	sum := sha256.New()
	got, err := io.Copy(sum, p.Stdout())
	if err != nil || got != n {
		t.Fatalf("%d bytes, %v", got, err)
	}
	want := sha256.New()
	for range n >> 20 {
		want.Write(bytes.Repeat([]byte("x"), 1<<20))
	}
	if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Error("they are not the same")
	}
	if code := wait(t, p); code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestInputAndOutputAtOnce: a command that writes while it reads must not jam, whoever is slow.
func TestInputAndOutputAtOnce(t *testing.T) {
	const n = 8 << 20
	p := execute(t, server(t), sandbox.Command{Path: "cat"})
	go func() {
		_, _ = p.Stdin().Write(bytes.Repeat([]byte("y"), n))
		_ = p.Stdin().Close()
	}()
	got, err := io.Copy(io.Discard, p.Stdout())
	if err != nil || got != n {
		t.Errorf("%d bytes, %v", got, err)
	}
	if code := wait(t, p); code != 0 {
		t.Errorf("code %d", code)
	}
}

// TestAStalledReaderStallsItsOwnCommandAlone, and can still signal it.
func TestAStalledReaderStallsItsOwnCommandAlone(t *testing.T) {
	socket := server(t)
	flood := execute(t, socket, script("trap 'exit 9' TERM; echo $$; while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done"))
	pid := line(t, flood.Stdout())
	asleep(t, pid)
	p := execute(t, socket, script("echo quick"))
	if l := line(t, p.Stdout()); l != "quick" {
		t.Errorf("got %q", l)
	}
	if err := flood.Signal(int(syscall.SIGTERM)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, flood.Stdout()); err != nil {
		t.Fatal(err)
	}
	if code := wait(t, flood); code != 9 {
		t.Errorf("code %d", code)
	}
}

// asleep waits until a process that writes has to wait for its reader.
func asleep(t testing.TB, pid string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; {
		raw, err := os.ReadFile("/proc/" + pid + "/wchan")
		if err == nil && strings.Contains(string(raw), "pipe") {
			return
		}
		stat, _ := os.ReadFile("/proc/" + pid + "/syscall")
		if strings.HasPrefix(string(stat), "1 0x1 ") { // write, to standard output
			return
		}
		if time.Now().After(end) {
			t.Fatalf("it does not wait: %q, %q, %v", raw, stat, err)
		}
	}
}

// TestHangUpIsSeenBehindUnreadInput: a command that reads nothing, an input beyond all bounds, and a client that leaves.
func TestHangUpIsSeenBehindUnreadInput(t *testing.T) {
	p := execute(t, server(t), script("echo $$; exec sleep 1000"))
	pid, err := strconv.Atoi(line(t, p.Stdout()))
	if err != nil {
		t.Fatal(err)
	}
	wrote := make(chan error, 1)
	go func() {
		_, err := p.Stdin().Write(make([]byte, 16<<20))
		wrote <- err
	}()
	select {
	case err := <-wrote:
		t.Fatalf("16 MiB were taken for a command that reads nothing: %v", err)
	case <-time.After(300 * time.Millisecond):
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err == nil {
		t.Error("the write succeeded")
	}
	gone(t, pid)
}

func TestShutdownEndsTheServer(t *testing.T) {
	socket := server(t)
	c, err := agent.Dial(soon(t), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Shutdown(soon(t)); err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitEnd(soon(t)); err != nil {
		t.Errorf("it did not say that all have ended: %v", err)
	}
	for ctx := soon(t); ; {
		again, err := agent.Dial(ctx, socket)
		if err != nil {
			return
		}
		again.Close()
	}
}
