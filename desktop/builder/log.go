package builder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"claude-hub/internal/claudehub"
)

// Shares of a log. Small steps have room of their own, so that a loud script does not drown them.
const (
	linesShare = 128 << 10
	baseShare  = 8 << 10
	toolsShare = 512 << 10
	smokeShare = 64 << 10
	setupShare = claudehub.MaxBuildLog - linesShare - baseShare - toolsShare - smokeShare - 4<<10 // what says how much is left out
	tailBytes  = 4 << 10
)

// buildLog is one build's log. It only grows.
type buildLog struct {
	mu    sync.Mutex
	file  *os.File
	bytes int64
	lines int64 // of linesShare taken
	err   error // the disk is full, say: the build goes on without a log
	open  *section
}

// newBuildLog goes on with the log that a build has already, since it was cut off by its Runner's end: the Hub has some of it,
// and what comes now must lie beyond that.
func newBuildLog(path string) (*buildLog, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Unavailable, err, "The build's log cannot be written. Free some space on the Runner's machine, and build again.")
	}
	l := &buildLog{file: f}
	if info, err := f.Stat(); err == nil && info.Size() > 0 {
		l.bytes = info.Size()
		l.line("")
		l.line("== The Runner had ended; the build begins again")
	}
	return l, nil
}

func (l *buildLog) close() {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file.Close()
}

func (l *buildLog) size() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

func (l *buildLog) putLocked(p []byte) {
	if l.err != nil || len(p) == 0 {
		return
	}
	n, err := l.file.Write(p)
	l.bytes += int64(n)
	l.err = err
}

// line writes a line of our own, between sections.
func (l *buildLog) line(s string) {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lines += int64(len(s)) + 1; l.lines <= linesShare {
		l.putLocked([]byte(s + "\n"))
	}
}

// section begins the output of a step, with a share of the log, and without the secrets.
func (l *buildLog) section(share int64, secrets []string) io.Writer {
	l.flush()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &section{log: l, half: share / 2}
	s.mask = newMask(secrets, s.put)
	l.open = s
	return s
}

// flush ends the section: the last half of what was too much is written.
func (l *buildLog) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != nil {
		l.open.endLocked()
		l.open = nil
	}
}

// tail is the end of what the last section has, to be shown with a failure.
func (l *buildLog) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		return ""
	}
	return l.open.tailLocked()
}

// section is one step's output: its first half as it comes, then a window over the last.
type section struct {
	log  *buildLog
	mask *mask
	half int64

	written int64  // to the first half
	ring    []byte // of the last half, once there is one
	at      int    // where the ring is written next
	beyond  int64  // bytes that went through the ring
	last    []byte // the end of all, for tail
	midLine bool
}

// Write never fails: a full disk is seen by the build itself.
func (s *section) Write(p []byte) (int, error) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.mask.write(p)
	return len(p), nil
}

// put takes masked bytes.
func (s *section) put(p []byte) {
	if len(p) == 0 {
		return
	}
	s.midLine = p[len(p)-1] != '\n'
	if len(p) >= tailBytes {
		s.last = append(s.last[:0], p[len(p)-tailBytes:]...)
	} else if s.last = append(s.last, p...); len(s.last) > 4*tailBytes {
		s.last = append(s.last[:0], s.last[len(s.last)-tailBytes:]...)
	}
	if room := s.half - s.written; room > 0 {
		n := min(room, int64(len(p)))
		s.log.putLocked(p[:n])
		s.written += n
		p = p[n:]
	}
	if len(p) == 0 {
		return
	}
	if s.ring == nil {
		s.ring = make([]byte, s.half)
	}
	s.beyond += int64(len(p))
	if len(p) > len(s.ring) {
		p = p[len(p)-len(s.ring):]
	}
	for len(p) > 0 {
		n := copy(s.ring[s.at:], p)
		s.at = (s.at + n) % len(s.ring)
		p = p[n:]
	}
}

func (s *section) endLocked() {
	s.mask.end()
	if s.beyond > 0 {
		kept := min(s.beyond, int64(len(s.ring)))
		if out := s.beyond - kept; out > 0 {
			s.log.putLocked(fmt.Appendf(nil, "\n… %d bytes are left out here …\n", out))
		}
		if s.beyond >= int64(len(s.ring)) {
			s.log.putLocked(s.ring[s.at:])
		}
		s.log.putLocked(s.ring[:s.at])
	}
	if s.midLine {
		s.log.putLocked([]byte("\n"))
	}
}

func (s *section) tailLocked() string {
	last := s.last
	if len(last) > tailBytes {
		last = last[len(last)-tailBytes:]
	}
	return strings.ToValidUTF8(string(last), "�")
}

// logPath is where a build's log is.
func (b *Builder) logPath(id claudehub.BuildID) string {
	return filepath.Join(b.o.Dir, "logs", string(id)+".log")
}

// logOf is the log that a build writes to: another's when it joined that.
func (b *Builder) logOf(id claudehub.BuildID) string {
	b.mu.Lock()
	for _, j := range b.running {
		if j.has(id) {
			b.mu.Unlock()
			return b.logPath(j.ID)
		}
	}
	b.mu.Unlock()
	if r, ok := b.state.build(id); ok && r.Log != "" {
		id = r.Log
	}
	return b.logPath(id)
}

// LogSize is how long a build's log is at this moment; 0 for none.
func (b *Builder) LogSize(id claudehub.BuildID) int64 {
	info, err := os.Stat(b.logOf(id))
	if err != nil {
		return 0
	}
	return info.Size()
}

// LogReader reads a build's log from an offset to its end at this moment.
func (b *Builder) LogReader(id claudehub.BuildID, offset int64) (io.ReadCloser, error) {
	if _, err := claudehub.ParseBuildID(string(id)); err != nil {
		return nil, err
	}
	f, err := os.Open(b.logOf(id))
	if err != nil {
		return nil, claudehub.WithCause(claudehub.NotFound, err, "There is no log of that build on this machine.")
	}
	if _, err := f.Seek(offset, io.SeekStart); err != nil || offset < 0 {
		f.Close()
		return nil, claudehub.WithCause(claudehub.Invalid, err, "A log cannot be read from %d.", offset)
	}
	return f, nil
}

func (b *Builder) removeLogs(ids []claudehub.BuildID) {
	for _, id := range ids {
		if err := os.Remove(b.logPath(id)); err != nil && !os.IsNotExist(err) {
			b.o.Log.Warn("an old log could not be removed", "build", id, "error", err)
		}
	}
}
