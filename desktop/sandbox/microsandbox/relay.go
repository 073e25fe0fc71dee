package microsandbox

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"claude-hub/desktop/sandbox/agent"
)

// relay passes the connections of one Sandbox's guest on to the socket where the Runner's relay listens. msb could lead
// the guest to that socket itself, were its vsock a good stream; see agent.Paced.
type relay struct {
	ln     *net.UnixListener
	target string
	ctx    context.Context //nolint:containedctx // it is the relay's own life, from newRelay to close
	end    context.CancelFunc
	all    sync.WaitGroup
	log    func(msg string, args ...any)
}

// maxRelayed bounds the connections of one Sandbox.
const maxRelayed = 256

func (b *Backend) newRelay(path, target string) (*relay, error) {
	ln, err := listen(path)
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	r := &relay{ln: ln, target: target, ctx: ctx, end: end, log: b.log.Warn}
	r.all.Go(r.accept)
	return r, nil
}

// accept ends with the listener.
func (r *relay) accept() {
	slots := make(chan struct{}, maxRelayed)
	for {
		raw, err := r.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors for now
			continue
		}
		select {
		case slots <- struct{}{}:
		case <-r.ctx.Done():
			raw.Close()
			return
		}
		r.all.Go(func() {
			defer func() { <-slots }()
			r.pass(agent.NewPaced(raw))
		})
	}
}

// pass serves one connection. When nobody listens at the target it just ends, as a connection to a closed port would.
func (r *relay) pass(guest net.Conn) {
	defer guest.Close()
	var d net.Dialer
	ctx, cancel := context.WithTimeout(r.ctx, execTimeout)
	defer cancel()
	target, err := d.DialContext(ctx, "unix", r.target)
	if err != nil {
		r.log("a Sandbox's connection to the relay failed", "error", err)
		return
	}
	defer target.Close()
	defer context.AfterFunc(r.ctx, func() { guest.Close(); target.Close() })()
	agent.Join(guest, target)
}

func (r *relay) close() error {
	r.end()
	err := r.ln.Close()
	r.all.Wait()
	return err
}
