package tmux_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
)

func TestT1CharactersSplitAnywhere(t *testing.T) {
	const lines = 300
	line := "한글 é 🙂"
	want := strings.Repeat(line+"\r\n", lines)
	for _, chunk := range []int{1, 2, 3, 5, 1023, 1024} {
		t.Run(fmt.Sprint(chunk), func(t *testing.T) {
			s := startServer(t, 80, 24, shell(`read x; i=0; while [ $i -lt %d ]; do echo '%s'; i=$((i+1)); done; printf end; cat`, lines, line)...)
			term := s.terminal(s.attach(chunk), tmux.Options{})
			must(t, term.Keys(soon(t), "t", 1, []byte("\r")))
			term.log.until(t, "end", func() bool { return strings.HasSuffix(term.log.deltas(), "end") })
			got := strings.TrimPrefix(strings.TrimSuffix(term.log.deltas(), "end"), "\r\n")
			if got != want {
				t.Errorf("got %d bytes, want %d; starts %q", len(got), len(want), got[:min(len(got), 100)])
			}
			if strings.Contains(got, "\uFFFD") {
				t.Error("a replacement character was made")
			}
			var seq uint64
			for _, f := range term.log.all() {
				if f.Seq != seq {
					t.Fatalf("Seq %d after %d bytes", f.Seq, seq)
				}
				if f.Kind == tmux.Delta {
					seq += uint64(len(f.Data))
				}
			}
			must(t, term.stop())
		})
	}
}

func TestKeys(t *testing.T) {
	t.Run("AppliedOnce", func(t *testing.T) {
		s := startServer(t, 80, 24, shell("stty raw -echo; printf =; cat")...)
		term := s.terminal(s.attach(0), tmux.Options{})
		ctx := soon(t)
		eventually(t, "raw", func() bool { text, err := term.Text(ctx); must(t, err); return strings.Contains(text, "=") })
		must(t, term.Keys(ctx, "tab-1", 1, []byte("a")))
		must(t, term.Keys(ctx, "tab-1", 2, []byte("b")))
		must(t, term.Keys(ctx, "tab-1", 2, []byte("b")))
		must(t, term.Keys(ctx, "tab-1", 1, []byte("a")))
		err := term.Keys(ctx, "tab-1", 4, []byte("d"))
		if claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("a gap: %v", err)
		}
		// The Runner is killed, and its successor is told the same again.
		must(t, term.stop())
		term = s.terminal(s.attach(0), tmux.Options{})
		n, err := term.Applied(ctx, "tab-1")
		if err != nil || n != 2 {
			t.Errorf("applied %d, %v", n, err)
		}
		must(t, term.Keys(ctx, "tab-1", 2, []byte("b")))
		must(t, term.Keys(ctx, "tab-1", 3, []byte("c.")))
		eventually(t, "text", func() bool { text, err := term.Text(ctx); must(t, err); return strings.Contains(text, ".") })
		if text, _ := term.Text(ctx); strings.TrimSpace(text) != "=abc." {
			t.Errorf("typed %q", text)
		}
	})
	t.Run("AllBytes", func(t *testing.T) {
		s := startServer(t, 80, 24, shell("stty raw -echo; printf =; od -An -v -tx1 -w16 -N3072; cat")...)
		term := s.terminal(s.attach(0), tmux.Options{})
		var all []byte
		for i := range 256 {
			all = append(all, byte(i))
		}
		all = bytes.Repeat(all, 12)
		eventually(t, "raw", func() bool { text, err := term.Text(soon(t)); must(t, err); return strings.Contains(text, "=") })
		must(t, term.Keys(soon(t), "t", 1, all))
		var want strings.Builder
		for i, c := range all {
			fmt.Fprintf(&want, " %02x", c)
			if i%16 == 15 {
				want.WriteString("\n")
			}
		}
		deltas := func() string { return strings.TrimPrefix(term.log.deltas(), "=") }
		term.log.until(t, "all bytes", func() bool { return len(deltas()) >= want.Len() })
		if got := deltas(); got != want.String() {
			t.Errorf("bytes differ: %q", got[:200])
		}
	})
	t.Run("TokensForgotten", func(t *testing.T) {
		s := startServer(t, 80, 24, "cat")
		term := s.terminal(s.attach(0), tmux.Options{})
		ctx := soon(t)
		for i := range 40 {
			must(t, term.Keys(ctx, fmt.Sprintf("token-%d", i), 1, []byte("x")))
			must(t, term.Keys(ctx, "steady", uint64(i+1), []byte("y")))
		}
		if n := strings.Count(s.tmux("show-environment", "-h", "-t", "main"), "CLAUDE_HUB_APPLIED_"); n != 16 {
			t.Errorf("tmux remembers %d tokens", n)
		}
		for _, check := range []struct {
			token string
			want  uint64
		}{{"steady", 40}, {"token-39", 1}, {"token-2", 0}} {
			if n, err := term.Applied(ctx, check.token); err != nil || n != check.want {
				t.Errorf("%s: %d, %v", check.token, n, err)
			}
		}
		if err := term.Keys(ctx, "Bad token", 1, nil); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("a bad token: %v", err)
		}
	})
	t.Run("DeadPaneRefuses", func(t *testing.T) {
		s := startServer(t, 80, 24, shell("read x; echo bye; exit 7")...)
		term := s.terminal(s.attach(0), tmux.Options{})
		ctx := soon(t)
		must(t, term.Keys(ctx, "t", 1, []byte("\r")))
		eventually(t, "the program's end", func() bool { dead, _, err := term.Dead(ctx); must(t, err); return dead })
		if err := term.Keys(ctx, "t", 2, []byte("x")); claudehub.CodeOf(err) != claudehub.Conflict {
			t.Errorf("keys to a dead pane: %v", err)
		}
		// Its last words are on the screen, even if tmux dropped them from the output.
		term.RequestSnapshot(0)
		term.log.until(t, "last words", func() bool {
			frames := term.log.all()
			return bytes.Contains(frames[len(frames)-1].Data, []byte("bye"))
		})
	})
}

