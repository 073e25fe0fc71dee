package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"syscall"

	"claude-hub/internal/claudehub"
)

// Transcript is the file in which Claude Code keeps a conversation: one JSON object a line, appended.
type Transcript struct {
	ConfigDir string // the host's path of the folder that Claude Code sees as CLAUDE_CONFIG_DIR
	Workspace string // the working directory, as the Sandbox sees it
	SessionID string // Claude Code's name of the conversation, a UUID
}

// TranscriptState is what resuming can expect.
type TranscriptState string

// The states.
const (
	TranscriptOK      TranscriptState = "ok"
	TranscriptMissing TranscriptState = "missing" // not there, or nothing in it: Claude Code cannot resume
	// TranscriptBroken has a tail that is not whole, or lacks the end of its last line. Resuming as it is would lose
	// the next record, too.
	TranscriptBroken TranscriptState = "broken"
)

// Condition is what Check found.
type Condition struct {
	State TranscriptState
	Size  int64
	// Keep is how many bytes are whole lines; what follows is the broken tail.
	Keep int64
	// Unended tells that the last whole line lacks nothing but its line break.
	Unended bool
}

// Mended says what Repair did.
type Mended struct {
	Changed bool
	Bytes   int64  // dropped
	Lines   int    // dropped, the half ones counted
	Kept    string // the file beside the transcript that holds what was dropped; "" when nothing was
}

const (
	maxTranscript = 1 << 30
	// maxTail is how far back from the end a whole line is looked for. What goes to the API is at most half of it.
	maxTail = 64 << 20
)

var (
	uuidPattern = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	notPlain    = regexp.MustCompile(`[^a-zA-Z0-9]`)
)

// name is the transcript's path in the configuration folder. Claude Code names a project's folder after its path.
func (t Transcript) name() (string, error) {
	if !uuidPattern.MatchString(t.SessionID) {
		return "", claudehub.Errorf(claudehub.Invalid, "%q is not the id of a conversation.", t.SessionID)
	}
	return path.Join("projects", notPlain.ReplaceAllString(t.Workspace, "-"), t.SessionID+".jsonl"), nil
}

// reading opens the transcript and hands it on. One that is absent is not handed on, and no error.
func (t Transcript) reading(do func(f folder, name string, file *os.File) error) error {
	name, err := t.name()
	if err != nil {
		return err
	}
	f, err := openFolder(t.ConfigDir)
	if err != nil {
		return transcriptError(err)
	}
	defer f.close()
	file, err := f.open(name)
	if absent(err) {
		return nil
	}
	if err != nil {
		return transcriptError(err)
	}
	defer file.Close()
	return transcriptError(do(f, name, file))
}

// Check looks at the transcript's end. It changes nothing.
func (t Transcript) Check() (Condition, error) {
	c := Condition{State: TranscriptMissing}
	err := t.reading(func(_ folder, _ string, file *os.File) (err error) {
		c, _, err = condition(file)
		return err
	})
	return c, err
}

// maxHead is how long a line may be that is looked into; a longer one is a message.
const maxHead = 1 << 20

// HasMessage tells whether anybody said anything. Claude Code writes a few lines of its own first; a file with those alone
// it neither resumes ("No conversation found") nor begins anew ("already in use").
func (t Transcript) HasMessage() (said bool, err error) {
	err = t.reading(func(_ folder, _ string, file *os.File) (err error) {
		said, err = hasMessage(file)
		return err
	})
	return said, err
}

func hasMessage(file *os.File) (bool, error) {
	lines := bufio.NewReaderSize(io.NewSectionReader(file, 0, maxTranscript), maxHead)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return true, nil
		}
		var record struct{ Type string }
		if json.Unmarshal(line, &record) == nil && (record.Type == "user" || record.Type == "assistant") {
			return true, nil
		}
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// Answered tells whether, beyond the first from bytes, there are messages, and the last of them is Claude's. Half lines are
// not counted.
func (t Transcript) Answered(from int64) (answered bool, err error) {
	err = t.reading(func(_ folder, _ string, file *os.File) error {
		lines := bufio.NewReaderSize(io.NewSectionReader(file, from, maxTranscript), maxHead)
		for {
			line, err := lines.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull): // what a tool gave: Claude's own words are never that long
				continue
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			var record struct{ Type string }
			if json.Unmarshal(line, &record) == nil && (record.Type == "user" || record.Type == "assistant") {
				answered = record.Type == "assistant"
			}
		}
	})
	return answered, err
}

// Clear sets a file aside that has no message in it, so that its id can begin a conversation. It leaves any other alone.
func (t Transcript) Clear() error {
	return t.reading(func(f folder, name string, file *os.File) error {
		said, err := hasMessage(file)
		if err != nil || said {
			return err
		}
		return f.setAside(name, "unused")
	})
}

// absent tells that there is no transcript: nothing there, or something that is no file.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotFile) || errors.Is(err, syscall.ENOTDIR)
}

