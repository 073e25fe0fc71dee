package process

import (
	"fmt"
	"os"
	"syscall"
)

// Detached is a child in a session of its own. It is not ended when this program is.
type Detached struct {
	pid  int
	done chan struct{}
	code int
}

// Detach starts c in a new session, with stdin (nil is nothing) and with output for both its outputs (nil drops them).
// Descriptors are all that still ties it to us. One goroutine collects it, and lasts as long as the child does.
func Detach(c Command, stdin, output *os.File) (*Detached, error) {
	cmd := c.cmd()
	if stdin != nil {
		cmd.Stdin = stdin
	}
	if output != nil {
		cmd.Stdout, cmd.Stderr = output, output
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	d := &Detached{pid: cmd.Process.Pid, done: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the exit code says it all
		d.code = cmd.ProcessState.ExitCode()
		close(d.done)
	}()
	return d, nil
}

// Pid is the child's process id.
func (d *Detached) Pid() int { return d.pid }

// Done is closed when the child has ended and was collected.
func (d *Detached) Done() <-chan struct{} { return d.done }

// Code is the exit code, once Done is closed; -1 for a child ended by a signal.
func (d *Detached) Code() int {
	select {
	case <-d.done:
		return d.code
	default:
		return -1
	}
}
