package tmux

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"claude-hub/internal/claudehub"
)

const (
	maxKeys      = 64 << 10
	maxTokens    = 16
	keysPerChunk = 1024
	// appliedPrefix begins the hidden variables of the tmux session in which tmux remembers what was applied: "rank:n" for
	// a token. Variables, not options: setting an option makes tmux redraw. Hidden ones are in no process's environment.
	appliedPrefix = "CLAUDE_HUB_APPLIED_"
)

var validToken = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)

// keyboard orders input and knows what of it was applied. One Terminal at a time may write to a pane: it reads what tmux
// remembers once and then trusts itself.
type keyboard struct {
	lock chan struct{} // held while input is put into the order of the commands; lock before mu

	mu     sync.Mutex
	tokens map[string]*applied // nil until read
}

// applied is what is known of a token's inputs, which are numbered from 1.
type applied struct {
	rank uint64 // of last use, for forgetting the oldest
	sent uint64 // put into a command line
	done uint64 // known to be applied
	last *Call  // of sent
}

// Keys types data, which is input n of a token. Inputs of a token are applied in order, each once: one that was applied
// before succeeds without being typed again, and one that comes too early is refused (Conflict).
func (t *Terminal) Keys(ctx context.Context, token string, n uint64, data []byte) error {
	if len(data) > maxKeys {
		return claudehub.Errorf(claudehub.TooLarge, "More than %d KB of keys at once. Paste long text instead.", maxKeys>>10)
	}
	return person(t.input(ctx, token, n, func(cmds []Command) ([]Command, error) {
		for len(data) > 0 {
			chunk := data[:min(len(data), keysPerChunk)]
			data = data[len(chunk):]
			cmds = append(cmds, sendKeys(chunk))
		}
		return cmds, nil
	}))
}

func sendKeys(data []byte) Command {
	const digits = "0123456789abcdef"
	hex := make([]byte, 0, 2*len(data))
	for _, c := range data {
		hex = append(hex, digits[c>>4], digits[c&15])
	}
	all := string(hex)
	cmd := make(Command, 0, len(data)+4)
	cmd = append(cmd, "send-keys", "-t", target, "-H")
	for i := 0; i < len(all); i += 2 {
		cmd = append(cmd, all[i:i+2])
	}
	return cmd
}

// Applied tells the highest n of a token that was applied, 0 for none.
func (t *Terminal) Applied(ctx context.Context, token string) (uint64, error) {
	if err := t.lockKeys(ctx, token); err != nil {
		return 0, person(err)
	}
	var sent uint64
	var last *Call
	t.keys.mu.Lock()
	if a := t.keys.tokens[token]; a != nil {
		sent, last = a.done, a.last
		if a.sent > a.done {
			sent = a.sent
		}
	}
	t.keys.mu.Unlock()
	<-t.keys.lock
	if last != nil {
		if _, err := last.Wait(ctx); err != nil {
			return 0, person(err)
		}
	}
	return sent, nil
}

// input runs what add makes as input n of token, in one command line with the note that it was applied.
func (t *Terminal) input(ctx context.Context, token string, n uint64, add func([]Command) ([]Command, error)) error {
	if err := t.lockKeys(ctx, token); err != nil {
		return err
	}
	call, err := t.enter(ctx, token, n, add)
	<-t.keys.lock
	if err != nil || call == nil {
		return err
	}
	r, err := call.Wait(ctx)
	if err != nil {
		return err
	}
	if last := r.Blocks[len(r.Blocks)-1].Lines; len(last) > 0 && string(last[0]) == "1" {
		return claudehub.Errorf(claudehub.Conflict, "The program in this terminal has ended, so nothing reads the input. Restart it first.")
	}
	return nil
}

