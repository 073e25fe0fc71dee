//go:build linux

package microsandbox_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/process"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/desktop/sandbox/microsandbox"
)

// TestRigBench does each thing with the Backend and by hand, in one run on one machine, and prints the ratio: on an
// emulated machine nothing else means anything.
func TestRigBench(t *testing.T) {
	b := rig(t)
	id := start(t, b, small(t, "bench"))
	relay := msbSocket(id)

	byHand := func(args ...string) time.Duration {
		began := time.Now()
		r, err := process.Run(long(t), process.Command{Path: "msb", Args: args, Env: []string{
			"MSB_HOME=" + filepath.Join(shared.dir, "m"), "PATH=" + os.Getenv("PATH"), "TMPDIR=" + shared.dir, "HOME=" + os.Getenv("HOME"),
		}})
		if err != nil || r.Code != 0 {
			t.Fatalf("msb %v: %d, %v, %s", args, r.Code, err, r.Stderr)
		}
		return time.Since(began)
	}
	clear := func() { // of this run, or of one that was cut off
		_, _ = process.Run(long(t), process.Command{Path: "msb", Args: []string{"rm", "-f", "hand"}, Env: []string{"MSB_HOME=" + filepath.Join(shared.dir, "m"), "PATH=" + os.Getenv("PATH")}})
	}
	clear()
	t.Cleanup(clear)
	compare := func(what string, ours, theirs time.Duration, most float64) {
		ratio := float64(ours) / float64(theirs)
		t.Logf("%-28s ours %10v   by hand %10v   ratio %.2f", what, ours.Round(100*time.Microsecond), theirs.Round(100*time.Microsecond), ratio)
		if most > 0 && ratio > most {
			t.Errorf("%s: %.2f times by hand, and %.2f is the most", what, ratio, most)
		}
	}

	lives(t, b, byHand, compare)

	const n = 30
	ourTrue := middle(n, func() {
		trueOver(t, func() (sandbox.Process, error) { return b.Exec(long(t), id, sandbox.Command{Path: "/bin/true"}) })
	})
	compare("exec /bin/true, msb's agent", ourTrue, middle(n, func() {
		trueOver(t, func() (sandbox.Process, error) {
			c, err := agent.DialRelay(long(t), relay)
			if err != nil {
				return nil, err
			}
			return c.Exec(long(t), sandbox.Command{Path: "/bin/true"})
		})
	}), 0)
	compare("exec /bin/true, msb exec", ourTrue, middle(3, func() { byHand("exec", "--no-tty", msbName(id), "--", "/bin/true") }), 1.1)

	compare("key through tmux, native", keys(t, inSandbox(t, b, id)), keys(t, natively(t)), 0)

	const size = 50 << 20
	fifty := func(start func() (sandbox.Process, error)) (took time.Duration, whole bool) {
		began := time.Now()
		p, err := start()
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		got, err := io.Copy(io.Discard, p.Stdout())
		if err != nil || got != size {
			t.Logf("%d bytes, %v", got, err)
		}
		return time.Since(began), got == size
	}
	flood := sandbox.Command{Path: "head", Args: []string{"-c", fmt.Sprint(size), "/dev/zero"}}
	ourFifty, whole := fifty(func() (sandbox.Process, error) { return b.Exec(long(t), id, flood) })
	if !whole {
		t.Error("50 MB did not come whole")
	}
	theirFifty, whole := fifty(func() (sandbox.Process, error) {
		c, err := agent.DialRelay(long(t), relay)
		if err != nil {
			return nil, err
		}
		return c.Exec(long(t), flood)
	})
	if !whole { // msb's relay was seen to hang up in the middle
		t.Logf("50 MB: ours %v; by hand they did not come whole", ourFifty)
		return
	}
	compare("50 MB, msb's agent", ourFifty, theirFifty, 1.5)
}

