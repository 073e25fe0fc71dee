package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"claude-hub/desktop/sandbox/agent"
)

// hostCID is where a VM finds its host.
const hostCID = 2

// vsockConn makes a connection of a file. Closing ends reads and writes.
type vsockConn struct {
	*os.File
	port vsockAddr
}

type vsockAddr uint32

func (vsockAddr) Network() string  { return "vsock" }
func (a vsockAddr) String() string { return fmt.Sprintf("vsock:%d", uint32(a)) }

func (c *vsockConn) LocalAddr() net.Addr  { return c.port }
func (c *vsockConn) RemoteAddr() net.Addr { return c.port }

// dialHost connects to a port of the host. The kernel gives up by itself after two seconds.
func dialHost(_ context.Context, port uint32) (net.Conn, error) {
	fd, err := unix.Socket(unix.AF_VSOCK, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make vsock: %w", err)
	}
	for {
		err = unix.Connect(fd, &unix.SockaddrVM{CID: hostCID, Port: port})
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect to the host: %w", err)
	}
	return agent.NewPaced(&vsockConn{os.NewFile(uintptr(fd), "vsock"), vsockAddr(port)}), nil
}

// maxForwards bounds the connections to the relay.
const maxForwards = 256

// forward gives everyone who connects to ln a connection to the host's port.
func forward(ctx context.Context, ln net.Listener, port uint32) {
	defer context.AfterFunc(ctx, func() { ln.Close() })()
	slots := make(chan struct{}, maxForwards)
	for {
		conn, err := ln.Accept()
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors for now
			continue
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			defer conn.Close()
			host, err := dialHost(ctx, port)
			if err != nil {
				return // a connection that ends at once says it
			}
			defer host.Close()
			agent.Join(conn, host)
		}()
	}
}
