package runner

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"claude-hub/desktop/claude"
	"claude-hub/desktop/sandbox"
	"claude-hub/desktop/tmux"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Restarts of Claude or its Sandbox that come without the person's doing are bounded: more than maxRestarts within
// restartSpan are a failure to show, not a thing to go on with.
const (
	maxRestarts = 4
	restartSpan = 5 * time.Minute
)

// setupToken returns the Creator's token, or says how to give it.
func (s *session) setupToken(ctx context.Context) (claude.Token, error) {
	ask, cancel := context.WithTimeout(ctx, tokenLimit)
	defer cancel()
	raw, err := s.on.cfg.SetupToken(ask)
	if err != nil {
		return claude.Token{}, &stepError{step: stepToken, err: err, retry: true}
	}
	if raw == "" {
		return claude.Token{}, &stepError{
			step: stepToken, retry: true,
			err: claudehub.Errorf(claudehub.Unavailable, "This Session needs a setup token, and its Runner has none."),
			fix: "On the Runner's machine run claude setup-token, then claude-hub-runner token set. The Session then starts by itself.",
		}
	}
	token, err := claude.ParseToken(raw)
	if err != nil {
		return claude.Token{}, &stepError{step: stepToken, err: err, retry: true, fix: "On the Runner's machine run claude-hub-runner token set."}
	}
	return token, nil
}

// program brings Claude Code to this machine.
func (s *session) program(ctx context.Context) (string, error) {
	var path string
	err := s.step(ctx, claudehub.PhasePreparing, stepProgram, programLimit, func(ctx context.Context, progress func(string, float64)) error {
		var err error
		path, err = s.on.cfg.Program(ctx, progress)
		return err
	})
	return path, err
}

// seed writes Claude's first configuration, and says so when it had to replace a broken one.
func (s *session) seed(ctx context.Context) error {
	seeded, err := claude.WriteSeed(s.volume("config"), claude.Seed{Workspace: guestWorkspace})
	if err != nil {
		return err
	}
	for _, name := range seeded.Broken {
		s.notice(ctx, fmt.Sprintf("Claude's %s could not be read and was begun afresh; the old one lies beside it.", name))
	}
	return nil
}

// conversation makes the transcript fit to be resumed and tells whether there is one.
func (s *session) conversation(ctx context.Context, d wire.DesiredSession) (resume bool, err error) {
	const most = 3 // what is mended twice and broken again is being written by somebody
	return s.openConversation(ctx, d, most)
}

func (s *session) openConversation(ctx context.Context, d wire.DesiredSession, tries int) (resume bool, err error) {
	if tries == 0 {
		return false, &stepError{
			step: stepHistory, retry: true,
			err: claudehub.Errorf(claudehub.Conflict, "The conversation's file changes while it is opened: something in the Sandbox writes to it."),
			fix: "Put the Session to sleep, which ends what runs in it, and wake it.",
		}
	}
	l := s.facts()
	if l.ClaudeID == "" || d.Conversation > l.Conversation {
		fresh := claudehub.NewClaudeID()
		if l.ClaudeID == "" {
			// The Runner's memory was lost; the conversation on the disk was not.
			if id, ok := s.newestConversation(); ok {
				fresh = id
			}
		}
		err := s.learn(ctx, func(l *Local) { l.ClaudeID, l.Conversation, l.Talked = fresh, d.Conversation, false })
		if err != nil {
			return false, err
		}
		l = s.facts()
	}
	t := s.transcript(l)
	found, err := t.Check()
	if err != nil {
		return false, &stepError{step: stepHistory, err: err, retry: true}
	}
	switch found.State {
	case claude.TranscriptOK:
		said, err := t.HasMessage()
		if err != nil {
			return false, &stepError{step: stepHistory, err: err, retry: true}
		}
		if !said {
			return s.unwrittenTranscript(ctx, t, l)
		}
		return true, nil
	case claude.TranscriptBroken:
		mended, err := t.Repair()
		if err != nil {
			return false, &stepError{step: stepHistory, err: err, retry: true}
		}
		if mended.Lines > 0 {
			s.notice(ctx, fmt.Sprintf("The conversation's file had been cut off in the middle of a line: its last %d bytes were dropped, all before them is there.", mended.Bytes))
		}
		return s.openConversation(ctx, d, tries-1)
	default:
		return s.missingTranscript(ctx, d, t, l, tries-1)
	}
}

