//go:build unguarded

package policy

import "claude-hub/internal/claudehub"

// Guarded is false: this program lets Participants drive, so that a test can show that the Runner refuses them.
const Guarded = false

func drives(a claudehub.Access) bool { return a != claudehub.AccessNone }
