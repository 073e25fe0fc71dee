package github

import (
	"regexp"
	"slices"
	"strings"

	"claude-hub/internal/claudehub"
)

// AllowList says who may use the Hub: anyone whom one entry names. Names are compared without regard to case, and as
// they are at GitHub now; an entry whose login, organisation or team was renamed has to be changed here.
type AllowList struct {
	Logins []string
	Orgs   []string
	Teams  []string // "org/team", the team by its slug
}

// Bounds of an allow-list. Each organisation and team costs a call per person and check.
const (
	maxAllowed = 5000
	maxAsked   = 50
	maxText    = 1 << 20
)

var slugs = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// ParseAllowList reads entries apart by spaces, commas or lines: login:NAME, org:NAME and team:ORG/SLUG. What follows
// a # up to the line's end is a remark.
func ParseAllowList(text string) (AllowList, error) {
	var a AllowList
	if len(text) > maxText {
		return a, claudehub.Errorf(claudehub.TooLarge, "The allow-list is too long.")
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		for _, entry := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,\t\r\n", r) }) {
			kind, name, _ := strings.Cut(entry, ":")
			switch kind {
			case "login":
				a.Logins = append(a.Logins, name)
			case "org":
				a.Orgs = append(a.Orgs, name)
			case "team":
				a.Teams = append(a.Teams, name)
			default:
				return AllowList{}, claudehub.Errorf(claudehub.Invalid, "The allow-list has %q. An entry is login:NAME, org:NAME or team:ORG/TEAM.", clip(entry))
			}
		}
	}
	return a.Normal()
}

// Normal returns the list with each entry once, in lower case and sorted, or says what is wrong with it. An empty list
// is refused: it would let nobody in, and is more likely a mistake.
func (a AllowList) Normal() (AllowList, error) {
	out := AllowList{fold(a.Logins), fold(a.Orgs), fold(a.Teams)}
	for _, login := range out.Logins {
		if !logins.MatchString(login) {
			return AllowList{}, wrongEntry(login, "login, as in login:octocat")
		}
	}
	for _, org := range out.Orgs {
		if !logins.MatchString(org) {
			return AllowList{}, wrongEntry(org, "organisation, as in org:acme")
		}
	}
	for _, team := range out.Teams {
		if org, slug, ok := strings.Cut(team, "/"); !ok || !logins.MatchString(org) || !slugs.MatchString(slug) {
			return AllowList{}, wrongEntry(team, "team, as in team:acme/platform")
		}
	}
	switch {
	case out.Empty():
		return AllowList{}, claudehub.Errorf(claudehub.Invalid, "The allow-list is empty, so nobody could sign in. Name at least one login, organisation or team.")
	case len(out.Logins) > maxAllowed:
		return AllowList{}, claudehub.Errorf(claudehub.TooMany, "The allow-list has more than %d logins. Use an organisation or a team.", maxAllowed)
	case len(out.Orgs)+len(out.Teams) > maxAsked:
		return AllowList{}, claudehub.Errorf(claudehub.TooMany, "The allow-list has more than %d organisations and teams.", maxAsked)
	}
	return out, nil
}

func wrongEntry(entry, what string) error {
	return claudehub.Errorf(claudehub.Invalid, "The allow-list has %q, which is not the name of a %s.", clip(entry), what)
}

func clip(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

func fold(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = strings.ToLower(n)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Empty tells a list that names nobody.
func (a AllowList) Empty() bool { return len(a.Logins)+len(a.Orgs)+len(a.Teams) == 0 }

// Scopes are what people have to grant so that the list can be checked: nothing for logins alone.
func (a AllowList) Scopes() []string {
	if len(a.Orgs)+len(a.Teams) == 0 {
		return nil
	}
	return []string{"read:org"}
}

// String writes the list as ParseAllowList reads it.
func (a AllowList) String() string {
	var entries []string
	for _, l := range a.Logins {
		entries = append(entries, "login:"+l)
	}
	for _, o := range a.Orgs {
		entries = append(entries, "org:"+o)
	}
	for _, t := range a.Teams {
		entries = append(entries, "team:"+t)
	}
	return strings.Join(entries, " ")
}
