package github

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"strings"

	gh "github.com/google/go-github/v93/github"
)

// repoNames are GitHub's rule. A name becomes part of a path.
var repoNames = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)

// ValidRepo tells whether a repository of that name can be at GitHub.
func ValidRepo(owner, repo string) bool {
	return logins.MatchString(owner) && repoNames.MatchString(repo) && strings.Trim(repo, ".") != ""
}

// CanSee tells whether the holder of a token sees a repository, as far as that token shows it: without the scope repo (or
// an installed GitHub App) private ones stay hidden. GitHub answers the same for one that is not there. An error means that
// it cannot be told (see Outage).
func (c *Client) CanSee(ctx context.Context, t Token, owner, repo string) (bool, error) {
	if !ValidRepo(owner, repo) {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*c.config.Timeout)
	defer cancel()
	const endpoint = "the repository"
	var got *gh.Repository
	err := c.ask(ctx, t, endpoint, func(ctx context.Context, rest *gh.Client) (err error) {
		got, _, err = rest.Repositories.Get(ctx, owner, repo)
		return err
	})
	var no *refusal
	switch {
	case errors.As(err, &no) && no.status == http.StatusUnprocessableEntity:
		return false, sentence(no.strange())
	case errors.As(err, &no):
		return false, nil
	case err != nil:
		return false, sentence(err)
	case got.GetID() <= 0 || !strings.EqualFold(got.GetFullName(), owner+"/"+repo):
		return false, sentence(&Outage{Endpoint: endpoint, What: "the answer is about something else"})
	}
	return true, nil
}

// Host is where repositories of this GitHub are cloned from, in small letters.
func (c *Client) Host() string { return strings.TrimPrefix(strings.ToLower(c.web.Host), "www.") }
