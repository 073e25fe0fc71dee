package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"claude-hub/hub/fleet/policy"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

const maxRequest = 100

// NewSession is what a person asks for. Request is the client's key: the same one twice gives the same Session.
type NewSession struct {
	Runner  claudehub.RunnerID
	Title   string // from the prompt or the source when empty
	Source  claudehub.Source
	Model   string // "default" when empty
	Effort  string // "default" when empty
	Prompt  string // the first prompt; may be empty
	Request string
	// Environment is nil for the default recipe. Version 0 is the newest.
	Environment *claudehub.EnvironmentRef
}

// SessionUpdate changes what is not nil.
type SessionUpdate struct {
	Title, Model, Effort *string
	// Environment with an empty id is the default recipe; version 0 is the newest.
	Environment *claudehub.EnvironmentRef
}

// Sessions lists the Sessions that a person may see, archived ones or the others, the newest first.
func (f *Fleet) Sessions(ctx context.Context, p claudehub.PersonID, archived bool) ([]claudehub.Session, error) {
	q := f.st.Read()
	mine, err := q.SessionsOf(ctx, p, archived)
	if err != nil {
		return nil, err
	}
	all, err := f.fromOthers(ctx, q, p, archived)
	if err != nil {
		return nil, err
	}
	for _, s := range mine {
		all = append(all, seen{s, policy.Access(p, s.Creator, policy.Grant{})})
	}
	slices.SortStableFunc(all, func(a, b seen) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(b.ID, a.ID))
	})
	return f.show(ctx, q, all)
}

// fromOthers lists the Sessions of others that a person may watch, in no order.
func (f *Fleet) fromOthers(ctx context.Context, q store.Q, p claudehub.PersonID, archived bool) ([]seen, error) {
	places, err := f.placesOfOthers(ctx, q, p)
	if err != nil {
		return nil, err
	}
	var ids []claudehub.SessionID
	for _, s := range places {
		if s.Away == archived {
			ids = append(ids, s.ID)
		}
	}
	all, err := q.SessionsIn(ctx, ids)
	out := make([]seen, len(all))
	for i, s := range all {
		out[i] = seen{s, claudehub.AccessParticipant}
	}
	return out, err
}

// placesOfOthers finds which Sessions of others a person may watch: with one question to the database about all shares,
// one about what GitHub said last, and as many to GitHub as there are repositories that it was not asked about of late.
func (f *Fleet) placesOfOthers(ctx context.Context, q store.Q, p claudehub.PersonID) ([]store.SharedPlace, error) {
	all, err := q.SharedPlaces(ctx, p)
	if err != nil {
		return nil, err
	}
	asked := map[string]bool{}
	of := map[claudehub.SessionID]string{} // of those that nothing but sight gives to the person
	for _, s := range all {
		repo, ok := f.repoHere(claudehub.Source{GitURL: s.GitURL})
		if ok && !s.Named {
			of[s.ID], asked[repo] = repo, true
		}
	}
	sees, err := f.seesNow(ctx, q, p, sortedKeys(asked))
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(s store.SharedPlace) bool {
		g := policy.Grant{Named: s.Named, Everyone: !s.Named, Sees: sees[of[s.ID]]}
		return policy.Watch(policy.Access(p, "", g)) != nil
	}), nil
}

// Session finds a Session that a person may see.
func (f *Fleet) Session(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.Watch(ctx, p, id)
}

// Watch finds a Session for who may see it.
func (f *Fleet) Watch(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.session(ctx, p, id, policy.Watch)
}

// Drive finds a Session for who may drive it.
func (f *Fleet) Drive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return f.session(ctx, p, id, policy.Drive)
}

func (f *Fleet) session(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, may func(claudehub.Access) error) (claudehub.Session, error) {
	s, a, err := f.find(ctx, p, id)
	if err == nil {
		err = may(a)
	}
	if err != nil {
		return claudehub.Session{}, err
	}
	return f.showOne(ctx, f.st.Read(), a, s)
}

// CreateSession makes a Session that shall be awake, with its first prompt if there is one.
func (f *Fleet) CreateSession(ctx context.Context, p claudehub.PersonID, n NewSession) (claudehub.Session, error) {
	if err := n.complete(); err != nil {
		return claudehub.Session{}, err
	}
	ctx = asActor(ctx, p)
	d := &decision{}
	var out claudehub.Session
	err := f.st.Write(ctx, func(q store.Q) error {
		*d = decision{q: q, now: f.now()}
		var err error
		if d.r, err = lockRunner(ctx, q, p, n.Runner); err != nil {
			return err
		}
		if n.Request != "" {
			d.s, err = q.SessionByRequest(ctx, p, n.Request)
			if err == nil {
				out, err = f.showOne(ctx, q, claudehub.AccessCreator, d.s)
			}
			if claudehub.CodeOf(err) != claudehub.NotFound {
				return err // found, or cannot tell
			}
		}
		if !d.r.Revoked.IsZero() {
			return errRevoked
		}
		if err := roomForSession(ctx, q, n.Runner); err != nil {
			return err
		}
		if err := d.create(ctx, p, n); err != nil {
			return err
		}
		out, err = f.created(ctx, d, "session.create")
		return err
	})
	if claudehub.CodeOf(err) == claudehub.Conflict && n.Request != "" {
		// At the same moment the same request came in for another Runner, and was first.
		s, err := f.st.Read().SessionByRequest(ctx, p, n.Request)
		if err != nil {
			return claudehub.Session{}, err
		}
		return f.showOne(ctx, f.st.Read(), claudehub.AccessCreator, s)
	}
	if err != nil {
		return claudehub.Session{}, err
	}
	f.announce(d)
	return out, nil
}