// enter sends the input, or finds that it is not needed (nil, or the call under way).
func (t *Terminal) enter(ctx context.Context, token string, n uint64, add func([]Command) ([]Command, error)) (*Call, error) {
	k := &t.keys
	k.mu.Lock()
	if k.tokens == nil { // an input before failed just now
		k.mu.Unlock()
		return nil, errUnsure
	}
	a := k.tokens[token]
	if a == nil {
		a = &applied{}
	}
	done, sent, last := a.done, a.sent, a.last
	forget, rank := k.rank(token, a)
	k.mu.Unlock()
	switch {
	case n == 0 || n > sent+1:
		return nil, claudehub.Errorf(claudehub.Conflict, "Input %d of this terminal came after input %d. Reload the terminal.", n, sent)
	case n <= done:
		return nil, nil
	case n <= sent:
		return last, nil
	}
	// The note comes after the input: tmux leaves it out when the input fails, and nothing comes between them.
	cmds, err := add(make([]Command, 0, 4))
	if err != nil {
		return nil, err
	}
	note := strconv.FormatUint(rank, 10) + ":" + strconv.FormatUint(n, 10)
	cmds = append(cmds, Cmd("set-environment", "-h", "-t", "="+SessionName, appliedPrefix+token, note))
	if forget != "" {
		cmds = append(cmds, Cmd("set-environment", "-u", "-t", "="+SessionName, appliedPrefix+forget))
	}
	cmds = append(cmds, Cmd("display-message", "-p", "-t", target, "#{pane_dead}"))
	call, err := t.client.start(ctx, func(_ Reply, err error) { k.answered(a, n, err) }, cmds...)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	a.sent, a.last, a.rank = n, call, rank
	if k.tokens != nil {
		k.tokens[token] = a
		delete(k.tokens, forget)
	}
	return call, nil
}

// errUnsure is an answer to input that came right behind one that failed.
var errUnsure = claudehub.Errorf(claudehub.Unavailable, "The Session's terminal refused the input before this one. Try again.")

// rank gives the rank for a use of a, and the token to forget when there are too many. k.mu is held.
func (k *keyboard) rank(token string, a *applied) (forget string, rank uint64) {
	var oldest *applied
	var highest uint64
	for name, other := range k.tokens {
		if name == token {
			continue
		}
		highest = max(highest, other.rank)
		if oldest == nil || other.rank < oldest.rank {
			oldest, forget = other, name
		}
	}
	if _, known := k.tokens[token]; known || len(k.tokens) < maxTokens {
		forget = ""
	}
	if a.rank > highest {
		return forget, a.rank
	}
	return forget, highest + 1
}

// answered notes tmux's answer, on the reader's goroutine.
func (k *keyboard) answered(a *applied, n uint64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		a.done = max(a.done, n)
		return
	}
	// What was applied is not known any more: ask tmux before the next input.
	k.tokens = nil
}

// lockKeys takes the lock and makes sure that what was applied is known.
func (t *Terminal) lockKeys(ctx context.Context, token string) error {
	if !validToken.MatchString(token) {
		return claudehub.Errorf(claudehub.Invalid, "The terminal's token is not valid. Reload the terminal.")
	}
	if err := t.waitReady(ctx); err != nil {
		return err
	}
	select {
	case t.keys.lock <- struct{}{}:
	case <-t.ended:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	t.keys.mu.Lock()
	known := t.keys.tokens != nil
	t.keys.mu.Unlock()
	if known {
		return nil
	}
	r, err := t.client.Do(ctx, Cmd("show-environment", "-h", "-t", "="+SessionName))
	if err != nil {
		<-t.keys.lock
		return err
	}
	t.keys.mu.Lock()
	t.keys.tokens = parseApplied(r.Blocks[0].Lines)
	t.keys.mu.Unlock()
	return nil
}

func parseApplied(lines [][]byte) map[string]*applied {
	tokens := map[string]*applied{}
	for _, line := range lines {
		name, value, _ := strings.Cut(string(line), "=")
		token, ours := strings.CutPrefix(name, appliedPrefix)
		rank, n, ok := strings.Cut(value, ":")
		r, err1 := strconv.ParseUint(rank, 10, 64)
		done, err2 := strconv.ParseUint(n, 10, 64)
		if ours && ok && err1 == nil && err2 == nil && validToken.MatchString(token) && len(tokens) < 2*maxTokens {
			tokens[token] = &applied{rank: r, sent: done, done: done}
		}
	}
	return tokens
}