// newestConversation finds the conversation that was used last among the Runner's copies, by their files' names.
func (s *session) newestConversation() (string, bool) {
	entries, err := os.ReadDir(s.volume("backup"))
	if err != nil {
		return "", false
	}
	newest, when := "", time.Time{}
	for _, e := range entries {
		id, isCopy := strings.CutSuffix(e.Name(), ".jsonl")
		info, err := e.Info()
		if isCopy && err == nil && claudehub.ValidClaudeID(id) && info.ModTime().After(when) {
			newest, when = id, info.ModTime()
		}
	}
	return newest, newest != ""
}

// unwrittenTranscript begins again where Claude ended before it wrote a message: there is nothing to resume, and its file
// stands in the way of a beginning. A copy that has more is better than that.
func (s *session) unwrittenTranscript(ctx context.Context, t claude.Transcript, l Local) (resume bool, err error) {
	err = t.Clear()
	restored := false
	if err == nil {
		restored, err = t.Restore(s.volume("backup"))
	}
	if err == nil && restored {
		if resume, err = t.HasMessage(); err == nil && !resume {
			err = t.Clear()
		}
	}
	if err != nil {
		return false, &stepError{step: stepHistory, err: err, retry: true}
	}
	if l.Talked && !resume {
		s.notice(ctx, "Claude ended before it had written anything of the conversation, so it begins anew. The workspace is as it was.")
	}
	return resume, nil
}

// Claude writes a Turn's end down a moment after it reported it (seen: within a quarter of a second; in a VM on an emulated
// machine not within three).
const (
	flushTime  = 700 * time.Millisecond
	flushLook  = 250 * time.Millisecond
	flushLimit = 3 * time.Second
	toldLimit  = 20 * time.Second // where Claude said that the Turn ended, so that there must be an answer
)

// turnBegan notes where the Turn's records begin.
func (s *session) turnBegan() {
	s.turnTold, s.turnFrom = false, 0
	if found, err := s.transcript(s.facts()).Check(); err == nil {
		s.turnFrom = found.Keep
	}
}

// awaitWritten waits until Claude has written down the Turn that just ended, before Claude is ended: a finished Turn is
// not to be lost by the person's quick hand.
func (s *session) awaitWritten(ctx context.Context) {
	limit := flushLimit
	if s.turnTold {
		limit = toldLimit
	}
	size := int64(-1)
	for ctx.Err() == nil && time.Since(s.turnEndedAt) < limit {
		t := s.transcript(s.facts())
		found, err := t.Check()
		answered := !s.turnTold
		if err == nil && !answered {
			answered, err = t.Answered(s.turnFrom)
		}
		if err != nil || answered && found.Size == size && time.Since(s.turnEndedAt) > flushTime {
			return
		}
		size = found.Size
		newSignal().wait(ctx, flushLook)
	}
}

// missingTranscript tells a conversation that never began from one that was lost, and brings a lost one back from the
// copy that is kept outside the Sandbox.
func (s *session) missingTranscript(ctx context.Context, d wire.DesiredSession, t claude.Transcript, l Local, tries int) (bool, error) {
	restored, err := t.Restore(s.volume("backup"))
	switch {
	case err != nil:
		return false, &stepError{step: stepHistory, err: err, retry: true}
	case restored:
		s.notice(ctx, "The conversation's file was gone and was restored from the Runner's copy.")
		return s.openConversation(ctx, d, tries)
	case l.Talked:
		return false, &stepError{
			step: stepHistory, choice: "new_conversation", retry: true,
			err: claudehub.Errorf(claudehub.NotFound, "The file with this Session's conversation is gone, and there is no copy of it."),
			fix: "Start a new conversation in this Session: its workspace is as it was. Or put the file back and retry.",
		}
	}
	return false, nil
}

