package bus

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Bounds of what waits for one subscriber. MaxWaitingBytes holds a screen's snapshot and a while of output.
const (
	MaxWaiting      = 4096
	MaxWaitingBytes = 8 << 20
)

const startTimeout = 10 * time.Second

// Options say where the messages go. A zero field takes its default.
type Options struct {
	// URL of a NATS server that several Hubs share; empty for one inside this process.
	URL string
	// Credentials is the path of a NATS credentials file, for a server with a URL.
	Credentials string
	Log         *slog.Logger

	// Bounds for one subscriber: MaxWaiting and MaxWaitingBytes unless set.
	Waiting, WaitingBytes int
}

// Bus is one connection to the messages.
type Bus struct {
	opt    Options
	log    *slog.Logger
	server *server.Server // nil for an external one
	conn   *nats.Conn

	mu   sync.Mutex
	subs map[*nats.Subscription]*subscriber
}

// Start connects, and starts a server when there is no URL. The caller ends it with Close.
func Start(ctx context.Context, opt Options) (*Bus, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Waiting == 0 {
		opt.Waiting = MaxWaiting
	}
	if opt.WaitingBytes == 0 {
		opt.WaitingBytes = MaxWaitingBytes
	}
	b := &Bus{opt: opt, log: opt.Log, subs: map[*nats.Subscription]*subscriber{}}
	if opt.URL == "" {
		srv, err := startServer(ctx)
		if err != nil {
			return nil, err
		}
		b.server = srv
	}
	conn, err := b.connect()
	if err != nil {
		b.Close()
		return nil, claudehub.WithCause(claudehub.Unavailable, err,
			"The message bus (NATS) does not answer. Check that the server at the configured NATS URL runs and lets this Hub in.")
	}
	b.conn = conn
	return b, nil
}

// Embedded tells whether the server is inside this process, so that no other Hub can be on this bus.
func (b *Bus) Embedded() bool { return b.server != nil }

func startServer(ctx context.Context) (*server.Server, error) {
	srv, err := server.NewServer(&server.Options{
		ServerName: "claude-hub",
		DontListen: true, // in-process connections only
		NoSigs:     true,
		NoLog:      true,
		MaxPayload: MaxPayload,
		// The only client is this process, which reads without ever waiting.
		MaxPending: 64 << 20,
	})
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Internal, err, "The message bus inside the Hub cannot start.")
	}
	srv.Start()
	wait := startTimeout
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(d))
	}
	if !srv.ReadyForConnections(wait) {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, claudehub.Errorf(claudehub.Unavailable, "The message bus inside the Hub did not become ready within %s.", wait)
	}
	return srv, nil
}

func (b *Bus) connect() (*nats.Conn, error) {
	opts := []nats.Option{
		nats.Name("claude-hub"),
		nats.Timeout(startTimeout),
		nats.MaxReconnects(-1),
		nats.ReconnectBufSize(-1), // what cannot be sent now is refused now, not sent later to who knows whom
		nats.PingInterval(15 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(b.onError),
		nats.DisconnectErrHandler(b.onDisconnect),
		nats.ReconnectHandler(func(*nats.Conn) { b.log.Info("message bus is back") }),
	}
	if b.opt.Credentials != "" {
		opts = append(opts, nats.UserCredentials(b.opt.Credentials))
	}
	url := b.opt.URL
	if b.server != nil {
		opts = append(opts, nats.InProcessServer(b.server))
	}
	return nats.Connect(url, opts...)
}

// Publish sends a message to who is subscribed now. Returning nil means it is on its way, not that anyone got it.
func (b *Bus) Publish(subject wire.Subject, kind string, data []byte) error {
	msg, err := pack(kind, data)
	if err != nil {
		return err
	}
	if err := b.conn.Publish(string(subject), msg); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub's message bus is not connected. Try again in a moment.")
	}
	return nil
}

// Flush waits until the server has all that was published and subscribed so far.
func (b *Bus) Flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := b.conn.FlushWithContext(ctx); err != nil {
		return claudehub.WithCause(claudehub.Unavailable, err, "The Hub's message bus is not connected. Try again in a moment.")
	}
	return nil
}

// Close ends all subscriptions, the connection and the server inside this process, and waits for their end.
func (b *Bus) Close() {
	if b.conn != nil {
		b.cutAll()
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}
