// Package claudetest gives tests the real Claude Code.
package claudetest

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"claude-hub/desktop/claude"
)

// Program returns the path of Claude Code: what CLAUDE_HUB_TEST_CLAUDE names, or else the pinned version, which is
// fetched once for all tests of this user.
func Program(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("CLAUDE_HUB_TEST_CLAUDE"); path != "" {
		return path
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	platform, err := claude.HostPlatform()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	store := claude.NewStore(claude.Options{Dir: filepath.Join(cache, "claude-hub-test")})
	p, err := store.Program(ctx, platform, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p.Path
}
