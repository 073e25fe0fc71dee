package builder

import "context"

// Expire does now what Run does in time.
func (b *Builder) Expire(ctx context.Context) error { return b.expire(ctx) }