// created writes a new Session into the audit log, and returns it as its Creator sees it.
func (f *Fleet) created(ctx context.Context, d *decision, action string) (claudehub.Session, error) {
	d.tell("runner", string(d.s.Runner))
	if err := f.note(ctx, d.q, action, string(d.s.ID), d.detail); err != nil {
		return claudehub.Session{}, err
	}
	return f.showOne(ctx, d.q, claudehub.AccessCreator, d.s)
}

// complete checks what was asked for, and fills in what was left out.
func (n *NewSession) complete() error {
	if n.Model == "" {
		n.Model = claudehub.Models[0]
	}
	if n.Effort == "" {
		n.Effort = claudehub.Efforts[0]
	}
	if strings.TrimSpace(n.Title) == "" {
		n.Title = claudehub.TitleFrom(n.Prompt, n.Source)
	}
	n.Title = strings.TrimSpace(n.Title)
	if n.Prompt != "" {
		if err := validPrompt(n.Prompt); err != nil {
			return err
		}
	}
	for _, err := range []error{claudehub.ValidTitle(n.Title), claudehub.ValidSource(n.Source),
		claudehub.ValidModel(n.Model), claudehub.ValidEffort(n.Effort), validRequest(n.Request)} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (d *decision) create(ctx context.Context, p claudehub.PersonID, n NewSession) (err error) {
	d.s = newSession(p, n.Runner, d.now)
	d.s.Request, d.s.Title, d.s.Source, d.s.Model, d.s.Effort = n.Request, n.Title, n.Source, n.Model, n.Effort
	if n.Environment != nil && n.Environment.ID != "" {
		if err := d.setEnvironment(ctx, p, *n.Environment); err != nil {
			return err
		}
	}
	if err := d.add(ctx); err != nil {
		return err
	}
	if n.Prompt == "" {
		return nil
	}
	_, err = d.addPrompt(ctx, p, nil, n.Prompt, n.Request)
	return err
}

// newSession is a Session before anything was asked of it.
func newSession(p claudehub.PersonID, r claudehub.RunnerID, now time.Time) store.Session {
	return store.Session{Session: claudehub.Session{ID: claudehub.NewSessionID(), Creator: p, Runner: r, Kind: claudehub.KindClaude,
		Forwards: []claudehub.Forward{}, Desired: claudehub.WantAwake, Model: claudehub.Models[0], Effort: claudehub.Efforts[0], Generation: 1,
		Observed: claudehub.Observed{Phase: claudehub.PhaseNew, Since: now, SandboxLink: claudehub.Link{State: claudehub.LinkNone, Since: now},
			Ports: []claudehub.Port{}, Checks: []claudehub.Check{}},
		Created: now, Updated: now}, DesiredBy: p}
}

// add stores a new Session.
func (d *decision) add(ctx context.Context) (err error) {
	d.changed = true
	if d.s.Seq, err = d.q.NextSeq(ctx, d.s.Runner); err != nil {
		return err
	}
	return d.q.AddSession(ctx, d.s)
}

func roomForSession(ctx context.Context, q store.Q, id claudehub.RunnerID) error {
	n, err := q.CountSessions(ctx, id)
	if err == nil && n >= claudehub.MaxSessions {
		err = claudehub.Errorf(claudehub.TooMany,
			"This Runner has %d Sessions, which is the most. Archive one that you do not need.", n)
	}
	return err
}

// UpdateSession changes title, model, effort or Environment. Another model or effort restarts Claude; a title does not
// concern it; another Environment counts from the next wake.
func (f *Fleet) UpdateSession(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, u SessionUpdate) (claudehub.Session, error) {
	return f.asPerson(ctx, p, id, "session.update", func(d *decision) error {
		title, model, effort := or(u.Title, d.s.Title), or(u.Model, d.s.Model), or(u.Effort, d.s.Effort)
		title = strings.TrimSpace(title)
		for _, err := range []error{claudehub.ValidTitle(title), claudehub.ValidModel(model), claudehub.ValidEffort(effort)} {
			if err != nil {
				return err
			}
		}
		if d.s.Desired == claudehub.WantDeleted {
			return errDeleting
		}
		if u.Environment != nil {
			if err := d.setEnvironment(ctx, p, *u.Environment); err != nil {
				return err
			}
		}
		if title != d.s.Title {
			d.changed = true
			d.tell("title", title)
		}
		if model != d.s.Model || effort != d.s.Effort {
			if err := d.claudeOnly(); err != nil {
				return err
			}
			d.desire()
			d.tell("model", model)
			d.tell("effort", effort)
		}
		d.s.Title, d.s.Model, d.s.Effort = title, model, effort
		return nil
	})
}

func (d *decision) setEnvironment(ctx context.Context, p claudehub.PersonID, ref claudehub.EnvironmentRef) error {
	if err := d.claudeOnly(); err != nil {
		return err
	}
	var to *claudehub.EnvironmentRef
	if ref.ID != "" {
		err := canBuild(d.r)
		if err != nil {
			return err
		}
		if to, err = environmentFor(ctx, d.q, p, ref); err != nil {
			return err
		}
	}
	if to == nil && d.s.Environment == nil || to != nil && d.s.Environment != nil && *to == *d.s.Environment {
		return nil
	}
	d.s.Environment, d.changed = to, true
	d.tell("environment", string(ref.ID))
	return nil
}

func or(s *string, otherwise string) string {
	if s == nil {
		return otherwise
	}
	return *s
}

// validRequest: the key is the client's own; it only has to be storable.
func validRequest(s string) error {
	if len(s) > maxRequest || clip(s, maxRequest) != s {
		return claudehub.Errorf(claudehub.Invalid, "A request key has at most %d characters of plain text.", maxRequest)
	}
	return nil
}