func (s *session) transcript(l Local) claude.Transcript {
	return claude.Transcript{ConfigDir: s.volume("config"), Workspace: guestWorkspace, SessionID: l.ClaudeID}
}

// backUp copies what is new in the transcript to where the Sandbox cannot reach.
func (s *session) backUp(ctx context.Context) {
	l := s.facts()
	if l.ClaudeID == "" {
		return
	}
	if _, err := s.transcript(l).Backup(s.volume("backup")); err != nil && ctx.Err() == nil {
		s.log.Warn("conversation not copied", "error", err)
	}
}

func (s *session) launch(ctx context.Context, d wire.DesiredSession, token claude.Token, baseURL string, resume bool) claude.Launch {
	return claude.Launch{
		Program: guestProgram + "/claude", SessionID: s.facts().ClaudeID, Resume: resume, Model: d.Model, Effort: d.Effort,
		Plugins: []string{guestMod + "/hub-report"}, ConfigDir: guestConfig, SpoolDir: guestReport,
		Token: token, BaseURL: baseURL, Env: s.environ(ctx, d),
	}
}

// startClaude starts a new life: a tmux server with Claude in it, and the seat at it.
func (s *session) startClaude(ctx context.Context, d wire.DesiredSession, token claude.Token, resume bool) error {
	s.readReports(ctx, nil, maxAtEnd)
	s.settle(ctx)
	baseURL, err := s.baseURL(ctx)
	if err != nil {
		return err
	}
	argv, env := s.launch(ctx, d, token, baseURL, resume).Command()
	life := claudehub.NewNonce()
	err = s.step(ctx, claudehub.PhaseStarting, stepTerminal, terminalLimit, func(ctx context.Context, _ func(string, float64)) error {
		// Written down first: a Runner that is killed from here on finds the life, or finds nothing there.
		if err := s.learn(ctx, func(l *Local) { l.Life, l.Model, l.Effort = life, d.Model, d.Effort }); err != nil {
			return err
		}
		cols, rows := s.inputs.wantedSize()
		path, args := tmux.StartCommand(tmux.Start{Socket: socket(life), Cols: cols, Rows: rows, Argv: argv})
		if _, err := s.runInBox(ctx, sandbox.Command{Path: path, Args: args, Env: env}); err != nil {
			return err
		}
		return s.takeSeat(ctx, life)
	})
	if err != nil {
		return err
	}
	return s.awaitPrompt(ctx, s.sitting())
}

// endTime is how long Claude may take to end when it is told to.
const endTime = 5 * time.Second

// endClaude ends Claude, if it still runs, and then its terminal; what else runs in the Sandbox goes on. Claude comes
// first: one that loses its terminal may go on without it, using a whole core (seen).
func (s *session) endClaude(ctx context.Context, seat *seat) error {
	return s.step(ctx, claudehub.PhaseStarting, stepEnd, terminalLimit, func(ctx context.Context, _ func(string, float64)) error {
		s.awaitWritten(ctx)
		pid, err := s.runInBox(ctx, tmuxCommand(seat.life, "list-panes", "-F", "#{pane_pid}"))
		if err != nil {
			return err
		}
		if pid = strings.TrimSpace(pid); onlyDigits(pid) {
			const end = `kill -TERM "$1" || exit 0; n=0; while kill -0 "$1" && [ $n -lt "$2" ]; do sleep 0.1; n=$((n+1)); done; kill -KILL "$1"; exit 0`
			tenths := strconv.Itoa(int(endTime / (100 * time.Millisecond)))
			if _, err := s.runInBox(ctx, sandbox.Command{Path: "sh", Args: []string{"-c", end, "sh", pid, tenths}}); err != nil {
				return err
			}
		}
		s.leaveSeat()
		_, err = s.runInBox(ctx, tmuxCommand(seat.life, "kill-server"))
		if err != nil {
			s.log.Debug("tmux had ended", "error", err)
		}
		return nil
	})
}

