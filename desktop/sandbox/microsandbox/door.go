package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// door is where the guest of one Sandbox calls. Calls wait behind it until a command needs one. Its other half is the
// guest's way to the relay.
type door struct {
	ln    *net.UnixListener
	relay *relay   // nil without one
	lock  *os.File // the process that has it is the one that is called
	calls chan net.Conn
	done  chan struct{}
	// reviving holds a token while somebody sees to the guest. It is no mutex: each has a deadline of their own.
	reviving chan struct{}
}

// waitingCalls bounds them. A guest keeps fewer; what is over is of guests that are gone.
const waitingCalls = 8

var errDoorTaken = errors.New("another process of the Runner is called by this Sandbox")

// door opens the door of a Sandbox, once.
func (b *Backend) door(id sandbox.ID) (*door, error) {
	b.doorsMu.Lock()
	defer b.doorsMu.Unlock()
	if d, ok := b.doors[id]; ok {
		return d, nil
	}
	box := b.box(id)
	if !box.exists() {
		return nil, notThere(id)
	}
	lock, err := tryLock(box.lock())
	if err != nil {
		return nil, err
	}
	if lock == nil {
		return nil, claudehub.WithCause(claudehub.Conflict, errDoorTaken, "Another program of this Runner works with the Sandbox %s. Stop that one first.", id)
	}
	d := &door{lock: lock, calls: make(chan net.Conn, waitingCalls), done: make(chan struct{}), reviving: make(chan struct{}, 1)}
	if d.ln, err = listen(box.socket()); err != nil {
		lock.Close()
		return nil, err
	}
	rec, err := box.load()
	if err == nil && rec != nil && rec.Relay.Socket != "" {
		d.relay, err = b.newRelay(box.relay(), rec.Relay.Socket)
	}
	if err != nil {
		d.ln.Close()
		lock.Close()
		return nil, err
	}
	go d.accept()
	b.doors[id] = d
	return d, nil
}

// listen makes a socket in the place of one that a process before us left.
func listen(path string) (*net.UnixListener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("open door: %w", err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open door: %w", err)
	}
	return ln, nil
}

// accept lets callers wait. It ends with the listener.
func (d *door) accept() {
	defer close(d.done)
	for {
		raw, err := d.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors for now
			continue
		}
		conn := agent.NewPaced(raw)
		for {
			select {
			case d.calls <- conn:
			default:
				select {
				case old := <-d.calls:
					old.Close()
				default:
				}
				continue
			}
			break
		}
	}
}

func (d *door) empty() {
	for {
		select {
		case conn := <-d.calls:
			conn.Close()
		default:
			return
		}
	}
}

func (d *door) close() error {
	err := d.ln.Close()
	<-d.done
	d.empty()
	if d.relay != nil {
		err = errors.Join(err, d.relay.close())
	}
	return errors.Join(err, d.lock.Close())
}

func (b *Backend) opened(id sandbox.ID) *door {
	b.doorsMu.Lock()
	defer b.doorsMu.Unlock()
	return b.doors[id]
}

func (b *Backend) emptyDoor(id sandbox.ID) {
	if d := b.opened(id); d != nil {
		d.empty()
	}
}

func (b *Backend) closeDoor(id sandbox.ID) error {
	b.doorsMu.Lock()
	d := b.doors[id]
	delete(b.doors, id)
	b.doorsMu.Unlock()
	if d == nil {
		return nil
	}
	return d.close()
}

// call takes a connection to the guest of a running Sandbox: a waiting one that still answers. When none comes, the
// guest is started again: a program in the VM may have killed it.
func (b *Backend) call(ctx context.Context, id sandbox.ID) (*agent.Conn, error) {
	pid, err := b.pid(id)
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, notThere(id)
	}
	d, err := b.door(id)
	if err != nil {
		return nil, err
	}
	for {
		conn, err := d.next(ctx, b.times(time.Second))
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, errNobody) {
			return nil, err
		}
		if err := b.revive(ctx, id, d); err != nil {
			return nil, err
		}
	}
}

var errNobody = errors.New("nobody calls")

// next is the next call that answers, or errNobody when none came for a while.
func (d *door) next(ctx context.Context, patience time.Duration) (*agent.Conn, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timer.C:
			return nil, errNobody
		case raw := <-d.calls:
			conn, err := agent.Greet(ctx, raw)
			if err != nil {
				continue // of a guest that is gone
			}
			// What was sent before the end of a guest can still be read after it.
			if err := conn.Ping(ctx); err != nil {
				conn.Close()
				continue
			}
			return conn, nil
		}
	}
}

// revive makes sure that a guest runs in the VM. It costs little when one does.
func (b *Backend) revive(ctx context.Context, id sandbox.ID, d *door) error {
	select {
	case d.reviving <- struct{}{}:
		defer func() { <-d.reviving }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if len(d.calls) > 0 {
		return nil // somebody else did
	}
	return b.startGuest(ctx, id)
}

// startGuest starts our guest through msb's agent. It prints nothing, since what is printed there is kept in a log.
func (b *Backend) startGuest(ctx context.Context, id sandbox.ID) error {
	rec, err := b.box(id).load()
	if err != nil {
		return err
	}
	args := []string{"-vm", "-port", fmt.Sprint(execPort)}
	if rec != nil && rec.Relay.Socket != "" {
		args = append(args, "-relay", fmt.Sprint(relayPort), "-relay-at", fmt.Sprint(relayAt))
	}
	conn, err := agent.DialRelay(ctx, agentSocket(b.home(), b.vm(id)))
	if err != nil {
		return err
	}
	p, err := conn.Exec(ctx, sandbox.Command{Path: guestPath, Args: args, Dir: "/"})
	if err != nil {
		return err
	}
	defer p.Close()
	_ = p.Stdin().Close() // it reads nothing
	code, err := p.Wait(ctx)
	if err == nil && code != 0 {
		err = fmt.Errorf("it ended with code %d", code)
	}
	if err != nil {
		return fmt.Errorf("start guest: %w", err)
	}
	return nil
}

// greet waits until msb's agent answers and our guest called.
func (b *Backend) greet(ctx context.Context, id sandbox.ID) error {
	ctx, cancel := context.WithTimeout(ctx, b.times(execTimeout))
	defer cancel()
	if err := b.startGuest(ctx, id); err != nil {
		return err
	}
	conn, err := b.call(ctx, id)
	if err != nil {
		return err
	}
	return conn.Close()
}
