package cli

import (
	"cmp"
	"context"
	"fmt"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// SessionsCmd is about Sessions.
type SessionsCmd struct {
	List      ListCmd      `cmd:"" help:"List your Sessions."`
	New       NewCmd       `cmd:"" help:"Make a Session."`
	Attach    AttachCmd    `cmd:"" help:"Sit in a Session's terminal, in this terminal."`
	Watch     WatchCmd     `cmd:"" help:"See a Session's terminal without typing into it."`
	Sleep     SleepCmd     `cmd:"" help:"Stop a Session's Sandbox and keep everything."`
	Wake      WakeCmd      `cmd:"" help:"Start a Session's Sandbox and resume the conversation."`
	Archive   ArchiveCmd   `cmd:"" help:"Put a Session away. Everything is kept."`
	Unarchive UnarchiveCmd `cmd:"" help:"Take a Session back, asleep."`
	Prompt    PromptCmd    `cmd:"" help:"Send a prompt to a Session."`
}

// Which names a Session.
type Which struct {
	Session string `arg:"" help:"A Session's id, the start of one, or a title." complete:"session"`
}

// open finds the Session at its Hub.
func (w Which) open(ctx context.Context, e *Env, t Target) (*client.Client, client.Session, error) {
	c, err := t.open(e)
	if err != nil {
		return nil, client.Session{}, err
	}
	s, err := session(ctx, c, w.Session)
	if err != nil {
		c.Close()
		return nil, s, err
	}
	return c, s, nil
}

// ListCmd lists Sessions.
type ListCmd struct {
	Target
	Format
	Archived bool `help:"List those that were put away."`
}

// Run lists.
func (l *ListCmd) Run(ctx context.Context, e *Env) error {
	c, err := l.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Sessions(ctx, l.Archived)
	if err != nil {
		return err
	}
	return l.print(e, items[client.Session]{all}, func() error {
		if len(all) == 0 {
			_, err := fmt.Fprintln(e.Err, "No Sessions. Make one with: claude-hub sessions new")
			return err
		}
		names, err := runnerNames(ctx, c)
		if err != nil {
			return err
		}
		rows := [][]string{{"ID", "TITLE", "STATE", "MODEL", "RUNNER", "SINCE", "DOING"}}
		for _, s := range all {
			rows = append(rows, []string{
				string(s.ID), s.Title, state(s), s.Model, cmp.Or(names[s.Runner], string(s.Runner)), ago(s.Observed.Since), doing(s),
			})
		}
		return table(e.Out, 6, rows)
	})
}

// runnerNames are what a list calls Runners by; a token without the scope for them sees their ids instead.
func runnerNames(ctx context.Context, c *client.Client) (map[client.RunnerID]string, error) {
	all, err := c.Runners(ctx)
	names := map[client.RunnerID]string{}
	if claudehub.CodeOf(err) == claudehub.Forbidden {
		return names, nil
	}
	for _, r := range all {
		names[r.ID] = r.Name
	}
	return names, err
}

// state is what a Session is, in the words of the pages.
func state(s client.Session) string {
	o := s.Observed
	if o.Phase != claudehub.PhaseAwake {
		return string(o.Phase)
	}
	switch o.Activity {
	case claudehub.NeedsYou:
		return "needs you"
	case claudehub.Ready, claudehub.Busy:
		return string(o.Activity)
	}
	return "awake"
}

// doing is what a Session does, or why it does nothing.
func doing(s client.Session) string {
	switch o := s.Observed; {
	case o.Failure != nil:
		return o.Failure.Reason
	case o.Step != nil:
		return o.Step.Name
	default:
		return cmp.Or(o.Doing, o.Notice)
	}
}

// NewCmd makes a Session.
type NewCmd struct {
	Target
	Format
	Runner string `help:"Which Runner, by name or id; not needed when you have one." placeholder:"NAME" complete:"runner"`
	Title  string `help:"What the Session is called; made from the prompt when empty." placeholder:"TEXT"`
	Git    string `help:"A repository to clone into the workspace." placeholder:"URL"`
	Branch string `help:"Its branch." placeholder:"NAME"`
	Model  string `help:"A model's alias or name." placeholder:"NAME" complete:"model"`
	Effort string `help:"How hard Claude thinks." placeholder:"LEVEL" complete:"effort"`
	Prompt string `help:"The first prompt; - reads it from standard input." placeholder:"TEXT"`
	Attach bool   `help:"Sit in its terminal at once."`
}

// Run makes it.
func (n *NewCmd) Run(ctx context.Context, e *Env) error {
	if n.Attach && n.JSON {
		return claudehub.Errorf(claudehub.Invalid, "Use either --attach or --json.")
	}
	prompt, err := textOrInput(e, n.Prompt)
	if err != nil {
		return err
	}
	c, err := n.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := runner(ctx, c, n.Runner)
	if err != nil {
		return err
	}
	s, err := c.CreateSession(ctx, client.NewSession{
		Runner: r.ID, Title: n.Title, Source: client.Source{GitURL: n.Git, Branch: n.Branch}, Model: n.Model, Effort: n.Effort, Prompt: prompt,
	})
	if err != nil {
		return err
	}
	if n.Attach {
		return Viewing{}.run(ctx, e, c, s, false)
	}
	return n.say(e, s, "Made")
}

func textOrInput(e *Env, text string) (string, error) {
	if text != "-" {
		return text, nil
	}
	return readAll(e.In, claudehub.MaxPrompt)
}

// say writes a Session that something was done to.
func (f Format) say(e *Env, s client.Session, did string) error {
	return f.print(e, s, func() error {
		_, err := fmt.Fprintf(e.Out, "%s %s (%s).\n", did, s.ID, clean(s.Title))
		return err
	})
}

// Act is an action on a Session.
type Act struct {
	Target
	Format
	Which
}

func (a Act) do(ctx context.Context, e *Env, did string, verb func(*client.Client, context.Context, client.SessionID) (client.Session, error)) error {
	c, s, err := a.Which.open(ctx, e, a.Target)
	if err != nil {
		return err
	}
	defer c.Close()
	if s, err = verb(c, ctx, s.ID); err != nil {
		return err
	}
	return a.say(e, s, did)
}

// SleepCmd puts a Session to sleep.
type SleepCmd struct{ Act }

// Run asks for it.
func (c *SleepCmd) Run(ctx context.Context, e *Env) error {
	return c.do(ctx, e, "Going to sleep:", (*client.Client).Sleep)
}

// WakeCmd wakes a Session.
type WakeCmd struct{ Act }

// Run asks for it.
func (c *WakeCmd) Run(ctx context.Context, e *Env) error {
	return c.do(ctx, e, "Waking:", (*client.Client).Wake)
}

// ArchiveCmd puts a Session away.
type ArchiveCmd struct{ Act }

// Run asks for it.
func (c *ArchiveCmd) Run(ctx context.Context, e *Env) error {
	return c.do(ctx, e, "Archived", (*client.Client).Archive)
}

// UnarchiveCmd takes a Session back.
type UnarchiveCmd struct{ Act }

// Run asks for it.
func (c *UnarchiveCmd) Run(ctx context.Context, e *Env) error {
	return c.do(ctx, e, "Taken back:", (*client.Client).Unarchive)
}
