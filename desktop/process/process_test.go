package process_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"claude-hub/desktop/process"
)

// TestMain lets the test binary play its own ill-behaved children.
func TestMain(m *testing.M) {
	if role := os.Getenv("HUB_TEST_CHILD"); role != "" {
		os.Exit(play(role))
	}
	goleak.VerifyTestMain(m)
}

// play is the child's side of a test.
func play(role string) int {
	switch role {
	case "echo":
		_, _ = io.Copy(os.Stdout, os.Stdin)
		fmt.Fprint(os.Stderr, "done")
		return 7
	case "stubborn": // hears every polite word and stays
		signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
		fmt.Println(os.Getpid())
		select {}
	case "polite": // tidies up when asked
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGINT)
		fmt.Println(os.Getpid())
		<-asked
		fmt.Println("tidied")
		return 5
	case "parent": // leaves a child behind that holds our pipes
		child(os.Getenv("HUB_TEST_GRANDCHILD"))
		fmt.Println("gone")
		return 0
	case "hold":
		select {}
	case "babble": // a grandchild that never stops writing
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("x", 4096)); err != nil {
				return 0
			}
		}
	case "flood":
		b := bytes.Repeat([]byte("0123456789abcdef"), 4096)
		for range 50 {
			_, _ = os.Stdout.Write(b)
		}
		return 0
	case "files":
		raw, _ := io.ReadAll(os.NewFile(3, "given"))
		_, _ = os.Stdout.Write(raw)
		return 0
	}
	return 99
}

