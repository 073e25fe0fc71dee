package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Exec starts a command and takes the connection over, whatever comes of it. The context bounds the start alone.
func (c *Conn) Exec(ctx context.Context, cmd sandbox.Command) (sandbox.Process, error) {
	p := &remote{c: c, id: c.nextID(), stdout: newBuffer(), stderr: newBuffer(), done: make(chan struct{})}
	if c.shared {
		p.stdout.most, p.stderr.most = sharedBuffer, sharedBuffer
	}
	dir := cmd.Dir
	if dir == "" {
		dir = "/workspace"
	}
	err := c.bounded(ctx, func() error {
		err := c.send(nil, p.id, flagStart, typeRequest, request{
			Cmd: cmd.Path, Args: cmd.Args, Env: cmd.Env, Cwd: &dir, TTY: cmd.TTY, Rows: cmd.Rows, Cols: cmd.Cols,
		})
		if err != nil {
			return err
		}
		return p.awaitStart(cmd.Path)
	})
	if err != nil {
		c.Close()
		return nil, err
	}
	go p.read()
	return p, nil
}

// remote is a running command at the far end of its own connection.
type remote struct {
	c              *Conn
	id             uint32
	stdout, stderr *buffer

	done chan struct{} // closed by read at its end; code and err are set before
	code int
	err  error

	closing sync.Once
	ended   sync.Once // stdin was closed
}

func (p *remote) awaitStart(name string) error {
	for {
		f, err := p.c.frames.next()
		if err != nil {
			return fmt.Errorf("await start: %w", err)
		}
		if f.id != p.id {
			continue
		}
		switch f.kind {
		case typeStarted:
			return nil
		case typeFailed:
			return startError(name, f)
		case typeError:
			return protocolError(f)
		}
	}
}

// startError is the sentence for a command that never ran.
func startError(name string, f frame) error {
	var why failed
	if err := f.decode(&why); err != nil {
		return err
	}
	code, text := claudehub.Internal, why.Message
	if why.Errno != nil {
		switch errno := syscall.Errno(*why.Errno); errno {
		case syscall.ENOENT, syscall.ENOTDIR:
			code, text = claudehub.NotFound, "it is not there"
		case syscall.EACCES, syscall.EPERM, syscall.ENOEXEC:
			code, text = claudehub.Forbidden, "it cannot be executed"
		case syscall.EAGAIN, syscall.ENOMEM:
			code, text = claudehub.TooMany, "the Sandbox has no room for another process"
		}
	}
	cause := fmt.Errorf("%s at %s: %s", why.Kind, why.Stage, why.Message)
	if why.Stage == stageDir {
		return claudehub.WithCause(code, cause, "%q could not be started in the Sandbox: its working directory cannot be used (%s).", name, text)
	}
	return claudehub.WithCause(code, cause, "%q could not be started in the Sandbox: %s.", name, text)
}

func protocolError(f frame) error {
	var why wrong
	if err := f.decode(&why); err != nil {
		return err
	}
	return claudehub.WithCause(claudehub.Internal, fmt.Errorf("%s: %s", why.Kind, why.Message),
		"The Sandbox did not understand the Runner. They may be of different versions: update claude-hub.")
}

// read is the connection's one reader. It ends with the command, the connection, or Close.
func (p *remote) read() {
	code, err := p.follow()
	end := io.EOF
	if err != nil {
		end = err
	}
	p.code, p.err = code, err
	p.stdout.finish(end)
	p.stderr.finish(end)
	p.c.Close()
	close(p.done)
}

func (p *remote) follow() (int, error) {
	for {
		f, err := p.c.frames.next()
		if err != nil {
			return -1, claudehub.WithCause(claudehub.Unavailable, err,
				"The connection to the Sandbox was lost before the program had ended. Try again; if the Sandbox is gone, wake the Session.")
		}
		if f.id != p.id {
			continue
		}
		switch f.kind {
		case typeStdout, typeStderr:
			var d data
			if err := f.decode(&d); err != nil {
				return -1, err
			}
			out := p.stderr
			if f.kind == typeStdout {
				out = p.stdout
			}
			if p.c.shared && out.full() {
				return -1, claudehub.Errorf(claudehub.TooMany,
					"The program's output was not read in time, and others of this Sandbox would have waited. Start it again.")
			}
			out.put(d.Data)
		case typeExited:
			var e exited
			if err := f.decode(&e); err != nil {
				return -1, err
			}
			return e.Code, nil
		case typeFailed, typeError:
			return -1, protocolError(f)
		}
	}
}

func (p *remote) Stdin() io.WriteCloser { return (*remoteStdin)(p) }
func (p *remote) Stdout() io.Reader     { return p.stdout }
func (p *remote) Stderr() io.Reader     { return p.stderr }

func (p *remote) Resize(cols, rows uint16) error {
	if cols == 0 || rows == 0 {
		return claudehub.Errorf(claudehub.Invalid, "A terminal of %d × %d cells cannot be: give at least one column and one row.", cols, rows)
	}
	return p.control(typeResize, resize{Rows: rows, Cols: cols})
}

func (p *remote) Signal(sig int) error { return p.control(typeSignal, signalled{Signal: sig}) }

func (p *remote) control(kind string, payload any) error {
	timer := time.NewTimer(sendTimeout)
	defer timer.Stop()
	return p.c.send(timer.C, p.id, 0, kind, payload)
}

func (p *remote) Wait(ctx context.Context) (int, error) {
	select {
	case <-ctx.Done():
		return -1, context.Cause(ctx)
	case <-p.done:
		return p.code, p.err
	}
}

// Close hangs up, upon which the agent kills the command's group, and waits for our reader to end.
func (p *remote) Close() error {
	p.closing.Do(func() {
		p.c.Close()
		p.stdout.drop()
		p.stderr.drop()
		<-p.done
	})
	return nil
}

// remoteStdin is the command's input.
type remoteStdin remote

func (s *remoteStdin) Write(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		part := b[n:min(len(b), n+chunk)]
		if err := s.c.send(nil, s.id, 0, typeStdin, data{Data: part}); err != nil {
			return n, s.explain(err)
		}
		n += len(part)
	}
	return n, nil
}

// Close ends the input of a command on pipes. A terminal has no end: there it does nothing.
func (s *remoteStdin) Close() error {
	var err error
	s.ended.Do(func() { err = s.c.send(nil, s.id, 0, typeStdin, data{}) })
	if err != nil {
		return s.explain(err)
	}
	return nil
}

// explain turns a broken connection into what a pipe would say when the command has simply ended.
func (s *remoteStdin) explain(err error) error {
	select {
	case <-s.done:
		return errors.Join(io.ErrClosedPipe, err)
	default:
		return err
	}
}
