//go:build linux

package bubblewrap

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/sandbox/agent"
	"claude-hub/internal/claudehub"
)

// Ping asks the agent for a sign of life; see sandbox.Backend.
func (b *Backend) Ping(ctx context.Context, id sandbox.ID) error {
	if err := checkID(id); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, b.answer)
	defer cancel()
	conn, err := agent.Dial(ctx, b.box(id).socket())
	if err != nil {
		return unreachable(id, err)
	}
	defer conn.Close()
	if err := conn.Ping(ctx); err != nil {
		return unreachable(id, err)
	}
	return nil
}

// Dial connects to a port; see sandbox.Backend. A Sandbox's loopback is the machine's: they share the network. Development
// servers listen on either address of "localhost".
func (b *Backend) Dial(ctx context.Context, id sandbox.ID, port uint16) (net.Conn, error) {
	if err := b.Ping(ctx, id); err != nil {
		return nil, err
	}
	ctx, cancel := within(ctx, execTimeout)
	defer cancel()
	var d net.Dialer
	var errs []error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, claudehub.WithCause(claudehub.Unavailable, errors.Join(errs...), "Nobody listens on port %d in the Sandbox. Start the server there first.", port)
}

// RelayURL is where the relay is; see sandbox.Backend. It is the machine's loopback, which the Sandbox shares.
func (b *Backend) RelayURL(_ context.Context, id sandbox.ID) (string, error) {
	if err := checkID(id); err != nil {
		return "", err
	}
	o, err := b.box(id).origin()
	if err != nil {
		return "", err
	}
	if o == nil || o.Relay == 0 {
		return "", claudehub.Errorf(claudehub.NotFound, "The Sandbox %s has no relay.", id)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", o.Relay), nil
}