// condition also returns the broken tail, as far as it was read.
func condition(file *os.File) (Condition, []byte, error) {
	info, err := file.Stat()
	if err != nil {
		return Condition{}, nil, err
	}
	size := info.Size()
	if size > maxTranscript {
		return Condition{}, nil, fmt.Errorf("transcript of %d bytes: %w", size, errTooLarge)
	}
	for window := int64(64 << 10); ; window *= 8 {
		from := max(size-min(window, maxTail), 0)
		b := make([]byte, size-from)
		if _, err := io.ReadFull(io.NewSectionReader(file, from, size-from), b); err != nil {
			return Condition{}, nil, err
		}
		keep, unended, found := wholeLines(b, from == 0)
		switch {
		case found:
			return conclude(size, from+keep, unended), b[keep:], nil
		case from == 0: // not one whole line
			return Condition{State: TranscriptMissing, Size: size}, b, nil
		case window >= maxTail:
			return Condition{}, nil, fmt.Errorf("no whole line in the last %d bytes: %w", len(b), errTooLarge)
		}
	}
}

func conclude(size, keep int64, unended bool) Condition {
	c := Condition{State: TranscriptOK, Size: size, Keep: keep, Unended: unended}
	if keep != size || unended {
		c.State = TranscriptBroken
	}
	return c
}

// wholeLines finds the last line of b that is a JSON object, and returns where it ends, with its line break. Bytes
// before the first line break are skipped unless b is the file from its start.
func wholeLines(b []byte, fromStart bool) (keep int64, unended, found bool) {
	for end := len(b); end > 0; {
		start := bytes.LastIndexByte(b[:end], '\n') + 1
		if start == 0 && !fromStart {
			return 0, false, false
		}
		line := bytes.TrimSpace(b[start:end])
		if len(line) > 0 && line[0] == '{' && json.Valid(line) {
			if end == len(b) {
				return int64(end), true, true
			}
			return int64(end) + 1, false, true
		}
		end = start - 1
	}
	return 0, false, false
}

// Repair drops the broken tail and ends the last line, so that the conversation can be resumed. It never drops a line
// that is whole. What it drops is kept beside the transcript. On a transcript that is whole, or missing, it does
// nothing.
func (t Transcript) Repair() (m Mended, err error) {
	err = t.reading(func(f folder, name string, file *os.File) error {
		c, tail, err := condition(file)
		if err != nil || c.State != TranscriptBroken {
			return err
		}
		m, err = f.mend(name, file, c, tail)
		return err
	})
	return m, err
}

func (f folder) mend(name string, read *os.File, c Condition, tail []byte) (Mended, error) {
	m := Mended{Changed: true, Bytes: c.Size - c.Keep, Lines: lines(tail)}
	if len(bytes.TrimSpace(tail)) > 0 {
		m.Kept = freeName(f, name+".dropped")
		if err := f.write(m.Kept, tail); err != nil {
			return Mended{}, fmt.Errorf("keep what is dropped: %w", err)
		}
	}
	w, err := f.root.OpenFile(name, os.O_WRONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return Mended{}, err
	}
	defer w.Close()
	if err := sameFile(read, w); err != nil {
		return Mended{}, err
	}
	if err := w.Truncate(c.Keep); err != nil {
		return Mended{}, err
	}
	if c.Unended {
		if _, err := w.WriteAt([]byte("\n"), c.Keep); err != nil {
			return Mended{}, err
		}
	}
	return m, w.Sync()
}

// sameFile refuses a file that was exchanged since it was looked at.
func sameFile(a, b *os.File) error {
	x, err := a.Stat()
	if err != nil {
		return err
	}
	y, err := b.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(x, y) {
		return fmt.Errorf("%s: %w", a.Name(), errNotFile)
	}
	return nil
}

func lines(b []byte) int {
	b = bytes.TrimSpace(b)
	if len(b) == 0 {
		return 0
	}
	return bytes.Count(b, []byte("\n")) + 1
}

// freeName returns a name that is not taken, or, after many, the last one tried, which is then replaced.
func freeName(f folder, base string) string {
	name := base
	for i := 1; i < 100; i++ {
		name = fmt.Sprintf("%s-%d", base, i)
		if _, err := f.root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return name
}

func transcriptError(err error) error {
	var e *claudehub.Error
	switch {
	case err == nil || errors.As(err, &e):
		return err
	case errors.Is(err, errTooLarge):
		return claudehub.WithCause(claudehub.TooLarge, err, "The conversation's transcript is too large to be looked through. Start a new conversation, or shorten the file by hand.")
	case errors.Is(err, syscall.ENOSPC):
		return claudehub.WithCause(claudehub.Unavailable, err, "The disk is full, so the conversation's transcript could not be written. Free some space and try again.")
	}
	return claudehub.WithCause(claudehub.Unavailable, err, "The conversation's transcript could not be read or written. The log has the details.")
}
