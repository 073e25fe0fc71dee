package agent

import (
	"context"
	"fmt"
)

// Usage is what a Sandbox's own system says of itself. Only our Server tells it.
type Usage struct {
	Memory    int64 `cbor:"memory"` // used by processes and the kernel, in bytes; what is free at will does not count
	Processes int   `cbor:"processes"`
}

// Usage asks for it.
func (c *Conn) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	err := c.bounded(ctx, func() error {
		id := c.nextID()
		if err := c.send(nil, id, flagStart, typeUsage, nothing{}); err != nil {
			return err
		}
		for {
			f, err := c.frames.next()
			if err != nil {
				return fmt.Errorf("read usage: %w", err)
			}
			if f.id == id && f.kind == typeUsage {
				return f.decode(&u)
			}
			if f.id == id && f.kind == typeError {
				return protocolError(f)
			}
		}
	})
	return u, err
}
