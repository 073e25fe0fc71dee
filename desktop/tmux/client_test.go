package tmux_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"claude-hub/desktop/tmux"
)

// client is a running Client on a real tmux.
func (s *server) client(handle func(tmux.Event)) *tmux.Client {
	s.t.Helper()
	c := tmux.New(s.attach(0), handle)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	s.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.t.Logf("Run: %v", err)
		}
	})
	return c
}

func TestClient(t *testing.T) {
	s := startServer(t, 80, 24, "cat")
	c := s.client(func(tmux.Event) {})
	ctx := soon(t)
	t.Run("SeveralBlocks", func(t *testing.T) {
		r, err := c.Do(ctx, tmux.Cmd("display-message", "-p", "a;b"), tmux.Cmd("display-message", "-p", "c\nd"))
		if err != nil || len(r.Blocks) != 2 || string(bytes.Join(r.Blocks[1].Lines, []byte("|"))) != "c|d" || string(r.Blocks[0].Lines[0]) != "a;b" {
			t.Errorf("%v, %v", r, err)
		}
	})
	t.Run("FailureEndsTheLine", func(t *testing.T) {
		r, err := c.Do(ctx, tmux.Cmd("display-message", "-p", "a"), tmux.Cmd("has-session", "-t", "nope"), tmux.Cmd("display-message", "-p", "z"))
		var failed *tmux.CommandError
		if !errors.As(err, &failed) || failed.Command != "has-session" || len(r.Blocks) != 2 {
			t.Errorf("%v, %v", r, err)
		}
		_, err = c.Do(ctx, tmux.Cmd("display-message", "-p", "a"), tmux.Cmd("bogus"))
		if !errors.As(err, &failed) || !strings.Contains(failed.Text, "unknown command") {
			t.Errorf("%v", err)
		}
	})
	t.Run("Concurrent", func(t *testing.T) {
		var wg sync.WaitGroup
		for i := range 300 {
			wg.Go(func() {
				want := fmt.Sprint("n", i)
				r, err := c.Do(ctx, tmux.Cmd("display-message", "-p", want), tmux.Cmd("display-message", "-p", want))
				if err != nil || string(r.Blocks[0].Lines[0]) != want || string(r.Blocks[1].Lines[0]) != want {
					t.Errorf("%s: %v, %v", want, r, err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("Refused", func(t *testing.T) {
		for _, cmd := range []tmux.Command{nil, {""}, {"a b"}, tmux.Cmd("run-shell", "x"), tmux.Cmd("display-message", "a\x00b")} {
			if _, err := c.Do(ctx, cmd); err == nil {
				t.Errorf("%q was sent", cmd)
			}
		}
		if _, err := c.Do(ctx); err == nil {
			t.Error("an empty line was sent: it detaches")
		}
	})
}

// TestClientFarEnd plays tmux's part, badly.
func TestClientFarEnd(t *testing.T) {
	const hello = "%begin 1 1 0\n%end 1 1 0\n"
	for _, c := range []struct {
		name, say string
		want      error
	}{
		{"AnswerToNothing", hello + "%begin 1 2 1\n%end 1 2 1\n", tmux.ErrProtocol},
		{"LongLine", hello + strings.Repeat("x", 2<<20), tmux.ErrProtocol},
		{"Goodbye", hello + "%exit server exited\n", tmux.ErrClosed},
		{"NoSession", "%begin 1 1 0\nno sessions\n%error 1 1 0\n%exit\n", tmux.ErrClosed},
		{"Silence", "", tmux.ErrClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := net.Pipe()
			client := tmux.New(near, func(tmux.Event) {})
			go func() {
				_, _ = io.WriteString(far, c.say) // the client may hang up first
				far.Close()
			}()
			if err := client.Run(soon(t)); !errors.Is(err, c.want) {
				t.Errorf("Run: %v", err)
			}
			if _, err := client.Do(soon(t), tmux.Cmd("display-message")); !errors.Is(err, tmux.ErrClosed) {
				t.Errorf("Do: %v", err)
			}
		})
	}
	t.Run("CancelledWhileWaiting", func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		client := tmux.New(near, func(tmux.Event) {})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- client.Run(ctx) }()
		if _, err := io.WriteString(far, hello); err != nil {
			t.Fatal(err)
		}
		call, err := client.Start(ctx, tmux.Cmd("display-message"))
		must(t, err)
		buf := make([]byte, 100)
		if n, err := far.Read(buf); err != nil || string(buf[:n]) != "display-message\n" {
			t.Errorf("%q, %v", buf[:n], err)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
		if _, err := call.Wait(soon(t)); !errors.Is(err, tmux.ErrClosed) {
			t.Errorf("Wait: %v", err)
		}
	})
}

// FuzzQuote: what is quoted reaches tmux as it was.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a", "-x", ";", "a;", "$HOME", "~root", "'\"\\", "\n\r\t\x1b", "%if", "#{pane_id}", "{}", "\xff\xfe", "한글🙂", "a=b", "\\n\\", "\x7f"} {
		f.Add(seed)
	}
	s := startServer(f, 80, 24, "cat")
	c := s.client(func(tmux.Event) {})
	f.Fuzz(func(t *testing.T, value string) {
		r, err := c.Do(soon(t), tmux.Cmd("set-option", "-p", "-t", "=main:", "--", "@fuzz", value),
			tmux.Cmd("show-options", "-pv", "-t", "=main:", "@fuzz"))
		if strings.ContainsRune(value, 0) {
			if err == nil {
				t.Fatal("a NUL was sent")
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		if got := string(bytes.Join(r.Blocks[1].Lines, []byte("\n"))); got != value {
			t.Fatalf("%q became %q", value, got)
		}
	})
}
