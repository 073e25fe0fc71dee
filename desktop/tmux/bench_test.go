package tmux_test

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"claude-hub/desktop/tmux"
)

// BenchmarkKeyToOutput compares a key's way to its echo through a Terminal with the same by hand in control mode, turn
// about in one run, so that the machine's moods meet both.
func BenchmarkKeyToOutput(b *testing.B) {
	// By hand.
	bare := startServer(b, 80, 24, shell("stty raw -echo; printf =; cat")...)
	eventually(b, "raw", func() bool { return strings.Contains(bare.tmux("capture-pane", "-p", "-t", "main:"), "=") })
	p := bare.attach(0)
	in := bufio.NewReader(p)
	line := func(prefix string) {
		for {
			l, err := in.ReadString('\n')
			if err != nil {
				b.Fatal(err)
			}
			if strings.HasPrefix(l, prefix) {
				return
			}
		}
	}
	line("%session-changed")
	// Through a Terminal.
	ours := startServer(b, 80, 24, shell("stty raw -echo; printf =; cat")...)
	eventually(b, "raw", func() bool { return strings.Contains(ours.tmux("capture-pane", "-p", "-t", "main:"), "=") })
	echo := make(chan struct{}, 1)
	term := tmux.NewTerminal(ours.attach(0), func(f tmux.Frame) {
		if f.Kind == tmux.Delta {
			echo <- struct{}{}
		}
	}, tmux.Options{})
	ctx := b.Context()
	ended := make(chan error, 1)
	go func() { ended <- term.Run(ctx) }()
	b.Cleanup(func() { must(b, <-ended) })
	if _, err := term.Applied(ctx, "bench"); err != nil {
		b.Fatal(err)
	}
	var byHand, through []time.Duration
	n := uint64(0)
	for b.Loop() {
		at := time.Now()
		fmt.Fprintf(p, "send-keys -t %%0 -H 61\n")
		line("%")
		line("%end")
		line("%")
		byHand = append(byHand, time.Since(at))
		n++
		at = time.Now()
		go func() {
			if err := term.Keys(ctx, "bench", n, []byte("a")); err != nil {
				b.Error(err)
			}
		}()
		<-echo
		through = append(through, time.Since(at))
		if _, err := term.Applied(ctx, "bench"); err != nil { // the answer is in too
			b.Fatal(err)
		}
	}
	report := func(name string, d []time.Duration) {
		slices.Sort(d)
		b.ReportMetric(float64(d[len(d)/2].Microseconds()), name+"-p50-µs")
		b.ReportMetric(float64(d[len(d)*99/100].Microseconds()), name+"-p99-µs")
	}
	report("bare", byHand)
	report("ours", through)
}

// BenchmarkSnapshot is the time from asking to having a full, coloured screen.
func BenchmarkSnapshot(b *testing.B) {
	for _, history := range []int{0, 1000, 5000} {
		b.Run(fmt.Sprint("history=", history), func(b *testing.B) {
			s := startServer(b, 120, 40, shell(`i=0; while [ $i -lt 5100 ]; do printf '\033[3%%dmline %%d of a coloured log with some text in it\033[m\r\n' $((i%%7)) $i; i=$((i+1)); done; printf '\033]2;drawn\007'; cat`)...)
			settle(s, "drawn")
			got := make(chan int, 1)
			term := tmux.NewTerminal(s.attach(0), func(f tmux.Frame) {
				if f.Kind == tmux.Snapshot {
					got <- len(f.Data)
				}
			}, tmux.Options{})
			ended := make(chan error, 1)
			ctx := b.Context()
			go func() { ended <- term.Run(ctx) }()
			b.Cleanup(func() { must(b, <-ended) })
			<-got
			size := 0
			for b.Loop() {
				term.RequestSnapshot(history)
				size = <-got
			}
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// BenchmarkPaste is 1 MB from call to done.
func BenchmarkPaste(b *testing.B) {
	s := startServer(b, 80, 24, shell("stty raw -echo; cat >/dev/null")...)
	term := s.terminal(s.attach(0), tmux.Options{})
	text := bytes.Repeat([]byte("some text, a line of it\n"), 1<<20/24)
	b.SetBytes(int64(len(text)))
	n := uint64(0)
	for b.Loop() {
		n++
		if err := term.Paste(b.Context(), "b", n, text); err != nil {
			b.Fatal(err)
		}
	}
}
