package microsandbox

import "golang.org/x/sys/unix"

func setXattr(path string) error {
	return unix.Setxattr(path, "user.claude-hub", []byte{1}, 0)
}
