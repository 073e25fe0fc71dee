package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"claude-hub/desktop/process"
)

// spawn finds the program and the directory of a request.
func (s *Server) spawn(r request) (process.Spawn, string, error) {
	env := overlay(s.Env, r.Env)
	dir := s.Dir
	if r.Cwd != nil && *r.Cwd != "" {
		dir = *r.Cwd
	}
	// Looked at beforehand, since a failed start does not tell a missing directory from a missing program.
	if info, err := os.Stat(dir); err != nil {
		return process.Spawn{}, stageDir, err
	} else if !info.IsDir() {
		return process.Spawn{}, stageDir, &os.PathError{Op: "chdir", Path: dir, Err: syscall.ENOTDIR}
	}
	path, err := process.Look(r.Cmd, lookup(env, "PATH"))
	if err != nil {
		return process.Spawn{}, stageSpawn, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return process.Spawn{Path: path, Args: append([]string{r.Cmd}, r.Args...), Env: env, Dir: dir}, "", nil
}

// overlay puts the entries of over in the place of those of the same name.
func overlay(under, over []string) []string {
	env := slices.Clone(under)
	for _, entry := range over {
		name, _, _ := strings.Cut(entry, "=")
		i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
		if i < 0 {
			env = append(env, entry)
		} else {
			env[i] = entry
		}
	}
	return env
}

func lookup(env []string, name string) string {
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// streams are both ends of what a command reads and writes. On a terminal in and out are one file.
type streams struct {
	in, out, err *os.File
	theirs       []*os.File
}

func terminalStreams(cols, rows uint16) (streams, error) {
	if cols == 0 || rows == 0 {
		cols, rows = 80, 24
	}
	ours, theirs, err := openTerminal(cols, rows)
	if err != nil {
		return streams{}, err
	}
	return streams{in: ours, out: ours, theirs: []*os.File{theirs, theirs, theirs}}, nil
}

func pipeStreams() (streams, error) {
	var pipes [3][2]*os.File
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			for _, p := range pipes[:i] {
				p[0].Close()
				p[1].Close()
			}
			return streams{}, err
		}
		pipes[i] = [2]*os.File{r, w}
	}
	return streams{
		in: pipes[0][1], out: pipes[1][0], err: pipes[2][0],
		theirs: []*os.File{pipes[0][0], pipes[1][1], pipes[2][1]},
	}, nil
}

func (s streams) closeTheirs() {
	for _, f := range s.theirs {
		f.Close() // the same file thrice on a terminal: the later ones fail and do no harm
	}
}

func (s streams) closeOurs() {
	s.in.Close()
	s.out.Close()
	if s.err != nil {
		s.err.Close()
	}
}
