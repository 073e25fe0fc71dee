package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Command is what to start. No shell is involved, and nothing secret belongs in Args: every user of the machine can
// read them.
type Command struct {
	Path string   // absolute, or a name looked up on our own PATH
	Args []string // without the name itself
	Env  []string // nil is our own environment, an empty slice is none
	Dir  string   // "" is our own

	// Input is what Run gives the child to read. Start offers a pipe instead.
	Input []byte
	// Files become descriptor 3 and up in the child. They stay the caller's to close.
	Files []*os.File

	// Grace lies between the interrupt and the kill; zero is two seconds.
	Grace time.Duration
	// Limit bounds each captured output of Run, in bytes; zero is one MiB. What is beyond it is read and dropped.
	Limit int
}

const (
	defaultGrace = 2 * time.Second
	defaultLimit = 1 << 20
)

func (c Command) grace() time.Duration {
	if c.Grace <= 0 {
		return defaultGrace
	}
	return c.Grace
}

func (c Command) limit() int {
	if c.Limit <= 0 {
		return defaultLimit
	}
	return c.Limit
}

// cmd is the exec.Cmd of c. It has no context on purpose: the standard library would kill the child alone, and leave
// the rest of its group running.
func (c Command) cmd() *exec.Cmd {
	cmd := exec.Command(c.Path, c.Args...) //nolint:noctx // ended by group, see Process.watch
	cmd.Env, cmd.Dir, cmd.ExtraFiles = c.Env, c.Dir, c.Files
	return cmd
}

// Look finds a program on a PATH that is not necessarily ours. A name with a slash is taken as it is.
func Look(name, path string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	var denied error
	for dir := range strings.SplitSeq(path, ":") {
		if dir == "" {
			continue // an empty entry means the working directory: a trap, not a place to look
		}
		file := filepath.Join(dir, name)
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode().Perm()&0o111 == 0 {
			denied = &os.PathError{Op: "exec", Path: file, Err: syscall.EACCES}
			continue
		}
		return file, nil
	}
	if denied != nil {
		return "", denied
	}
	return "", &os.PathError{Op: "exec", Path: name, Err: syscall.ENOENT}
}
