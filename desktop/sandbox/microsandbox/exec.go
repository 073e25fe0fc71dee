package microsandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

// Exec starts a process in a running Sandbox; see sandbox.Backend. Each has a connection of its own.
func (b *Backend) Exec(ctx context.Context, id sandbox.ID, cmd sandbox.Command) (sandbox.Process, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	ctx, cancel := b.within(ctx, execTimeout)
	defer cancel()
	conn, err := b.call(ctx, id)
	if err != nil {
		return nil, unreachable(id, err)
	}
	p, err := conn.Exec(ctx, cmd)
	if err != nil {
		return nil, unreachable(id, err)
	}
	return p, nil
}

// Ping asks the agent of a running Sandbox for a sign of life; see sandbox.Backend.
func (b *Backend) Ping(ctx context.Context, id sandbox.ID) error {
	if err := checkID(id); err != nil {
		return err
	}
	ctx, cancel := b.within(ctx, answerTimeout)
	defer cancel()
	conn, err := b.call(ctx, id)
	if errors.Is(err, errDoorTaken) {
		return b.pingRelay(ctx, id)
	}
	if err != nil {
		return unreachable(id, err)
	}
	return conn.Close() // it has answered, see next
}

// pingRelay is for a process that is not the one the guest calls.
func (b *Backend) pingRelay(ctx context.Context, id sandbox.ID) error {
	switch state, err := b.ask(ctx, id); {
	case err != nil:
		return unreachable(id, err)
	case state == sandbox.Stopped:
		return notThere(id)
	case state == sandbox.Sick:
		return unreachable(id, errors.New("msb's agent does not answer"))
	}
	return nil
}

// Dial connects to a TCP port on the Sandbox's own loopback; see sandbox.Backend.
func (b *Backend) Dial(ctx context.Context, id sandbox.ID, port uint16) (net.Conn, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	ctx, cancel := b.within(ctx, execTimeout)
	defer cancel()
	conn, err := b.call(ctx, id)
	if err != nil {
		return nil, unreachable(id, err)
	}
	c, err := conn.DialTCP(ctx, "localhost", port)
	if err != nil {
		return nil, unreachable(id, err)
	}
	return c, nil
}

// RelayURL is where processes of a running Sandbox reach its Relay; see sandbox.Backend.
//
// A relay's socket is reached through this process, so it has to be asked of the one that runs the Sandbox.
func (b *Backend) RelayURL(_ context.Context, id sandbox.ID) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	rec, err := b.box(id).load()
	switch {
	case err != nil:
		return "", err
	case rec == nil:
		return "", notThere(id)
	case rec.Relay.Socket != "":
		if _, err := b.door(id); err != nil {
			return "", err
		}
		return fmt.Sprintf("http://127.0.0.1:%d", relayAt), nil
	case rec.Relay.Port != 0:
		return fmt.Sprintf("http://%s:%d", hostName, rec.Relay.Port), nil
	}
	return "", claudehub.Errorf(claudehub.NotFound, "The Sandbox %s was started without a relay. Stop it, and start it with one.", id)
}

// unreachable is the sentence for a guest that could not be asked; other errors pass.
func unreachable(id sandbox.ID, err error) error {
	var has *claudehub.Error
	switch {
	case errors.As(err, &has):
		return err
	case errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist):
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox %s does not answer: its VM is just starting, or ending. Try again.", id)
	default:
		return claudehub.WithCause(claudehub.Unavailable, err, "The Sandbox %s does not answer. Stop it, and start it again.", id)
	}
}
