package main

import (
	"context"
	"fmt"
	"os"

	"claude-hub/desktop/runner"
	"claude-hub/desktop/sandbox"
	"claude-hub/internal/claudehub"
)

type pairedCmd struct{}

// Run prints the Hub's address, for scripts; what a person wants to know beside it goes to standard error.
func (*pairedCmd) Run(ctx context.Context, c *cli) error {
	store, err := c.pairing(ctx)
	if err != nil {
		return err
	}
	p, err := standing(ctx, store)
	if err != nil {
		return err
	}
	fmt.Println(p.Hub)
	if said := describe(p); said != "" {
		fmt.Fprintln(os.Stderr, said)
	}
	return nil
}

// describe is what is known of a pairing beside the Hub's address.
func describe(p runner.Pairing) string {
	said := ""
	if p.Runner != "" {
		said = fmt.Sprintf("As %s (%s), which belongs to %s. ", p.Name, p.Runner, p.Login)
	}
	if !p.Since.IsZero() {
		said += fmt.Sprintf("Its token is of %s; a new one is asked for each day.", p.Since.Local().Format("2 January 2006 15:04"))
	}
	return said
}

// standing is how this machine stands with its Hub, as far as it can be told here: an error says what is wrong and what to
// do.
func standing(ctx context.Context, store *runner.PairingStore) (runner.Pairing, error) {
	p, err := store.Read()
	if err != nil {
		return p, err
	}
	if err := store.Check(ctx); err != nil {
		return p, err
	}
	refusal, refused, err := store.Refused(ctx)
	if err == nil && refused {
		err = claudehub.Errorf(claudehub.Unauthenticated,
			"%s refused this Runner on %s: %s Sessions here go on and nothing is deleted, but the Hub neither sees nor drives them. "+
				"Pair it again: claude-hub-runner pair --hub %s", p.Hub, refusal.At.Local().Format("2 January 2006 15:04"), refusal.Why, p.Hub)
	}
	return p, err
}

// hubFinding is the doctor's line on the Hub. It stops no Session.
func (c *cli) hubFinding(ctx context.Context) sandbox.Finding {
	f := sandbox.Finding{Name: "Hub", Fix: "claude-hub-runner pair --hub URL"}
	store, err := c.pairing(ctx)
	var p runner.Pairing
	if err == nil {
		p, err = standing(ctx, store)
	}
	if p.Hub != "" {
		f.Fix = "claude-hub-runner pair --hub " + p.Hub
	}
	if err != nil {
		f.Detail = sentence(err)
		return f
	}
	f.OK, f.Detail = true, "paired with "+p.Hub+". "+describe(p)
	return f
}

type unpairCmd struct{}

func (*unpairCmd) Run(ctx context.Context, c *cli) error {
	store, err := c.pairing(ctx)
	if err != nil {
		return err
	}
	p, err := store.Read()
	if err != nil {
		return err
	}
	if err := store.Forget(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "This Runner has no token for %s any more. Sessions and their files stay. The Hub still lists it: revoke it there, under Runners.\n", p.Hub)
	return nil
}
