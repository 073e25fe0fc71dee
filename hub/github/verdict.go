package github

import (
	"context"
	"errors"
	"net/http"
	"strings"

	gh "github.com/google/go-github/v93/github"

	"claude-hub/internal/claudehub"
)

// Reason says, for the log and the audit, why a verdict is no.
type Reason string

// The reasons.
const (
	NotListed   Reason = "not_listed"   // GitHub was asked about each entry, and none names this person
	Withheld    Reason = "withheld"     // GitHub refuses to show a membership: scope not granted, SSO, or the organisation's policy
	TokenEnded  Reason = "token_ended"  // the token was revoked or cannot be renewed, so nothing can be checked any more
	OtherPerson Reason = "other_person" // the token is somebody else's
)

// Verdict is what GitHub's answers say about a person and an allow-list.
type Verdict struct {
	Allowed  bool
	Identity Identity // as it is now; zero when not even that was said
	By       string   // the entry that names the person, as in "team:acme/platform"
	Reason   Reason   // when not allowed
}

// Err is nil for a yes; for a no it is one sentence, whatever the reason is. The reason is in its cause, for the log.
func (v Verdict) Err() error {
	if v.Allowed {
		return nil
	}
	return claudehub.WithCause(claudehub.Forbidden, errors.New("the allow-list: "+string(v.Reason)),
		"This GitHub account may not use this Hub. If it should, ask the Hub's administrator.")
}

// Allowed tells whether the holder of the token is on the list. An error means that it cannot be told (see Outage), and
// the verdict that comes with it is a no for lack of a yes.
func (c *Client) Allowed(ctx context.Context, t Token, list AllowList) (Verdict, error) {
	return c.judge(ctx, 0, t, list)
}

// Recheck is Allowed for a person who is in: the token has to be that person's still. A token near its end is renewed
// first and handed to keep before it is used, because the old one is dead from then on; an error of keep ends it.
// Do not recheck one person twice at a time: the slower one would hold a renewed, dead token, and look revoked.
func (c *Client) Recheck(ctx context.Context, id int64, t Token, list AllowList, keep func(context.Context, Token) error) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.config.Timeout)
	defer cancel()
	t, err := c.renewed(ctx, t, keep)
	var no *refusal
	switch {
	case errors.As(err, &no):
		return Verdict{Reason: TokenEnded}, nil
	case err != nil:
		return Verdict{}, sentence(err)
	}
	return c.judge(ctx, id, t, list)
}

func (c *Client) judge(ctx context.Context, id int64, t Token, list AllowList) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*c.config.Timeout)
	defer cancel()
	list, err := list.Normal()
	if err != nil {
		return Verdict{}, err
	}
	who, err := c.whoami(ctx, t)
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusUnauthorized:
		return Verdict{Reason: TokenEnded}, nil
	case errors.As(err, &no) && no.status == http.StatusForbidden:
		return Verdict{Reason: Withheld}, nil
	case errors.As(err, &no):
		return Verdict{}, sentence(no.strange())
	case err != nil:
		return Verdict{}, sentence(err)
	case id != 0 && who.ID != id:
		return Verdict{Identity: who, Reason: OtherPerson}, nil
	}
	return c.search(ctx, who, t, list)
}

// search asks entry by entry. One yes is enough; a no counts only when every entry was answered.
func (c *Client) search(ctx context.Context, who Identity, t Token, list AllowList) (Verdict, error) {
	for _, login := range list.Logins {
		if strings.EqualFold(login, who.Login) {
			return Verdict{Allowed: true, Identity: who, By: "login:" + login}, nil
		}
	}
	no := Verdict{Identity: who, Reason: NotListed}
	var untold error
	for _, entry := range list.asked() {
		in, err := c.member(ctx, who, t, entry)
		if in {
			return Verdict{Allowed: true, Identity: who, By: entry.String()}, nil
		}
		reason, err := told(err)
		switch {
		case reason == TokenEnded:
			return Verdict{Identity: who, Reason: TokenEnded}, nil
		case reason == Withheld:
			no.Reason = Withheld
		case err != nil && untold == nil:
			untold = err
		}
		if ctx.Err() != nil && untold == nil {
			untold = &Outage{Endpoint: "memberships", What: "the time for it is over", cause: ctx.Err()}
		}
		if ctx.Err() != nil {
			break // the entries after this one stay unasked
		}
	}
	if untold != nil {
		return Verdict{Identity: who}, sentence(untold)
	}
	return no, nil
}

// told reads what a membership's call came to, when it was no yes.
func told(err error) (Reason, error) {
	var no *refusal
	if !errors.As(err, &no) {
		return NotListed, err
	}
	switch no.status {
	case http.StatusUnauthorized:
		return TokenEnded, nil
	case http.StatusForbidden:
		return Withheld, nil
	case http.StatusNotFound:
		return NotListed, nil
	}
	return "", no.strange()
}

// asking is an entry that GitHub has to be asked about.
type asking struct{ org, team string }

func (e asking) String() string {
	if e.team == "" {
		return "org:" + e.org
	}
	return "team:" + e.org + "/" + e.team
}

func (a AllowList) asked() []asking {
	var out []asking
	for _, org := range a.Orgs {
		out = append(out, asking{org: org})
	}
	for _, entry := range a.Teams {
		org, team, _ := strings.Cut(entry, "/")
		out = append(out, asking{org, team})
	}
	return out
}

// member tells whether the person is an active member. An invitation that is not accepted yet is none.
func (c *Client) member(ctx context.Context, who Identity, t Token, entry asking) (bool, error) {
	var got *gh.Membership
	endpoint := "the organisation membership"
	question := func(ctx context.Context, rest *gh.Client) (err error) {
		got, _, err = rest.Organizations.GetOrgMembership(ctx, "", entry.org)
		return err
	}
	if entry.team != "" {
		endpoint = "the team membership"
		question = func(ctx context.Context, rest *gh.Client) (err error) {
			got, _, err = rest.Teams.GetTeamMembershipBySlug(ctx, entry.org, entry.team, who.Login)
			return err
		}
	}
	if err := c.ask(ctx, t, endpoint, question); err != nil {
		return false, err
	}
	if got.GetState() != "active" && got.GetState() != "pending" {
		return false, &Outage{Endpoint: endpoint, What: "the answer is malformed"}
	}
	// An organisation's answer names both sides; a yes about anybody or anything else is none.
	if entry.team == "" && (got.GetUser().GetID() != who.ID || !strings.EqualFold(got.GetOrganization().GetLogin(), entry.org)) {
		return false, &Outage{Endpoint: endpoint, What: "the answer is about something else"}
	}
	return got.GetState() == "active", nil
}
