//go:build !unguarded

package policy

import "claude-hub/internal/claudehub"

// Guarded tells that this program refuses whoever does not drive. One that does not is for the test alone which shows that
// the Runner refuses too; no release is built so.
const Guarded = true

func drives(a claudehub.Access) bool { return a == claudehub.AccessCreator }
