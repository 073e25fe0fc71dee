package github

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// Visit does what a person's browser does: it opens the page that an application sent it to, presses one button there,
// and returns the address that it is sent back to, without going there. The person "" declines.
func Visit(ctx context.Context, c *http.Client, authorize, login string) (*url.URL, error) {
	browser := *c
	browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	text, err := open(ctx, &browser, authorize)
	if err != nil {
		return nil, err
	}
	form := url.Values{"deny": {"yes"}}
	if login != "" {
		button := regexp.MustCompile(`value="(\d+)">Sign in as ` + regexp.QuoteMeta(login) + `( \(|<)`).FindStringSubmatch(text)
		if button == nil {
			return nil, fmt.Errorf("the page has no button for %q", login)
		}
		form = url.Values{"person": {button[1]}}
	}
	target, err := action(authorize, text)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusFound {
		return nil, fmt.Errorf("the button answers with status %d", res.StatusCode)
	}
	return res.Location()
}

var actions = regexp.MustCompile(`<form method="post" action="([^"]+)"`)

// action returns where the page's form goes.
func action(page, text string) (string, error) {
	found := actions.FindStringSubmatch(text)
	if found == nil {
		return "", errors.New("the page has no form")
	}
	base, err := url.Parse(page)
	if err != nil {
		return "", err
	}
	target, err := base.Parse(html.UnescapeString(found[1]))
	if err != nil {
		return "", err
	}
	return target.String(), nil
}

func open(ctx context.Context, c *http.Client, address string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	res, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return "", err
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the page answers with status %d", res.StatusCode)
	}
	if res.Header.Get("X-Stand-In") != "github" {
		return "", errors.New("that is not the stand-in; nothing was pressed")
	}
	return string(b), nil
}
