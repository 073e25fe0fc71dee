package fleet_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
)

// TestShareModel makes random sequences of sharing by name, by link and with everyone, of joining, of what GitHub says, of
// outages and of time, and compares after each step what everybody has of every Session with a model that has no database:
// by the Session itself, in the lists, by who may drive, and in what is shown to the Creator.
func TestShareModel(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, r *rig) {
				m := newShareModel(r, seed)
				for step := range 150 {
					what := m.step()
					m.verify(fmt.Sprintf("step %d, %s", step, what))
					if t.Failed() {
						return
					}
				}
				if report := r.verify(r.head()); len(report.Broken) > 0 {
					t.Errorf("the audit log: %+v", report.Broken)
				}
			})
		})
	}
}

type shareModel struct {
	*rig
	rnd      *rand.Rand
	people   []claudehub.PersonID // the first is r.me
	logins   []string
	tokens   map[claudehub.PersonID]string
	sessions []*sharedSession
	sees     map[string]bool     // "person repo", as GitHub has it
	told     map[string]toldTime // as the Hub last heard it
	paused   map[string]time.Time
}

type toldTime struct {
	sees bool
	at   time.Time
}

type sharedSession struct {
	id       claudehub.SessionID
	creator  claudehub.PersonID
	repo     string
	archived bool
	everyone bool
	link     claudehub.Token
	old      []claudehub.Token // links that were replaced or revoked
	named    map[claudehub.PersonID]bool
	joined   map[claudehub.PersonID]bool
	barred   map[claudehub.PersonID]bool
}

func newShareModel(r *rig, seed uint64) *shareModel {
	m := &shareModel{rig: r, rnd: rand.New(rand.NewPCG(seed, 7)), people: []claudehub.PersonID{r.me, r.stranger}, logins: []string{"local", "stranger"},
		tokens: map[claudehub.PersonID]string{}, sees: map[string]bool{}, told: map[string]toldTime{}, paused: map[string]time.Time{}}
	for _, login := range []string{"ada", "bob", "eve"} {
		m.people, m.logins = append(m.people, r.person(login)), append(m.logins, login)
	}
	for _, p := range m.people[:4] { // eve has none
		m.tokens[p] = r.token(p)
	}
	for i, repo := range []string{"acme/one", "acme/two", "acme/one", ""} {
		n := fleet.NewSession{Runner: r.runner, Title: fmt.Sprint(i)}
		creator := r.me
		if repo != "" {
			n.Source.GitURL = "git@git.example:" + repo
		}
		if i == 2 {
			creator, n.Runner = r.stranger, r.theirs
		}
		s, err := r.CreateSession(r.ctx, creator, n)
		check(r.t, err)
		m.sessions = append(m.sessions, &sharedSession{id: s.ID, creator: creator, repo: repo, named: map[claudehub.PersonID]bool{},
			joined: map[claudehub.PersonID]bool{}, barred: map[claudehub.PersonID]bool{}})
	}
	return m
}

func (m *shareModel) step() string {
	s := m.sessions[m.rnd.IntN(len(m.sessions))]
	i := m.rnd.IntN(len(m.people))
	p := m.people[i]
	switch n := m.rnd.IntN(100); {
	case n < 15:
		_, err := m.Share(m.ctx, s.creator, s.id, m.logins[i])
		if p == s.creator {
			wantCode(m.t, "share with oneself", err, claudehub.Conflict)
			return "share with oneself"
		}
		check(m.t, err)
		s.named[p] = true
		delete(s.joined, p)
		delete(s.barred, p)
		return "share with " + m.logins[i]
	case n < 30:
		return m.unshare(s, p) + m.logins[i]
	case n < 40:
		token, _, err := m.CreateLink(m.ctx, s.creator, s.id)
		check(m.t, err)
		s.retire()
		s.link = token
		clear(s.barred)
		return "link"
	case n < 45:
		_, err := m.RevokeLink(m.ctx, s.creator, s.id)
		check(m.t, err)
		s.retire()
		clear(s.joined)
		clear(s.barred)
		return "unlink"
	case n < 62:
		return m.join(s, p) + m.logins[i]
	case n < 70:
		return m.everyone(s)
	case n < 80:
		key, repo := "", []string{"acme/one", "acme/two"}[m.rnd.IntN(2)]
		if m.tokens[p] != "" {
			key = string(p) + " " + repo
			m.sees[key] = !m.sees[key]
			m.far.set(func(g *farGitHub) { g.readers[m.tokens[p]+" "+repo] = m.sees[key] })
		}
		return "GitHub changes its mind about " + key
	case n < 84:
		m.far.set(func(g *farGitHub) { g.away = !g.away })
		return "GitHub goes or comes back"
	case n < 92:
		m.clock.move([]time.Duration{time.Minute, 11 * time.Minute, 5 * time.Hour, 25 * time.Hour}[m.rnd.IntN(4)])
		return "time"
	case n < 95:
		m.restart()
		clear(m.paused)
		return "restart"
	case n < 97:
		m.Tidy(m.ctx)
		return "tidy"
	}
	do := m.Archive
	if s.archived {
		do = m.Unarchive
	}
	_, err := do(m.ctx, s.creator, s.id)
	check(m.t, err)
	s.archived = !s.archived
	return "archive"
}

