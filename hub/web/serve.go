package web

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	headerTime = 10 * time.Second
	idleTime   = 2 * time.Minute
	headerSize = 16 << 10
	drainTime  = 10 * time.Second
)

type stoppingKey struct{}

// untilStop ends with the request or with the server.
func untilStop(ctx context.Context) (context.Context, context.CancelFunc) {
	stopping, ok := ctx.Value(stoppingKey{}).(context.Context)
	if !ok {
		return context.WithCancel(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(stopping, cancel)
	return ctx, func() { unhook(); cancel() }
}

// Serve answers on l until ctx ends. Then it takes nothing new, ends streams and terminals, lets requests finish for a
// while, and returns when every handler has.
func Serve(ctx context.Context, l net.Listener, h http.Handler, cert *tls.Config, log *slog.Logger) error {
	// Requests may finish after ctx ends; streams and terminals would never, and look at stopping.
	base := context.WithValue(context.WithoutCancel(ctx), stoppingKey{}, ctx)
	var handlers sync.WaitGroup
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handlers.Add(1)
			defer handlers.Done()
			h.ServeHTTP(w, r)
		}),
		TLSConfig:         cert,
		ReadHeaderTimeout: headerTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerSize,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() {
		if cert != nil {
			failed <- srv.ServeTLS(l, "", "")
		} else {
			failed <- srv.Serve(l)
		}
	}()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	err := srv.Shutdown(drain)
	if err != nil {
		err = errors.Join(err, srv.Close())
	}
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	handlers.Wait()
	return err
}
