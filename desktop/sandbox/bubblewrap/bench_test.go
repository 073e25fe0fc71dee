//go:build linux

package bubblewrap_test

import (
	"fmt"
	"io"
	"os/exec"
	"slices"
	"testing"
	"time"

	"claude-hub/desktop/sandbox"
)

// The benchmarks run each thing in a Sandbox and natively, in one process, so that the ratio means something.

func BenchmarkExecTrue(b *testing.B) {
	b.Run("sandbox", func(b *testing.B) {
		back := newBackend(b)
		id := start(b, back, sandbox.Spec{})
		for b.Loop() {
			p, err := back.Exec(b.Context(), id, sandbox.Command{Path: "/bin/true"})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := p.Wait(b.Context()); err != nil {
				b.Fatal(err)
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("native", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEcho is one key: written, read by cat, and back. It reports the middle and the slowest of a hundred.
func BenchmarkEcho(b *testing.B) {
	echo := func(b *testing.B, w io.Writer, r io.Reader) {
		b.Helper()
		var took []time.Duration
		key, back := []byte("k"), make([]byte, 1)
		for b.Loop() {
			began := time.Now()
			if _, err := w.Write(key); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(r, back); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "µs-p50")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "µs-p99")
	}
	for _, tty := range []bool{false, true} {
		b.Run(fmt.Sprintf("sandbox,tty=%v", tty), func(b *testing.B) {
			back := newBackend(b)
			id := start(b, back, sandbox.Spec{})
			cmd := sandbox.Command{Path: "cat"}
			if tty {
				cmd = sandbox.Command{Path: "sh", Args: []string{"-c", "stty raw -echo; printf r; exec cat"}, TTY: true}
			}
			p, err := back.Exec(b.Context(), id, cmd)
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			if tty {
				if _, err := io.ReadFull(p.Stdout(), make([]byte, 1)); err != nil {
					b.Fatal(err)
				}
			}
			echo(b, p.Stdin(), p.Stdout())
		})
	}
	b.Run("native", func(b *testing.B) {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		echo(b, in, out)
		_ = in.Close()
		_ = cmd.Wait() // cat at the end of its input
	})
}

func BenchmarkFiftyMegabytes(b *testing.B) {
	const n = 50 << 20
	args := []string{"-c", fmt.Sprint(n), "/dev/zero"}
	b.Run("sandbox", func(b *testing.B) {
		back := newBackend(b)
		id := start(b, back, sandbox.Spec{})
		b.SetBytes(n)
		for b.Loop() {
			p, err := back.Exec(b.Context(), id, sandbox.Command{Path: "head", Args: args})
			if err != nil {
				b.Fatal(err)
			}
			if got, err := io.Copy(io.Discard, p.Stdout()); err != nil || got != n {
				b.Fatalf("%d bytes, %v", got, err)
			}
			if err := p.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("native", func(b *testing.B) {
		b.SetBytes(n)
		for b.Loop() {
			cmd := exec.Command("head", args...)
			out, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			if got, err := io.Copy(io.Discard, out); err != nil || got != n {
				b.Fatalf("%d bytes, %v", got, err)
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkStartAndRemove(b *testing.B) {
	back := newBackend(b)
	for b.Loop() {
		start(b, back, sandbox.Spec{})
		if err := back.Remove(b.Context(), "s1"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStartOfAnImage is the same of an Image, and of a build's copy of it.
func BenchmarkStartOfAnImage(b *testing.B) {
	back, _ := imported(b)
	for name, spec := range map[string]sandbox.Spec{"image": {ID: "i", Image: "base"}, "build": {ID: "b", Image: "base", Build: true}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := back.Start(b.Context(), spec); err != nil {
					b.Fatal(err)
				}
				if err := back.Remove(b.Context(), spec.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