func (s *sharedSession) retire() {
	if !s.link.IsZero() {
		s.old = append(s.old, s.link)
	}
	s.link = claudehub.Token{}
}

func (m *shareModel) unshare(s *sharedSession, p claudehub.PersonID) string {
	_, err := m.Unshare(m.ctx, s.creator, s.id, p)
	if !s.named[p] && !s.joined[p] {
		wantCode(m.t, "unshare", err, claudehub.NotFound)
		return "unshare with nobody "
	}
	check(m.t, err)
	delete(s.named, p)
	delete(s.joined, p)
	if !s.link.IsZero() {
		s.barred[p] = true
	}
	return "unshare with "
}

func (m *shareModel) join(s *sharedSession, p claudehub.PersonID) string {
	if len(s.old) > 0 && m.rnd.IntN(3) == 0 {
		_, err := m.Join(m.ctx, p, s.old[m.rnd.IntN(len(s.old))])
		wantCode(m.t, "an old link", err, claudehub.NotFound)
		return "an old link of "
	}
	_, err := m.Join(m.ctx, p, s.link)
	if s.link.IsZero() || s.barred[p] {
		wantCode(m.t, "join", err, claudehub.NotFound)
		return "no way in for "
	}
	check(m.t, err)
	if p != s.creator && !s.named[p] {
		s.joined[p] = true
	}
	return "join of "
}

func (m *shareModel) everyone(s *sharedSession) string {
	_, err := m.ShareEveryone(m.ctx, s.creator, s.id, !s.everyone)
	if s.repo == "" {
		wantCode(m.t, "everyone", err, claudehub.Invalid)
		return "everyone of no repository"
	}
	check(m.t, err)
	s.everyone = !s.everyone
	return "everyone"
}

// see is the model of what the Hub takes a person to see, and of when it asks.
func (m *shareModel) see(p claudehub.PersonID, repo string) bool {
	key := string(p) + " " + repo
	now := m.clock.now()
	was, known := m.told[key]
	age := now.Sub(was.at)
	if known && age < 10*time.Minute {
		return was.sees
	}
	away := false
	m.far.set(func(g *farGitHub) { away = g.away })
	if m.tokens[p] != "" && !away && !now.Before(m.paused[key]) {
		m.told[key] = toldTime{m.sees[key], now}
		return m.sees[key]
	}
	if m.tokens[p] != "" && away && !now.Before(m.paused[key]) {
		m.paused[key] = now.Add(15 * time.Second)
	}
	return known && was.sees && age < 24*time.Hour
}

func (m *shareModel) want(s *sharedSession, p claudehub.PersonID) claudehub.Access {
	switch {
	case p == s.creator:
		return claudehub.AccessCreator
	case s.named[p], s.joined[p], s.everyone && m.see(p, s.repo):
		return claudehub.AccessParticipant
	}
	return claudehub.AccessNone
}

func (m *shareModel) verify(when string) {
	m.t.Helper()
	for i, p := range m.people {
		var listed [2][]claudehub.SessionID
		for _, s := range m.sessions {
			want := m.want(s, p)
			if got := m.access(p, s.id); got != want {
				m.t.Errorf("%s: %s has %q of Session %s instead of %q", when, m.logins[i], got, s.id, want)
			}
			_, err := m.Drive(m.ctx, p, s.id)
			code := map[claudehub.Access]claudehub.Code{claudehub.AccessCreator: "", claudehub.AccessParticipant: claudehub.Forbidden, claudehub.AccessNone: claudehub.NotFound}[want]
			wantCode(m.t, when+": drive by "+m.logins[i], err, code)
			if want != claudehub.AccessNone {
				at := 0
				if s.archived {
					at = 1
				}
				listed[at] = append(listed[at], s.id)
			}
		}
		for at, want := range listed {
			got := m.listed(p, at == 1)
			slices.Reverse(got) // the newest comes first
			if !slices.Equal(got, want) {
				m.t.Errorf("%s: %s has %v in the list instead of %v", when, m.logins[i], got, want)
			}
		}
	}
	for _, s := range m.sessions {
		shown, err := m.Session(m.ctx, s.creator, s.id)
		check(m.t, err)
		if len(shown.Shared.People) != len(s.named)+len(s.joined) || shown.Shared.Link == s.link.IsZero() || shown.Shared.Everyone != s.everyone {
			m.t.Errorf("%s: the Creator is shown %+v, and it is %+v", when, shown.Shared, s)
		}
	}
}
