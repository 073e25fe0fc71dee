package builder

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes is what the disk that holds a folder has left.
func freeBytes(dir string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("look at disk: %w", err)
	}
	return int64(fs.Bavail) * int64(fs.Bsize), nil //nolint:unconvert // it is narrower on a Mac
}
