package fleet

import (
	"context"
	"net/url"
	"slices"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// seen is a Session and what the person who asks has of it.
type seen struct {
	store.Session
	access claudehub.Access
}

// show makes of Sessions what a person is shown: with faces, and without what is not for them. It asks the database twice,
// however many there are.
func (f *Fleet) show(ctx context.Context, q store.Q, all []seen) ([]claudehub.Session, error) {
	var mine []claudehub.SessionID
	var creators []claudehub.PersonID
	for _, s := range all {
		if s.access == claudehub.AccessCreator {
			mine = append(mine, s.ID)
		}
		if !slices.Contains(creators, s.Creator) {
			creators = append(creators, s.Creator)
		}
	}
	people, err := q.SharedPeople(ctx, mine)
	if err != nil {
		return nil, err
	}
	faces, err := q.Faces(ctx, creators)
	if err != nil {
		return nil, err
	}
	out := make([]claudehub.Session, len(all))
	for i, s := range all {
		one := s.Session.Session
		one.Access = s.access
		if by, ok := faces[one.Creator]; ok {
			one.By = &by
		}
		if s.access == claudehub.AccessCreator {
			one.Shared.People = people[one.ID]
		} else {
			one = forParticipant(one)
		}
		out[i] = one
	}
	return out, nil
}

func (f *Fleet) showOne(ctx context.Context, q store.Q, a claudehub.Access, s store.Session) (claudehub.Session, error) {
	all, err := f.show(ctx, q, []seen{{s, a}})
	if err != nil {
		return claudehub.Session{}, err
	}
	return all[0], nil
}

// forParticipant leaves out what is the Creator's alone: who else watches by name or link, ports and where they lead to,
// builds and the output of what failed, and a credential that somebody wrote into the address of a repository.
func forParticipant(s claudehub.Session) claudehub.Session {
	s.Shared = claudehub.Shared{Everyone: s.Shared.Everyone}
	s.Build, s.Forwards = "", []claudehub.Forward{}
	s.Source.GitURL = withoutUser(s.Source.GitURL)
	o := s.Observed
	o.Build, o.Ports = "", []claudehub.Port{}
	for _, p := range s.Observed.Ports {
		if p.Listens {
			o.Ports = append(o.Ports, claudehub.Port{Port: p.Port, Process: p.Process, Listens: true})
		}
	}
	if o.Failure != nil {
		fail := *o.Failure
		fail.Detail = ""
		o.Failure = &fail
	}
	s.Observed = o
	return s
}

// withoutUser takes the user out of a web address. That of SSH names an account of the machine, and is needed.
func withoutUser(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.User == nil || u.Scheme != "https" && u.Scheme != "http" {
		return address
	}
	u.User = nil
	return u.String()
}

// gone tells a page that a Session is none of its person's any more, as it is told of one that was deleted; nothing is in
// it beside the id.
func (f *Fleet) gone(id claudehub.SessionID) claudehub.Session {
	now := f.now()
	return claudehub.Session{ID: id, Kind: claudehub.KindClaude, Forwards: []claudehub.Forward{}, Desired: claudehub.WantDeleted, Updated: now,
		Observed: claudehub.Observed{Phase: claudehub.PhaseDeleted, Since: now, SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now},
			Ports: []claudehub.Port{}, Checks: []claudehub.Check{}}}
}