// child starts the test binary in a role, in our group and on our pipes, and says its pid.
func child(role string) {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	p, err := os.StartProcess(self, []string{self}, &os.ProcAttr{
		Env: []string{"HUB_TEST_CHILD=" + role}, Files: []*os.File{nil, os.Stdout, os.Stderr},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(p.Pid)
	_ = p.Release()
}

func self(t testing.TB, role string, env ...string) process.Command {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return process.Command{Path: path, Env: append(env, "HUB_TEST_CHILD="+role)}
}

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// readPid reads the line on which a child says that it is up, and its pid.
func readPid(t testing.TB, r *bufio.Reader) int {
	t.Helper()
	line, err := r.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// gone waits until a process has ended, collected or not.
func gone(t testing.TB, pid int) {
	t.Helper()
	ctx := soon(t)
	for ctx.Err() == nil {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
			return
		}
		if i := bytes.LastIndexByte(raw, ')'); i > 0 && raw[i+2] == 'Z' {
			return
		}
	}
	t.Errorf("process %d still runs", pid)
}

func TestRunReturnsWhatTheCommandLeft(t *testing.T) {
	c := self(t, "echo")
	c.Input = []byte("in and out")
	r, err := process.Run(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if string(r.Stdout) != "in and out" || string(r.Stderr) != "done" || r.Code != 7 || r.Truncated {
		t.Errorf("got %+v", r)
	}
}

func TestRunBoundsItsCaptureAndNotTheChild(t *testing.T) {
	c := self(t, "flood")
	c.Limit = 1000
	r, err := process.Run(soon(t), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Stdout) != 1000 || !r.Truncated || r.Code != 0 {
		t.Errorf("kept %d bytes, truncated %v, code %d", len(r.Stdout), r.Truncated, r.Code)
	}
}

func TestRunOfAMissingProgram(t *testing.T) {
	_, err := process.Run(soon(t), process.Command{Path: filepath.Join(t.TempDir(), "none")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestCancelKillsWhoDoesNotListen(t *testing.T) {
	ctx, cancel := context.WithCancel(soon(t))
	c := self(t, "stubborn")
	c.Grace = 50 * time.Millisecond
	p, err := process.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	pid := readPid(t, bufio.NewReader(p.Stdout()))
	cancel()
	code, err := p.Wait(soon(t))
	if err != nil || code != -1 {
		t.Errorf("code %d, %v", code, err)
	}
	gone(t, pid)
}

func TestCancelInterruptsFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(soon(t))
	c := self(t, "polite")
	c.Grace = 20 * time.Second
	p, err := process.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	out := bufio.NewReader(p.Stdout())
	readPid(t, out)
	cancel()
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	code, err := p.Wait(soon(t))
	if err != nil || code != 5 || string(rest) != "tidied\n" {
		t.Errorf("code %d, %v, said %q", code, err, rest)
	}
}

func TestCancelKillsTheWholeGroup(t *testing.T) {
	ctx, cancel := context.WithCancel(soon(t))
	c := process.Command{Path: "sh", Args: []string{"-c", `trap 'exit 0' INT; (trap "" INT; echo $(exec sh -c 'echo $PPID'); while :; do sleep 1; done) & wait`}, Grace: 5 * time.Second}
	p, err := process.Start(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	grandchild := readPid(t, bufio.NewReader(p.Stdout()))
	cancel()
	if _, err := p.Wait(soon(t)); err != nil {
		t.Error(err)
	}
	gone(t, grandchild)
}

func TestAGrandchildThatHoldsThePipeHoldsNobodyUp(t *testing.T) {
	for _, role := range []string{"hold", "babble"} {
		t.Run(role, func(t *testing.T) {
			ctx := soon(t)
			r, err := process.Run(ctx, self(t, "parent", "HUB_TEST_GRANDCHILD="+role))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(r.Stdout, []byte("gone\n")) {
				t.Errorf("the child's own words are missing in %q", r.Stdout[:min(len(r.Stdout), 100)])
			}
			grandchild := readPid(t, bufio.NewReader(bytes.NewReader(r.Stdout)))
			if err := syscall.Kill(grandchild, syscall.SIGKILL); err != nil && role == "hold" {
				t.Errorf("the grandchild was ours to leave alone: %v", err)
			}
		})
	}
}

func TestOutputIsWholeHoweverLateItIsRead(t *testing.T) {
	p, err := process.Start(soon(t), process.Command{Path: "sh", Args: []string{"-c", "head -c 60000 /dev/zero"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Wait(soon(t)); err != nil {
		t.Fatal(err)
	}
	late := time.NewTimer(600 * time.Millisecond) // longer than the guard: this is what is tested
	<-late.C
	raw, err := io.ReadAll(p.Stdout())
	if err != nil || len(raw) != 60000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

func TestCloseEndsAReadAndTheChild(t *testing.T) {
	p, err := process.Start(soon(t), self(t, "stubborn"))
	if err != nil {
		t.Fatal(err)
	}
	pid := readPid(t, bufio.NewReader(p.Stdout()))
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, p.Stderr())
		read <- err
	}()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
	gone(t, pid)
	if err := p.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("signal after the end: %v", err)
	}
}

func TestDetachedHasItsOwnSessionAndFiles(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteString("passed on"); err != nil {
		t.Fatal(err)
	}
	w.Close()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c := self(t, "files")
	c.Files = []*os.File{r}
	d, err := process.Detach(c, nil, out)
	if err != nil {
		t.Fatal(err)
	}
	r.Close()
	<-d.Done()
	raw, err := os.ReadFile(out.Name())
	if err != nil || string(raw) != "passed on" || d.Code() != 0 {
		t.Errorf("%q, %v, code %d", raw, err, d.Code())
	}

	d, err = process.Detach(self(t, "hold"), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if sid, err := syscall.Getpgid(d.Pid()); err != nil || sid != d.Pid() {
		t.Errorf("group %d of process %d, %v", sid, d.Pid(), err)
	}
	if err := syscall.Kill(d.Pid(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-d.Done()
	if d.Code() != -1 {
		t.Errorf("code %d", d.Code())
	}
}

func TestLook(t *testing.T) {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"runs": 0o755, "text": 0o644} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := process.Look("runs", "/nowhere::"+dir); err != nil || got != filepath.Join(dir, "runs") {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := process.Look("text", dir); !errors.Is(err, os.ErrPermission) {
		t.Errorf("got %v", err)
	}
	if _, err := process.Look("none", dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if got, err := process.Look("./x", dir); err != nil || got != "./x" {
		t.Errorf("%q, %v", got, err)
	}
}
