package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"claude-hub/hub"
)

type serveCmd struct{ hub.Config }

// Garbage is collected when the heap has grown by half, not by all of itself: an idle Hub is small, and what it
// allocates under load is short-lived.
const garbagePercent = 50

// Run serves until ctx ends.
func (s *serveCmd) Run(ctx context.Context, out output, logs logTo) error {
	level, err := s.Level()
	if err != nil {
		return err
	}
	debug.SetGCPercent(garbagePercent)
	s.Version = version
	s.ClientSecret = secretFromEnvironment()
	log := newLog(logs, level)
	h, err := hub.New(ctx, s.Config, log)
	if err != nil {
		return err
	}
	ln, err := hub.Listen(ctx, s.Listen)
	if err != nil {
		h.Close()
		return err
	}
	debug.FreeOSMemory() // what building took, and serving does not need
	lines, err := h.Welcome(ctx, ln.Addr())
	if err != nil {
		h.Close()
		ln.Close()
		return err
	}
	// The listener is open: who follows the link at once waits, and is not refused.
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
	return h.Run(ctx, ln)
}

// secretFromEnvironment takes the client secret out of the environment, so that no process that is started from here
// has it.
func secretFromEnvironment() hub.Secret {
	text := strings.TrimSpace(os.Getenv(hub.SecretEnv))
	_ = os.Unsetenv(hub.SecretEnv) // of a name that is fine
	return hub.NewSecret(text)
}
