package agent

import (
	"io"
	"net"
	"sync"
)

// Join copies both ways between two connections until both directions have ended, and passes on the end of each. It
// closes neither, but where one breaks.
func Join(a, b net.Conn) {
	var both sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
			err = half.CloseWrite()
		} else if err == nil {
			err = io.ErrClosedPipe // no half of it can be closed
		}
		if err != nil {
			to.Close()
			from.Close()
		}
	}
	both.Go(func() { one(a, b) })
	both.Go(func() { one(b, a) })
	both.Wait()
}
