//go:build linux

package bubblewrap

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"syscall"

	"claude-hub/desktop/sandbox"
)

// usage is what a folder takes on the disk. What vanishes meanwhile counts for nothing.
func usage(ctx context.Context, dir string) int64 {
	return measure(ctx, dir, map[[2]uint64]bool{})
}

// measure counts each file once, however many names it has, and not at all when it was seen before.
func measure(ctx context.Context, dir string, seen map[[2]uint64]bool) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return filepath.SkipAll
		}
		if err != nil {
			return nil //nolint:nilerr // see usage
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // see usage
		}
		st, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return nil
		}
		if st.Nlink > 1 && !d.IsDir() {
			key := [2]uint64{st.Dev, st.Ino}
			if seen[key] {
				return nil
			}
			seen[key] = true
		}
		total += st.Blocks * 512
		return nil
	})
	return total
}

// sizes remembers how large Images are: they do not change, but what they share is counted with the oldest that is left.
type sizes struct {
	mu    sync.Mutex
	names []sandbox.Image
	bytes map[sandbox.Image]int64
}

// fill sets Bytes of the Images, the oldest first.
func (s *sizes) fill(ctx context.Context, images []sandbox.ImageInfo, root func(sandbox.Image) string) error {
	names := make([]sandbox.Image, len(images))
	for i, info := range images {
		names[i] = info.Image
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(names, s.names) {
		seen, bytes := map[[2]uint64]bool{}, map[sandbox.Image]int64{}
		for _, n := range names {
			bytes[n] = measure(ctx, root(n), seen)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s.names, s.bytes = names, bytes
	}
	for i := range images {
		images[i].Bytes = s.bytes[images[i].Image]
	}
	return nil
}
