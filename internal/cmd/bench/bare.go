package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"claude-hub/desktop/tmux"
)

// bare is the baseline for a terminal: tmux in control mode on the host, by hand, with the same shell in it as the
// Session has, and with the same options of the server.
type bare struct {
	socket string
	client *exec.Cmd
	in     io.WriteCloser
	ended  chan struct{}

	mu    sync.Mutex
	tail  []byte // the newest output lines, as tmux writes them
	when  time.Time
	fresh chan struct{} // closed and made anew with each line
}

const bareTail = 64 << 10

func startBare(ctx context.Context, dir, shell string, cols, rows uint16) (*bare, error) {
	b := &bare{socket: filepath.Join(dir, "bare.sock"), ended: make(chan struct{}), fresh: make(chan struct{})}
	path, args := tmux.StartCommand(tmux.Start{Socket: b.socket, Cols: cols, Rows: rows, Argv: []string{shell}})
	if err := b.command(ctx, path, args...).Run(); err != nil {
		return nil, fmt.Errorf("start tmux by hand: %w", err)
	}
	b.client = b.command(ctx, "tmux", "-u", "-S", b.socket, "-C", "attach-session", "-t", tmux.SessionName)
	var err error
	if b.in, err = b.client.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := b.client.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := b.client.Start(); err != nil {
		return nil, fmt.Errorf("attach to tmux by hand: %w", err)
	}
	go b.read(out) // ends with the client
	return b, nil
}

func (b *bare) command(ctx context.Context, path string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(b.socket), "LANG=C.UTF-8", "TERM=xterm-256color"}
	cmd.Dir = filepath.Dir(b.socket)
	return cmd
}

func (b *bare) read(out io.Reader) {
	defer close(b.ended)
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
		b.take(line)
	}
}

func (b *bare) take(line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case bytes.HasPrefix(line, []byte("%output ")):
		b.when = time.Now()
		line = line[len("%output %0 "):]
	case bytes.HasPrefix(line, []byte("%end ")), bytes.HasPrefix(line, []byte("%error ")):
		line = []byte("\n" + answered + "\n")
	default:
		return
	}
	b.tail = append(b.tail, line...)
	if over := len(b.tail) - bareTail; over > 0 {
		b.tail = append(b.tail[:0], b.tail[over:]...)
	}
	close(b.fresh)
	b.fresh = make(chan struct{})
}

// answered stands in the tail for the end of a command's answer.
const answered = "%answered%"

// command sends a line; its answer is not waited for.
func (b *bare) send(format string, args ...any) error {
	_, err := fmt.Fprintf(b.in, format+"\n", args...)
	return err
}

// Keys types.
func (b *bare) Keys(_ context.Context, keys string) error {
	hex := make([]string, len(keys))
	for i := range len(keys) {
		hex[i] = fmt.Sprintf("%02x", keys[i])
	}
	return b.send("send-keys -t %%0 -H %s", strings.Join(hex, " "))
}

// Forget drops what was shown so far.
func (b *bare) Forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tail = b.tail[:0]
}

// Sees waits until the output since the last Forget has the text.
func (b *bare) Sees(ctx context.Context, text string) error {
	for {
		b.mu.Lock()
		found, next := bytes.Contains(b.tail, []byte(text)), b.fresh
		b.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-next:
		case <-b.ended:
			return errors.New("tmux by hand has ended")
		case <-ctx.Done():
			return fmt.Errorf("%q was not shown by hand: %w", text, ctx.Err())
		}
	}
}

// QuietFor waits until nothing came for a time, and returns when the last came.
func (b *bare) QuietFor(ctx context.Context, d time.Duration) (time.Time, error) {
	for {
		b.mu.Lock()
		next, last := b.fresh, b.when
		b.mu.Unlock()
		select {
		case <-next:
		case <-time.After(d):
			return last, nil
		case <-ctx.Done():
			return last, ctx.Err()
		}
	}
}

// Close ends the server and the client.
func (b *bare) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := b.command(ctx, "tmux", "-S", b.socket, "kill-server").Run()
	_ = b.in.Close()
	<-b.ended
	_ = b.client.Wait() // its end was asked for
	return err
}

// keyboard is a terminal with someone at it: ours or by hand.
type keyboard interface {
	Keys(ctx context.Context, keys string) error
	Forget()
	Sees(ctx context.Context, text string) error
	QuietFor(ctx context.Context, d time.Duration) (time.Time, error)
}

// settled types a command that says so when it has run: what is typed after it meets a shell that waits.
func settled(ctx context.Context, k keyboard, before, after string) error {
	k.Forget()
	if err := k.Keys(ctx, before+"; printf 'bench-%s\\r\\n' settled; "+after+"\r"); err != nil {
		return err
	}
	return k.Sees(ctx, "bench-settled")
}