func tmuxCommand(life string, args ...string) sandbox.Command {
	return sandbox.Command{Path: "tmux", Args: append([]string{"-S", socket(life)}, args...)}
}

func onlyDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// startLook is the longest pause between a change of the screen of a Claude that starts and a look at it.
const startLook = time.Second

// awaitPrompt waits until Claude can take input.
func (s *session) awaitPrompt(ctx context.Context, seat *seat) error {
	return s.step(ctx, claudehub.PhaseStarting, stepClaude, claudeLimit, func(ctx context.Context, _ func(string, float64)) error {
		last, pause := "", lookSoon/2
		var looked time.Time
		var shown int64
		for {
			select {
			case <-ctx.Done():
				return &stepError{step: stepClaude, err: ctx.Err(), retry: true, detail: last}
			case <-seat.done:
				return &stepError{step: stepClaude, retry: true, detail: last, err: claudehub.Errorf(claudehub.Unavailable, "The terminal ended before Claude Code was ready.")}
			case <-time.After(pause):
			}
			began, changed := time.Now(), seat.output.Load()
			if changed == shown && len(seat.died) == 0 && began.Sub(looked) < lookSeldom {
				continue // the same screen: in a slow Sandbox Claude needs the time that a look takes
			}
			text, err := seat.term.Text(ctx)
			if err != nil {
				continue // the terminal's end, or the deadline, says more
			}
			last, shown, looked = text, changed, began
			// In a narrow terminal nothing on the screen tells idle from a pause; nothing runs yet.
			if screen := claude.ReadScreen(text); screen.Box && screen.Kind != claude.ScreenBusy {
				return nil
			}
			if dead, code, err := seat.term.Dead(ctx); err == nil && dead {
				return &stepError{
					step: stepClaude, retry: true, detail: text,
					err: claudehub.Errorf(claudehub.Unavailable, "Claude Code ended at its start, with exit code %d.", code),
				}
			}
			pause = rest(lookSoon/2, time.Since(began), startLook)
		}
	})
}

// runInBox runs a command in the Sandbox to its end and returns what it printed, the first part of it.
func (s *session) runInBox(ctx context.Context, cmd sandbox.Command) (string, error) {
	cmd.Dir = guestWorkspace
	if isLook(s.wanted()) {
		cmd.Dir = "/"
	}
	p, err := s.on.cfg.Backend.Exec(ctx, s.box(), cmd)
	if err != nil {
		return "", err
	}
	defer func() { _ = p.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = p.Close() })
	defer stop()
	_ = p.Stdin().Close()
	complaint := make(chan string, 1)
	go func() { complaint <- firstPart(p.Stderr()) }() // ends with the process
	said := firstPart(p.Stdout())
	code, err := p.Wait(ctx)
	switch {
	case err != nil:
		return "", err
	case code != 0:
		return "", claudehub.WithCause(claudehub.Unavailable, fmt.Errorf("%s: exit code %d: %s", cmd.Path, code, <-complaint),
			"%s did not start in the Sandbox. Look at the doctor's findings on the Runner's page.", cmd.Path)
	}
	return said, nil
}

// firstPart reads a stream to its end and keeps its first part.
func firstPart(r io.Reader) string {
	b, _ := io.ReadAll(io.LimitReader(r, maxTail)) // what was read before an error counts
	_, _ = io.Copy(io.Discard, r)
	return string(b)
}

// countRestart notes a restart that nobody asked for, and refuses one too many.
func (s *session) countRestart() error {
	s.restarts = slices.DeleteFunc(s.restarts, func(t time.Time) bool { return time.Since(t) > restartSpan })
	s.restarts = append(s.restarts, time.Now())
	if len(s.restarts) <= maxRestarts {
		return nil
	}
	s.restarts = nil
	return &stepError{
		step: stepClaude, retry: true,
		err: claudehub.Errorf(claudehub.Unavailable, "Claude Code or its Sandbox ended %d times within %d minutes.", maxRestarts+1, int(restartSpan.Minutes())),
		fix: "Look at what it said last, below, then retry.",
	}
}
