package tmux

import (
	"context"
	"strings"
	"time"
	"unicode"

	"claude-hub/internal/claudehub"
)

const (
	maxPaste    = 8 << 20
	pasteChunk  = 128 << 10
	pasteBuffer = "claude-hub-paste"
	// pasteAhead chunks are on their way at a time.
	pasteAhead = 4
)

// Paste pastes text, which is input n of a token as with Keys: all of it or nothing, once, bracketed when the program
// asked for that. Line feeds stay line feeds. Control characters that could end the paste early or act as keys are left
// out. More than 8 MB is refused.
func (t *Terminal) Paste(ctx context.Context, token string, n uint64, text []byte) error {
	if len(text) > maxPaste {
		return claudehub.Errorf(claudehub.TooLarge, "The pasted text is %.1f MB; at most %d MB can be pasted at once. Put it into a file in the Session instead.",
			float64(len(text))/(1<<20), maxPaste>>20)
	}
	return person(t.input(ctx, token, n, func(cmds []Command) ([]Command, error) {
		clean := cleanPaste(string(text))
		if clean == "" {
			return cmds, nil
		}
		if err := t.loadBuffer(ctx, clean); err != nil {
			return nil, err
		}
		return append(cmds, Cmd("paste-buffer", "-p", "-r", "-d", "-b", pasteBuffer, "-t", target)), nil
	}))
}

// loadBuffer fills tmux's buffer piece by piece: a command line cannot hold it all, and nothing else passes through
// control mode. Who calls it holds the keyboard's lock, so the one buffer is enough; what a killed Runner left in it is
// replaced.
func (t *Terminal) loadBuffer(ctx context.Context, text string) error {
	var calls []*Call
	for first := true; len(text) > 0; first = false {
		chunk := text[:min(len(text), pasteChunk)]
		text = text[len(chunk):]
		cmd := Cmd("set-buffer", "-a", "-b", pasteBuffer, "--", chunk)
		if first {
			cmd = Cmd("set-buffer", "-b", pasteBuffer, "--", chunk)
		}
		call, err := t.client.Start(ctx, cmd)
		if err != nil {
			t.dropBuffer(ctx)
			return err
		}
		calls = append(calls, call)
		if len(calls) < pasteAhead && len(text) > 0 {
			continue
		}
		for ; len(calls) > 0 && (len(text) == 0 || len(calls) >= pasteAhead); calls = calls[1:] {
			if _, err := calls[0].Wait(ctx); err != nil {
				t.dropBuffer(ctx)
				return err
			}
		}
	}
	return nil
}

// dropBuffer frees a half-filled buffer. It does not wait and may fail: the next paste replaces the buffer anyhow.
func (t *Terminal) dropBuffer(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = t.client.Start(ctx, Cmd("delete-buffer", "-b", pasteBuffer)) // see above
}

// cleanPaste leaves tabs and line feeds as the only control characters.
func cleanPaste(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.NewReplacer("\x1b[200~", "", "\x1b[201~", "", "\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.Is(unicode.Cc, r) {
			return -1
		}
		return r
	}, s)
}
