package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

// TokensCmd is about API tokens.
type TokensCmd struct {
	List   TokensListCmd   `cmd:"" help:"List your API tokens."`
	New    TokensNewCmd    `cmd:"" help:"Make an API token. It is shown once."`
	Revoke TokensRevokeCmd `cmd:"" help:"End an API token at once."`
}

// TokensListCmd lists tokens.
type TokensListCmd struct {
	Target
	Format
}

// Run lists.
func (t *TokensListCmd) Run(ctx context.Context, e *Env) error {
	c, err := t.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Tokens(ctx)
	if err != nil {
		return inBrowser(c, err)
	}
	return t.print(e, items[client.Token]{all}, func() error {
		if len(all) == 0 {
			_, err := fmt.Fprintln(e.Err, "No API tokens.")
			return err
		}
		rows := [][]string{{"ID", "NAME", "SCOPES", "CREATED", "LAST USED", "EXPIRES"}}
		for _, k := range all {
			rows = append(rows, []string{k.ID, k.Name, scopes(k.Scopes), ago(k.Created), agoOr(k.LastUsed, "never"), date(k.Expires)})
		}
		return table(e.Out, 2, rows)
	})
}

// inBrowser: a token makes no tokens, and lists and ends them only with the scopes for it.
func inBrowser(c *client.Client, err error) error {
	if claudehub.CodeOf(err) != claudehub.Forbidden {
		return err
	}
	return claudehub.WithCause(claudehub.Forbidden, err, "%s Tokens are made, listed and ended at %s/settings.", claudehub.MessageOf(err), c.URL())
}

func scopes(all []client.Scope) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = string(s)
	}
	return strings.Join(out, ",")
}

func agoOr(t time.Time, none string) string {
	if t.IsZero() {
		return none
	}
	return ago(t)
}

func date(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

// TokensNewCmd makes a token.
type TokensNewCmd struct {
	Target
	Format
	Name    string         `arg:"" help:"What it is for."`
	Scopes  []client.Scope `help:"What it may do: sessions:read, sessions:drive, environments, runners." placeholder:"SCOPE" sep:"," required:"" complete:"scope"`
	Expires string         `help:"When it ends: 30d, 12h, or 2026-12-31; a year away at most. Without it, it lives until it is revoked." placeholder:"WHEN"`
}

// Run makes it. The secret is alone on standard output, for a pipe.
func (t *TokensNewCmd) Run(ctx context.Context, e *Env) error {
	expires, err := when(t.Expires, time.Now())
	if err != nil {
		return err
	}
	c, err := t.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	made, err := c.CreateToken(ctx, client.NewToken{Name: t.Name, Scopes: t.Scopes, Expires: expires})
	if err != nil {
		return inBrowser(c, err)
	}
	return t.print(e, made, func() error {
		fmt.Fprintf(e.Err, "Made %s (%s). This is the only time it is shown:\n", clean(made.ID), clean(made.Name))
		_, err := fmt.Fprintln(e.Out, clean(made.Secret))
		return err
	})
}

// when reads a moment in the future; the zero time for none.
func when(s string, now time.Time) (at time.Time, err error) {
	if s == "" {
		return at, nil
	}
	if days, ok := strings.CutSuffix(s, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n <= 36500 {
			at = now.AddDate(0, 0, n)
		}
	} else if d, err := time.ParseDuration(s); err == nil {
		at = now.Add(d)
	} else if day, err := time.ParseInLocation(time.DateOnly, s, time.Local); err == nil {
		at = day
	} else if full, err := time.Parse(time.RFC3339, s); err == nil {
		at = full
	}
	if !at.After(now) {
		return at, claudehub.Errorf(claudehub.Invalid, "%q is no time in the future. Use something like 30d, 12h or 2026-12-31.", clean(s))
	}
	return at, nil
}

// TokensRevokeCmd ends a token.
type TokensRevokeCmd struct {
	Target
	Format
	Token string `arg:"" help:"A token's id, the start of one, or its name." complete:"token"`
}

// Run ends it. With --json the ended token is printed.
func (t *TokensRevokeCmd) Run(ctx context.Context, e *Env) error {
	c, err := t.open(e)
	if err != nil {
		return err
	}
	defer c.Close()
	all, err := c.Tokens(ctx)
	if err != nil {
		return inBrowser(c, err)
	}
	k, err := pick("API token", t.Token, all, tokenID, tokenName)
	if err != nil {
		return err
	}
	if err := c.RevokeToken(ctx, k.ID); err != nil {
		return inBrowser(c, err)
	}
	return t.print(e, k, func() error {
		_, err := fmt.Fprintf(e.Out, "Revoked %s (%s).\n", clean(k.ID), clean(k.Name))
		return err
	})
}

func tokenID(t client.Token) string   { return t.ID }
func tokenName(t client.Token) string { return t.Name }
