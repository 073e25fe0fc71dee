package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// links measures what one more idle Runner link takes of the Hub's memory and processor: a thousand real streams, each
// with a Runner's token of its own. The baseline is the same count of idle streams at a bare HTTP server.
func (b *bench) links(ctx context.Context) (results []result, err error) {
	n := b.pick(1000, 200)
	r, done, err := b.rig(ctx)
	defer done(&err)
	if err != nil {
		return nil, err
	}
	tokens, err := r.AddRunners(ctx, n)
	if err != nil {
		return nil, err
	}
	ours, err := measureStreams(ctx, r.HubPID(), n, func(i int) (io.Closer, error) {
		return openStream(ctx, r.URL, wire.StreamPath+"?host=bench", tokens[i], wire.EventSnapshot)
	})
	if err != nil {
		return nil, err
	}
	bare, err := b.bareStreams(ctx, n)
	if err != nil {
		return nil, err
	}
	cores := ours.cores / float64(n) * 10000
	return []result{
		result{Name: "link-memory", What: "one idle Runner link at the Hub", Value: figure(ours.each), Unit: "KB", Samples: n}.
			against("an idle stream of a bare HTTP server", bare.each).budget(60, 25).
			noted("%d links; 10,000 would take %s MB and %s processors", n, figure(ours.each*10000/1024), figure(cores)),
	}, nil
}

// streams is what idle streams take.
type streams struct {
	each  float64 // KB of memory
	cores float64 // processors, all streams together
}

// warm is how many streams are open before the first look, so that what a server needs once is not counted.
const warm = 20

// measureStreams opens streams at a process and lets them idle for longer than a ping takes.
func measureStreams(ctx context.Context, pid, n int, open func(i int) (io.Closer, error)) (s streams, err error) {
	closers := make([]io.Closer, n)
	defer func() {
		for _, c := range closers {
			if c != nil {
				c.Close()
			}
		}
	}()
	idle := func(from, to int) (float64, error) {
		var g errgroup.Group
		g.SetLimit(8)
		for i := from; i < to; i++ {
			g.Go(func() (err error) {
				closers[i], err = open(i)
				return err
			})
		}
		if err := g.Wait(); err != nil {
			return 0, err
		}
		if err := pause(ctx, wire.StreamPing+idleTime); err != nil {
			return 0, err
		}
		return resident(pid)
	}
	before, err := idle(0, warm)
	if err != nil {
		return s, err
	}
	after, err := idle(warm, n)
	if err != nil {
		return s, err
	}
	s.each = (after - before) * 1024 / float64(n-warm)
	spent, err := busy(pid)
	if err != nil {
		return s, err
	}
	if err := pause(ctx, 2*wire.StreamPing); err != nil {
		return s, err
	}
	now, err := busy(pid)
	s.cores = (now - spent).Seconds() / (2 * wire.StreamPing).Seconds()
	return s, err
}

// openStream opens a stream on a connection of its own and waits for its first event. It is written by hand: a thousand
// HTTP clients would take more of the machine than what is measured.
func openStream(ctx context.Context, base, path string, token claudehub.Token, event string) (io.Closer, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", u.Host)
	if err != nil {
		return nil, err
	}
	if err := beginStream(conn, u.Host, path, token, event); err != nil {
		conn.Close()
		return nil, err
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }() // pings; ends when the connection is closed
	return conn, nil
}

func beginStream(conn net.Conn, host, path string, token claudehub.Token, event string) error {
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		return err
	}
	_, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nAccept: text/event-stream\r\nAuthorization: Bearer %s\r\n%s: %d\r\n%s: %s\r\n\r\n",
		path, host, token.Reveal(), wire.ProtocolHeader, wire.Protocol, wire.InstanceHeader, claudehub.NewNonce())
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(conn, 1024)
	for said := []string{}; ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("open a stream: %w: %q", err, said)
		}
		if said = append(said, line); len(said) == 1 && !strings.Contains(line, " 200 ") {
			return fmt.Errorf("open a stream: %s", strings.TrimSpace(line))
		}
		if strings.HasPrefix(line, "event: "+event) || strings.HasPrefix(line, "event:"+event) {
			return conn.SetDeadline(time.Time{})
		}
	}
}

// bareStreams measures the baseline, in a process of its own.
func (b *bench) bareStreams(ctx context.Context, n int) (s streams, err error) {
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	cmd := exec.CommandContext(ctx, self, serveStreams)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	if err := cmd.Start(); err != nil {
		return s, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return s, fmt.Errorf("start the bare server: %w", err)
	}
	return measureStreams(ctx, cmd.Process.Pid, n, func(int) (io.Closer, error) {
		return openStream(ctx, strings.TrimSpace(address), "/", claudehub.NewToken(claudehub.RunnerToken), "hello")
	})
}

// serveStreams is the argument that makes this program the bare server.
const serveStreams = "serve-bare-streams"

// serveBareStreams is what net/http takes for an idle stream at the least: an event, then a comment now and then.
func serveBareStreams(ctx context.Context) error {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		say := "event: hello\ndata: {}\n\n"
		for {
			if _, err := io.WriteString(w, say); err != nil {
				return
			}
			if err := http.NewResponseController(w).Flush(); err != nil {
				return
			}
			say = ": ping\n\n"
			if pause(r.Context(), wire.StreamPing) != nil {
				return
			}
		}
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	fmt.Printf("http://%s\n", ln.Addr())
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
