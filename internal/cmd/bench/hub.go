package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/rig"
)

const idleTime = 5 * time.Second

// hub measures from starting the Hub's program to its first answer, and its memory when nothing happens. The baseline
// is another of our programs, which does nothing but serve HTTP: the stand-in for Anthropic.
func (b *bench) hub(ctx context.Context) (results []result, err error) {
	dir, err := os.MkdirTemp("", "ch-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var first, again, plain samples
	var idle, plainIdle float64
	rounds := b.pick(11, 3)
	for i := range rounds {
		wait := time.Duration(0)
		if i == rounds-1 {
			wait = idleTime
		}
		data := filepath.Join(dir, fmt.Sprint("hub", i))
		if _, err := b.startOnce(ctx, 0, &first, "claude-hub", "serve", "--data", data, "--listen"); err != nil {
			return nil, err
		}
		if idle, err = b.startOnce(ctx, wait, &again, "claude-hub", "serve", "--data", data, "--listen"); err != nil {
			return nil, err
		}
		if plainIdle, err = b.startOnce(ctx, wait, &plain, "standin-anthropic", "--listen"); err != nil {
			return nil, err
		}
	}
	linked, err := b.linkedHub(ctx)
	if err != nil {
		return nil, err
	}
	const base = "a program that only serves HTTP"
	return []result{
		timing("hub-start", "Hub start → first answer", again, 50).against(base, plain.median()).budget(500, 200),
		timing("hub-start-new", "Hub start → first answer, new database", first, 50).against(base, plain.median()).budget(500, 200),
		result{Name: "hub-idle", What: "Hub memory, idle", Value: figure(idle), Unit: "MB"}.against(base, plainIdle).budget(60, 35).noted("after 5 s"),
		result{Name: "hub-linked", What: "Hub memory, one browser and one Runner", Value: figure(linked), Unit: "MB"}.against(base, plainIdle).budget(60, 35).noted("after 5 s"),
	}, nil
}

// startOnce starts a program whose last argument is its address, waits for its first answer and then for a while, and
// ends it. It returns the memory it had at the end.
func (b *bench) startOnce(ctx context.Context, wait time.Duration, into *samples, name string, args ...string) (mb float64, err error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(b.bin, name), append(args, addr)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	at := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		var exit *exec.ExitError
		if werr := cmd.Wait(); werr != nil && !errors.As(werr, &exit) {
			err = errors.Join(err, werr)
		}
	}()
	if err := firstAnswer(ctx, addr); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	*into = append(*into, time.Since(at))
	if wait == 0 {
		return 0, nil
	}
	if err := pause(ctx, wait); err != nil {
		return 0, err
	}
	return resident(cmd.Process.Pid)
}

// freeAddress is on loopback, and nobody listened there a moment ago.
func freeAddress(ctx context.Context) (string, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close()
	return ln.Addr().String(), nil
}

// firstAnswer waits until an HTTP server answers, whatever it says.
func firstAnswer(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/healthz", http.NoBody)
		if err != nil {
			return err
		}
		if resp, err := client.Do(req); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body) // the answer counts, not what it says
			return resp.Body.Close()
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return fmt.Errorf("no answer: %w", err)
		}
	}
}

// linkedHub is the memory of a Hub with a page open and a Runner linked.
func (b *bench) linkedHub(ctx context.Context) (mb float64, err error) {
	r, done, err := b.shellRig(ctx)
	defer done(&err)
	if err != nil {
		return 0, err
	}
	if _, err := r.AwaitRunner(ctx, linkUp); err != nil {
		return 0, err
	}
	page, err := openPage(ctx, r)
	if err != nil {
		return 0, err
	}
	defer page.Close()
	if err := pause(ctx, idleTime); err != nil {
		return 0, err
	}
	return resident(r.HubPID())
}

func linkUp(m claudehub.Runner) bool { return m.Link.State == claudehub.LinkUp }

// openPage does what a page does when it opens: it loads the app, lists, and listens for changes.
func openPage(ctx context.Context, r *rig.Rig) (io.Closer, error) {
	for _, path := range []string{"/api/me", "/api/sessions", "/api/runners"} {
		if err := r.Get(ctx, path, nil); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.URL+"/api/events", http.NoBody)
	if err != nil {
		return nil, err
	}
	resp, err := (&http.Client{Jar: r.Person.Jar}).Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("listen for changes: %s", resp.Status)
	}
	return resp.Body, nil
}