func TestResize(t *testing.T) {
	s := startServer(t, 80, 24, shell("trap 'stty size' WINCH; while :; do sleep 0.01; done")...)
	term := s.terminal(s.attach(0), tmux.Options{})
	ctx := soon(t)
	for _, bad := range [][2]uint16{{0, 24}, {80, 0}, {1, 1}, {20000, 24}} {
		if err := term.Resize(ctx, bad[0], bad[1]); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
	results := make(chan error, 50)
	for i := range 50 {
		go func() { results <- term.Resize(ctx, uint16(100+i), 30) }()
	}
	for range 50 {
		must(t, <-results)
	}
	must(t, term.Resize(ctx, 120, 40))
	frames := term.log.all()
	last := frames[len(frames)-1]
	for _, f := range frames {
		if f.Kind == tmux.Snapshot {
			last = f
		}
	}
	if last.Cols != 120 || last.Rows != 40 {
		t.Errorf("last snapshot is %dx%d", last.Cols, last.Rows)
	}
	if n := term.log.snapshots(); n > 6 {
		t.Errorf("%d snapshots for 51 resizes", n)
	}
	eventually(t, "program told", func() bool { text, err := term.Text(ctx); must(t, err); return strings.Contains(text, "40 120") })
	must(t, term.stop())
	// The window keeps its size when clients come and go.
	term = s.terminal(s.attach(0), tmux.Options{})
	if f := term.log.all()[0]; f.Cols != 120 || f.Rows != 40 {
		t.Errorf("after attach: %dx%d", f.Cols, f.Rows)
	}
}

func TestRunEnds(t *testing.T) {
	t.Run("ServerKilled", func(t *testing.T) {
		s := startServer(t, 80, 24, "cat")
		term := tmux.NewTerminal(s.attach(0), func(tmux.Frame) {}, tmux.Options{})
		ended := make(chan error, 1)
		go func() { ended <- term.Run(context.Background()) }()
		_, err := term.Text(soon(t))
		must(t, err)
		s.tmux("kill-server")
		if err := <-ended; err == nil {
			t.Error("no error")
		}
		if err := term.Keys(soon(t), "t", 1, []byte("x")); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("keys after the end: %v", err)
		}
		if err := term.Resize(soon(t), 80, 24); claudehub.CodeOf(err) != claudehub.Unavailable {
			t.Errorf("resize after the end: %v", err)
		}
	})
}

// TestGapMarksSnapshotsThatEveryoneMustTake: the first one and one after a resize do; one that was merely asked for does
// not.
func TestGapMarksSnapshotsThatEveryoneMustTake(t *testing.T) {
	s := startServer(t, 80, 24, "cat")
	term := s.terminal(s.attach(0), tmux.Options{})
	after := func(what string, before int, gap bool) {
		t.Helper()
		term.log.until(t, what, func() bool { return term.log.snapshots() > before })
		frames := term.log.all()
		last := frames[len(frames)-1]
		if last.Kind != tmux.Snapshot || last.Gap != gap {
			t.Errorf("%s: %v frame with gap %t", what, last.Kind, last.Gap)
		}
	}
	after("the first", 0, true)
	n := term.log.snapshots()
	term.RequestSnapshot(0)
	after("one that was asked for", n, false)
	n = term.log.snapshots()
	must(t, term.Resize(soon(t), 100, 30))
	after("one of another size", n, true)
}
