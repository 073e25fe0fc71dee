package cli

import (
	"context"
	"strings"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
)

const maxCandidates = 5

// pick finds the one thing that a person names: by its whole id, by a title that only it has, or by the start of an id
// that only it has. kind says what it is in a sentence.
func pick[T any](kind, name string, all []T, id, title func(T) string) (T, error) {
	var none T
	if strings.TrimSpace(name) == "" {
		return none, claudehub.Errorf(claudehub.Invalid, "Say which %s.", kind)
	}
	ways := []func(T) bool{
		func(t T) bool { return id(t) == name },
		func(t T) bool { return title(t) == name },
		func(t T) bool { return strings.EqualFold(title(t), name) },
		func(t T) bool { return strings.HasPrefix(id(t), name) || strings.HasPrefix(bare(id(t)), name) },
	}
	for _, way := range ways {
		var found []T
		for _, t := range all {
			if way(t) {
				found = append(found, t)
			}
		}
		switch len(found) {
		case 0:
			continue
		case 1:
			return found[0], nil
		}
		lines := make([]string, 0, maxCandidates)
		for _, t := range found[:min(len(found), maxCandidates)] {
			lines = append(lines, id(t)+" ("+clean(title(t))+")")
		}
		return none, claudehub.Errorf(claudehub.Invalid, "%d of them could be meant by %q: %s. Use more of the id.",
			len(found), clean(name), strings.Join(lines, ", "))
	}
	return none, claudehub.Errorf(claudehub.NotFound, "There is no %s with the id or name %q.", kind, clean(name))
}

// bare is an id without the prefix that names its kind.
func bare(id string) string {
	_, rest, _ := strings.Cut(id, "_")
	return rest
}

func sessionID(s client.Session) string    { return string(s.ID) }
func sessionTitle(s client.Session) string { return s.Title }

// session finds the Session that a person names; archived ones only when no other is meant.
func session(ctx context.Context, c *client.Client, name string) (client.Session, error) {
	if id, err := claudehub.ParseSessionID(name); err == nil {
		return c.Session(ctx, id)
	}
	all, err := c.Sessions(ctx, false)
	if err != nil {
		return client.Session{}, err
	}
	s, err := pick("Session", name, all, sessionID, sessionTitle)
	if claudehub.CodeOf(err) != claudehub.NotFound {
		return s, err
	}
	if all, err = c.Sessions(ctx, true); err != nil {
		return client.Session{}, err
	}
	return pick("Session", name, all, sessionID, sessionTitle)
}

// runner finds the Runner that a person names; the only one, when none is named.
func runner(ctx context.Context, c *client.Client, name string) (client.Runner, error) {
	all, err := c.Runners(ctx)
	switch {
	case err != nil:
		return client.Runner{}, err
	case len(all) == 0:
		return client.Runner{}, claudehub.Errorf(claudehub.NotFound, "You have no Runner yet. Start one on your machine and pair it with this Hub.")
	case name == "" && len(all) == 1:
		return all[0], nil
	case name == "":
		return client.Runner{}, claudehub.Errorf(claudehub.Invalid, "You have %d Runners. Say which one with --runner.", len(all))
	}
	return pick("Runner", name, all, func(r client.Runner) string { return string(r.ID) }, func(r client.Runner) string { return r.Name })
}
