//go:build linux

package promises_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// recorder stands between Runner and Hub, passes every byte on and keeps it.
type recorder struct {
	net.Listener
	to   string
	stop context.CancelFunc
	all  sync.WaitGroup

	mu   sync.Mutex
	said bytes.Buffer
}

func newRecorder(ctx context.Context, url string) (*recorder, error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	r := &recorder{Listener: ln, to: strings.TrimPrefix(url, "http://"), stop: stop}
	r.all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			r.all.Go(func() { r.pass(ctx, c) })
		}
	})
	return r, nil
}

// Addr is where to call it.
func (r *recorder) Addr() string { return r.Listener.Addr().String() }

// Write keeps what passes. Pieces of several connections mix, each of them whole.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.Write(p)
}

func (r *recorder) bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Clone(r.said.Bytes())
}

func (r *recorder) pass(ctx context.Context, from net.Conn) {
	defer from.Close()
	to, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", r.to)
	if err != nil {
		return // the Hub is away
	}
	defer to.Close()
	stop := context.AfterFunc(ctx, func() { from.Close(); to.Close() })
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		both.Go(func() {
			// A secret that lies across two pieces is found all the same, unless another connection's piece comes between.
			_, _ = io.CopyBuffer(way[0], onlyReader{io.TeeReader(way[1], r)}, make([]byte, 256<<10)) // an end is no news here
			from.Close()
			to.Close()
		})
	}
	both.Wait()
}

type onlyReader struct{ io.Reader }

// Close ends all connections.
func (r *recorder) Close() error {
	r.stop()
	err := r.Listener.Close()
	r.all.Wait()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