// lives compares the life of a VM: the middle of five counts, since a boot takes half as long again now and then. A VM is
// there when it has run a command. Stopped and started again by hand is the very VM that the Backend made, each after its
// own kind of stop; only to create takes one that msb's arguments make alike. One VM is there at a time.
func lives(t *testing.T, b *microsandbox.Backend, byHand func(...string) time.Duration, compare func(string, time.Duration, time.Duration, float64)) {
	spec := small(t, "bench-life")
	removeAfter(t, b, spec.ID)
	vm := msbName(spec.ID)
	ours := func(do func() error) time.Duration {
		began := time.Now()
		if err := do(); err != nil {
			t.Fatal(err)
		}
		return time.Since(began)
	}
	start := func() error {
		err := b.Start(long(t), spec)
		if err == nil {
			trueOver(t, func() (sandbox.Process, error) { return b.Exec(long(t), spec.ID, sandbox.Command{Path: "/bin/true"}) })
		}
		return err
	}
	first := func(vm string) time.Duration { return byHand("exec", "--no-tty", vm, "--", "/bin/true") }
	const rounds = 5
	var whole [2]time.Duration
	var create, stop, again, remove [2][]time.Duration
	note := func(step *[2][]time.Duration, who int, took time.Duration) { step[who] = append(step[who], took) }
	for range rounds {
		note(&create, 1, byHand("create", "-q", "-n", "hand", "-c", "1", "-m", "512M", "--root-disk", "2048M", "--pull", "never", "--no-net",
			"--mount-file", filepath.Join(shared.dir, "guest")+":/guest:ro", "--mount-dir", spec.Mounts[0].Host+":/workspace:quota=2048M",
			"claude-hub/base:1")+first("hand"))
		note(&remove, 1, byHand("rm", "-f", "hand"))
		note(&create, 0, ours(start))
		note(&stop, 0, ours(func() error { return b.Stop(long(t), spec.ID, times(time.Second)) }))
		note(&again, 0, ours(start))
		note(&stop, 1, byHand("stop", vm))
		note(&again, 1, byHand("start", vm)+first(vm))
		note(&remove, 0, ours(func() error { return b.Remove(long(t), spec.ID) }))
	}
	for _, step := range []struct {
		name  string
		taken [2][]time.Duration
	}{{"create, to a first command", create}, {"stop", stop}, {"start again, to a command", again}, {"remove while it runs", remove}} {
		for _, all := range step.taken {
			slices.Sort(all)
		}
		t.Logf("%s: ours %v, by hand %v", step.name, step.taken[0], step.taken[1])
		compare(step.name, step.taken[0][rounds/2], step.taken[1][rounds/2], 0)
		for who := range whole {
			whole[who] += step.taken[who][rounds/2]
		}
	}
	compare("the four together", whole[0], whole[1], 1.1)
}

// msbName is what msb calls a Sandbox, and msbSocket where its own agent listens: both are of this package's making, and a
// Runner of another version must find them.
func msbName(id sandbox.ID) string {
	sum := sha256.Sum256([]byte(shared.dir))
	return "ch-" + hex.EncodeToString(sum[:4]) + "-" + string(id)
}

func msbSocket(id sandbox.ID) string {
	sum := sha256.Sum256([]byte(msbName(id)))
	return filepath.Join(shared.dir, "m", "run", "sandboxes", hex.EncodeToString(sum[:12]), "agent.sock")
}

// middle is the median time of n runs.
func middle(n int, f func()) time.Duration {
	var took []time.Duration
	for range n {
		began := time.Now()
		f()
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[n/2]
}

func trueOver(t testing.TB, start func() (sandbox.Process, error)) {
	t.Helper()
	p, err := start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if code, err := p.Wait(long(t)); code != 0 || err != nil {
		t.Fatal(code, err)
	}
}

// console runs a program with its input and output open, and another to its end.
type console struct {
	open func(args ...string) (io.Writer, io.Reader)
	run  func(args ...string)
}

func inSandbox(t testing.TB, b *microsandbox.Backend, id sandbox.ID) console {
	t.Helper()
	return console{
		open: func(args ...string) (io.Writer, io.Reader) {
			p, err := b.Exec(long(t), id, sandbox.Command{Path: args[0], Args: args[1:]})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { p.Close() })
			return p.Stdin(), p.Stdout()
		},
		run: func(args ...string) {
			if out, errs, code := run(t, b, id, sandbox.Command{Path: args[0], Args: args[1:]}, ""); code != 0 {
				t.Fatal(out, errs)
			}
		},
	}
}

func natively(t testing.TB) console {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	return console{
		open: func(args ...string) (io.Writer, io.Reader) {
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { cancel(); _ = cmd.Wait() })
			return in, out
		},
		run: func(args ...string) { command(t, args[0], args[1:]...) },
	}
}

// keys is the median time from a key sent to tmux until tmux tells that it was shown.
func keys(t testing.TB, c console) time.Duration {
	t.Helper()
	c.run("tmux", "-L", "bench", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "cat")
	defer c.run("tmux", "-L", "bench", "kill-server")
	in, out := c.open("tmux", "-L", "bench", "-C", "attach")
	lines := bufio.NewReader(out)
	wait := func(text string) {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(line, text) {
				return
			}
		}
	}
	wait("%session-changed")
	return middle(50, func() {
		if _, err := io.WriteString(in, "send-keys k\n"); err != nil {
			t.Fatal(err)
		}
		wait("%output")
	})
}
