package github

import (
	"context"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	gh "github.com/google/go-github/v93/github"
)

// Identity is a person as GitHub knows them. The ID is who it is; all else may change from one look to the next.
type Identity struct {
	ID        int64
	Login     string
	Name      string
	AvatarURL string
}

const (
	maxName   = 200
	maxAvatar = 500
	tries     = 3
)

// logins take Enterprise's underscore (managed users) and old names that end in a hyphen. They become part of paths.
var logins = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// whoami asks whose token it is.
func (c *Client) whoami(ctx context.Context, t Token) (Identity, error) {
	var user *gh.User
	err := c.ask(ctx, t, "the user", func(ctx context.Context, rest *gh.Client) (err error) {
		user, _, err = rest.Users.Get(ctx, "")
		return err
	})
	if err != nil {
		return Identity{}, err
	}
	if user.GetID() <= 0 || !logins.MatchString(user.GetLogin()) {
		return Identity{}, &Outage{Endpoint: "the user", What: "the answer is malformed"}
	}
	return Identity{user.GetID(), user.GetLogin(), plainText(user.GetName()), picture(user.GetAvatarURL())}, nil
}

// plainText makes a name fit to be shown anywhere: one line, no tricks with direction, not endless.
func plainText(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r) || r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > maxName {
		s = string(runes[:maxName])
	}
	return strings.TrimSpace(s)
}

// picture passes on an address that a page may show, or none.
func picture(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(s) > maxAvatar {
		return ""
	}
	return u.String()
}

// ask puts one question that changes nothing. A connection that breaks at once is tried again; a late answer is not,
// since it took its time already.
func (c *Client) ask(ctx context.Context, t Token, endpoint string, question func(context.Context, *gh.Client) error) error {
	if t.IsZero() {
		return &refusal{endpoint, 401}
	}
	rest, err := c.rest(gh.WithAuthToken(t.secret().Access))
	if err != nil {
		return err
	}
	return c.again(ctx, endpoint, func(ctx context.Context) error { return question(ctx, rest) })
}

func (c *Client) again(ctx context.Context, endpoint string, question func(context.Context) error) error {
	for try := 1; ; try++ {
		err := c.once(ctx, endpoint, question)
		o, out := AsOutage(err)
		if !out || !o.quick || try == tries {
			return err
		}
		select {
		case <-time.After(time.Duration(try) * (100 + rand.N(time.Duration(100))) * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

func (c *Client) once(ctx context.Context, endpoint string, question func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	return classify(ctx, endpoint, question(ctx))
}
