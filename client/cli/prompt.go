package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// PromptCmd sends a prompt.
type PromptCmd struct {
	Target
	Format
	Which
	Text []string `arg:"" optional:"" help:"The prompt; - reads it from standard input, as does nothing when that is no terminal."`
	Wait bool     `help:"Wait until Claude is done, and print its last answer."`
}

// Answered is what prompt --wait --json prints: the prompt in its last state, and what Claude said last.
type Answered struct {
	Prompt client.Prompt `json:"prompt"`
	Answer string        `json:"answer"`
}

// Run sends it.
func (p *PromptCmd) Run(ctx context.Context, e *Env) error {
	text := strings.Join(p.Text, " ")
	if _, tty := terminal(e.In); text == "" && !tty {
		text = "-"
	}
	text, err := textOrInput(e, text)
	if err != nil {
		return err
	}
	if err := claudehub.ValidPrompt(text); err != nil {
		return err
	}
	c, s, err := p.Which.open(ctx, e, p.Target)
	if err != nil {
		return err
	}
	defer c.Close()
	sent, err := c.AddPrompt(ctx, s.ID, text, "")
	if err != nil {
		return err
	}
	if !p.Wait {
		return p.print(e, sent, func() error {
			_, err := fmt.Fprintf(e.Out, "Queued %s for %s (%s).\n", sent.ID, s.ID, clean(s.Title))
			return err
		})
	}
	return p.answer(ctx, e, c, sent)
}

// answer waits for the end of the prompt's Turn. One that did not come to it is an error, printed or not.
func (p *PromptCmd) answer(ctx context.Context, e *Env, c *client.Client, sent client.Prompt) error {
	last, err := awaitPrompt(ctx, c, sent)
	if err != nil {
		return err
	}
	out := Answered{Prompt: last}
	if last.State == claudehub.PromptDone {
		if out.Answer, err = lastAnswer(ctx, c, sent); err != nil {
			return err
		}
	}
	err = p.print(e, out, func() error {
		if last.State != claudehub.PromptDone {
			return nil // the error says it
		}
		_, err := fmt.Fprintln(e.Out, clean(out.Answer))
		return err
	})
	if err == nil && last.State != claudehub.PromptDone {
		err = claudehub.Errorf(claudehub.Conflict, "The prompt is %s: %s", last.State, cmp.Or(clean(last.Why), "nobody said why."))
	}
	return err
}

var errSettled = errors.New("settled")

// awaitPrompt waits until a prompt's state is final. Whatever is missed while the stream is down shows at its return.
func awaitPrompt(ctx context.Context, c *client.Client, p client.Prompt) (client.Prompt, error) {
	err := c.Events(ctx, func(ev client.Event) error {
		switch {
		case ev.Prompt != nil && ev.Prompt.ID == p.ID:
			p = *ev.Prompt
		case ev.Ready:
			all, err := c.Prompts(ctx, p.Session)
			if claudehub.CodeOf(err) == claudehub.Unavailable {
				return nil // another stream, another try
			}
			if err != nil {
				return err
			}
			for _, now := range all {
				if now.ID == p.ID {
					p = now
				}
			}
		}
		if p.State.Final() {
			return errSettled
		}
		return nil
	})
	if errors.Is(err, errSettled) {
		err = nil
	}
	return p, err
}

// lastAnswer is what Claude said at the end of the Turn, as far as the Hub keeps it: one line.
func lastAnswer(ctx context.Context, c *client.Client, p client.Prompt) (string, error) {
	all, err := c.History(ctx, p.Session)
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Kind == "turn_ended" && all[i].Text != "" {
			return all[i].Text, err
		}
	}
	return "", err
}
