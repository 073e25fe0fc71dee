package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a started child with its three streams.
type Process struct {
	stdin          *os.File
	stdout, stderr *Output
	grace          time.Duration

	cmd     *exec.Cmd
	exited  chan struct{} // closed once the child was collected; code and err are set before
	watched chan struct{} // closed when watch has nothing more to kill
	code    int
	err     error

	mu        sync.Mutex
	collected bool // its pid may belong to someone else now
}

// Start starts c and returns at once. When ctx ends, the child's group is interrupted, and killed after the grace. The
// caller reads Stdout and Stderr, or calls Discard, and then Wait.
func Start(ctx context.Context, c Command) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(pipes[:i])
			return nil, fmt.Errorf("make pipe: %w", err)
		}
		pipes[i] = [2]*os.File{r, w}
	}
	p := &Process{
		stdin: pipes[0][1], stdout: NewOutput(pipes[1][0]), stderr: NewOutput(pipes[2][0]),
		grace: c.grace(), cmd: c.cmd(), exited: make(chan struct{}), watched: make(chan struct{}),
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes[0][0], pipes[1][1], pipes[2][1]
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		closeAll(pipes[:])
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	pipes[0][0].Close()
	pipes[1][1].Close()
	pipes[2][1].Close()
	go p.collect()
	go p.watch(ctx)
	return p, nil
}

func closeAll(pipes [][2]*os.File) {
	for _, pair := range pipes {
		pair[0].Close()
		pair[1].Close()
	}
}

// collect waits for the child. Where the system can tell, its pid stays taken until the lock is held, so that Signal
// never reaches a stranger.
func (p *Process) collect() {
	var err error
	if waitable(p.cmd.Process.Pid) {
		p.mu.Lock()
		err = p.cmd.Wait()
	} else {
		err = p.cmd.Wait()
		p.mu.Lock()
	}
	p.collected = true
	p.mu.Unlock()
	p.code = p.cmd.ProcessState.ExitCode()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.err = fmt.Errorf("wait for %s: %w", p.cmd.Path, err)
	}
	p.stdout.Ended()
	p.stderr.Ended()
	close(p.exited)
}

// watch ends the group when the context does.
func (p *Process) watch(ctx context.Context) {
	defer close(p.watched)
	select {
	case <-p.exited:
		return
	case <-ctx.Done():
	}
	_ = p.Signal(syscall.SIGINT) // it may just have ended
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.exited:
		// The child obeyed; what it started may not have. A group keeps its number while it has members.
		_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	case <-timer.C:
		_ = p.Signal(syscall.SIGKILL)
		<-p.exited
	}
}

// Pid is the child's process id, which is also its group's.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdin is what the child reads. Close ends it.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout and Stderr end with io.EOF when the child has ended, whoever else still holds the pipe.
func (p *Process) Stdout() io.Reader { return p.stdout }

// Stderr is like Stdout.
func (p *Process) Stderr() io.Reader { return p.stderr }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.exited }

// Signal is delivered to the child's group. After its end it fails.
func (p *Process) Signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.collected {
		return os.ErrProcessDone
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, sig); err != nil {
		return fmt.Errorf("signal process group: %w", err)
	}
	return nil
}

// Wait returns the exit code; -1 for a child ended by a signal.
func (p *Process) Wait(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return -1, context.Cause(ctx)
	case <-p.exited:
	}
	return p.code, p.err
}

// Close kills the group if the child still runs, waits for its end, and frees the pipes.
func (p *Process) Close() error {
	if err := p.Signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.exited
	p.stdin.Close()
	p.stdout.Close()
	p.stderr.Close()
	return nil
}
