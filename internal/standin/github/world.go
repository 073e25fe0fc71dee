package github

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	active  = "active"
	pending = "pending"
	maxHeld = 10_000 // codes, and tokens
)

var errFull = errors.New("the stand-in holds too many codes or tokens")

type hash = [sha256.Size]byte

// grant is what a code or a token stands for.
type grant struct {
	person    int64
	scopes    []string
	expires   time.Time // zero is never
	redirect  string    // of a code
	challenge string    // of a code
	refresh   hash      // of a token that expires
}

// world is who there is and what was handed out.
type world struct {
	mu     sync.Mutex // guards all below
	script Script
	ahead  time.Duration
	codes  map[hash]grant
	tokens map[hash]grant
}

func newWorld(s Script) *world {
	return &world{script: s.clone(), codes: map[hash]grant{}, tokens: map[hash]grant{}}
}

func (s Script) clone() Script {
	s.App.Redirects = slices.Clone(s.App.Redirects)
	s.People = slices.Clone(s.People)
	s.Orgs = slices.Clone(s.Orgs)
	for i, o := range s.Orgs {
		s.Orgs[i].Members = slices.Clone(o.Members)
		s.Orgs[i].Teams = slices.Clone(o.Teams)
		for j, t := range o.Teams {
			s.Orgs[i].Teams[j].Members = slices.Clone(t.Members)
		}
	}
	s.Installations = slices.Clone(s.Installations)
	s.Repos = slices.Clone(s.Repos)
	for i, r := range s.Repos {
		s.Repos[i].Readers = slices.Clone(r.Readers)
	}
	return s
}

func (w *world) nowLocked() time.Time { return time.Now().Add(w.ahead) }

// Script returns people, organisations and application as they are now.
func (w *world) snapshot() Script {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.script.clone()
}

func newSecret(prefix string) (string, hash) {
	secret := prefix + rand.Text() + rand.Text()[:10]
	return secret, sha256.Sum256([]byte(secret))
}

// addCode hands out a code for what g says.
func (w *world) addCode(g grant) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.codes) >= maxHeld {
		return "", errFull
	}
	life := defaultCodeLife
	if n := w.script.App.CodeLifeSeconds; n > 0 {
		life = time.Duration(n) * time.Second
	}
	g.expires = w.nowLocked().Add(life)
	code, h := newSecret("")
	w.codes[h] = g
	return code, nil
}

// takeCode ends a code; it is good once, also when what came with it was wrong.
func (w *world) takeCode(code string) (grant, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := sha256.Sum256([]byte(code))
	g, ok := w.codes[h]
	delete(w.codes, h)
	return g, ok && w.nowLocked().Before(g.expires)
}

// issued is a token on its way to its holder.
type issued struct {
	access, refresh string
	scopes          []string
	life            time.Duration
}

func (w *world) addToken(person int64, scopes []string) (issued, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.addTokenLocked(person, scopes)
}

func (w *world) addTokenLocked(person int64, scopes []string) (issued, error) {
	if len(w.tokens) >= maxHeld {
		return issued{}, errFull
	}
	out := issued{scopes: scopes, life: time.Duration(w.script.App.TokenLifeSeconds) * time.Second}
	g := grant{person: person, scopes: scopes}
	var h hash
	if out.life > 0 {
		out.access, h = newSecret("ghu_")
		out.refresh, g.refresh = newSecret("ghr_")
		g.expires = w.nowLocked().Add(out.life)
	} else {
		out.access, h = newSecret("gho_")
	}
	w.tokens[h] = g
	return out, nil
}

// renew gives a new token for a refresh token, which is good once.
func (w *world) renew(refresh string) (issued, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := sha256.Sum256([]byte(refresh))
	for access, g := range w.tokens {
		if g.refresh == h && !g.expires.IsZero() {
			delete(w.tokens, access)
			out, err := w.addTokenLocked(g.person, g.scopes)
			return out, true, err
		}
	}
	return issued{}, false, nil
}

// holder returns whose token it is.
func (w *world) holder(token string) (Person, grant, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	g, ok := w.tokens[sha256.Sum256([]byte(token))]
	if !ok || (!g.expires.IsZero() && !w.nowLocked().Before(g.expires)) {
		return Person{}, grant{}, false
	}
	p, ok := w.personLocked(g.person)
	return p, g, ok
}

func (w *world) dropToken(token string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := sha256.Sum256([]byte(token))
	_, ok := w.tokens[h]
	delete(w.tokens, h)
	return ok
}

// dropTokens ends all tokens of a person; of everybody with 0. It returns how many.
func (w *world) dropTokens(person int64) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := len(w.tokens)
	for h, g := range w.tokens {
		if person == 0 || g.person == person {
			delete(w.tokens, h)
		}
	}
	return before - len(w.tokens)
}

func (w *world) personLocked(id int64) (Person, bool) {
	i := slices.IndexFunc(w.script.People, func(p Person) bool { return p.ID == id })
	if i < 0 {
		return Person{}, false
	}
	return w.script.People[i], true
}

func (w *world) personCalled(login string) (Person, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.script.People, func(p Person) bool { return strings.EqualFold(p.Login, login) })
	if i < 0 {
		return Person{}, false
	}
	return w.script.People[i], true
}

func (w *world) person(id int64) (Person, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.personLocked(id)
}

// org returns an organisation as it is now; its slices are not shared.
func (w *world) org(login string) (Org, bool) {
	s := w.snapshot()
	i := slices.IndexFunc(s.Orgs, func(o Org) bool { return strings.EqualFold(o.Login, login) })
	if i < 0 {
		return Org{}, false
	}
	return s.Orgs[i], true
}

// place returns a person's state among members.
func place(members []Member, person int64) (state string, ok bool) {
	for _, m := range members {
		if m.Person == person {
			if m.State == "" {
				return active, true
			}
			return m.State, true
		}
	}
	return "", false
}
