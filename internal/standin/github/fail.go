package github

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The endpoints, as failures and the log name them.
const (
	Authorize     = "authorize"
	AccessToken   = "access_token"
	User          = "user"
	UserOrgs      = "user_orgs"
	OrgMembership = "org_membership"
	TeamMember    = "team_membership"
	Installations = "installations"
	RepoEndpoint  = "repo"
	CheckToken    = "check_token"
	DeleteToken   = "delete_token"
	Every         = "*"
)

var endpoints = []string{
	Authorize, AccessToken, User, UserOrgs, OrgMembership, TeamMember, Installations, RepoEndpoint, CheckToken, DeleteToken, Every,
}

// Kind is a way to fail.
type Kind string

// The ways to fail.
const (
	Down      Kind = "down"      // the connection is cut without an answer
	Half      Kind = "half"      // the connection is cut in the middle of the body
	Slow      Kind = "slow"      // the right answer comes after DelayMS
	Hang      Kind = "hang"      // no answer comes until the caller leaves
	Status    Kind = "status"    // GitHub's own refusal with Status (403, 404, 500 …)
	RateLimit Kind = "ratelimit" // Status (429 or 403; 0 is 429), nothing remaining, reset after RetryAfter seconds
	Secondary Kind = "secondary" // GitHub's limit on bursts: 403 with Retry-After
	Revoked   Kind = "revoked"   // the token is not known any more
	Malformed Kind = "malformed" // 200 with half a JSON object
	Huge      Kind = "huge"      // 200 with a body of a size that nobody should read
	Foreign   Kind = "foreign"   // Status from something that is not GitHub: a proxy's page
	Redirect  Kind = "redirect"  // 302 to Location
	Answer    Kind = "answer"    // Status with Body, as it is
)

var kinds = []Kind{Down, Half, Slow, Hang, Status, RateLimit, Secondary, Revoked, Malformed, Huge, Foreign, Redirect, Answer}

// Failure is how an endpoint answers instead.
type Failure struct {
	Endpoint   string `json:"endpoint"`
	Kind       Kind   `json:"kind"`
	Times      int    `json:"times,omitempty"` // so many calls; 0 is until it is healed
	Status     int    `json:"status,omitempty"`
	DelayMS    int    `json:"delayMs,omitempty"`
	RetryAfter int    `json:"retryAfter,omitempty"` // seconds
	Message    string `json:"message,omitempty"`
	Location   string `json:"location,omitempty"`
	Body       string `json:"body,omitempty"`
}

func (f Failure) check() error {
	if !slices.Contains(endpoints, f.Endpoint) {
		return fmt.Errorf("endpoint %q is none of %s", f.Endpoint, strings.Join(endpoints, ", "))
	}
	if f.Kind != "" && !slices.Contains(kinds, f.Kind) {
		return fmt.Errorf("kind %q is none of %v", f.Kind, kinds)
	}
	if f.Times < 0 || f.DelayMS < 0 || f.RetryAfter < 0 || (f.Status != 0 && (f.Status < 200 || f.Status > 599)) {
		return fmt.Errorf("a number of the failure is out of bounds")
	}
	return nil
}

// failures are what is scripted now.
type failures struct {
	mu sync.Mutex // guards by
	by map[string]Failure
}

// Fail makes an endpoint fail from the next call on; a failure without a kind heals it.
func (s *Server) Fail(f Failure) error {
	if err := f.check(); err != nil {
		return err
	}
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	if f.Kind == "" {
		delete(s.failures.by, f.Endpoint)
		return nil
	}
	s.failures.by[f.Endpoint] = f
	return nil
}

// Heal ends all failures.
func (s *Server) Heal() {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	clear(s.failures.by)
}

// take returns how this call fails, if it does; an endpoint's own failure comes before that of all.
func (f *failures) take(endpoint string) (Failure, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range []string{endpoint, Every} {
		failure, ok := f.by[name]
		if !ok {
			continue
		}
		if failure.Times == 1 {
			delete(f.by, name)
		} else if failure.Times > 1 {
			failure.Times--
			f.by[name] = failure
		}
		return failure, true
	}
	return Failure{}, false
}

// play answers with a failure. It returns false when the right answer is still to be given.
func (f Failure) play(w http.ResponseWriter, r *http.Request) bool {
	switch f.Kind {
	case Slow:
		return wait(r, time.Duration(f.DelayMS)*time.Millisecond)
	case Hang:
		wait(r, time.Hour)
		panic(http.ErrAbortHandler)
	case Down:
		panic(http.ErrAbortHandler)
	case Half:
		w.Header().Set("Content-Length", "4096")
		_, _ = io.WriteString(w, `{"id":`) // the caller may be gone
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	case Huge:
		f.huge(w, r)
	default:
		f.answer(w)
	}
	return true
}

// wait returns whether the caller left before the time was over.
func wait(r *http.Request, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-r.Context().Done():
		return true
	}
}

const hugeSize = 64 << 20

func (f Failure) huge(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"access_token":"`)
	piece := []byte(strings.Repeat("a", 64<<10))
	for range hugeSize / len(piece) {
		if _, err := w.Write(piece); err != nil || r.Context().Err() != nil {
			return
		}
	}
}

func (f Failure) answer(w http.ResponseWriter) {
	status := f.Status
	message := f.Message
	h := w.Header()
	switch f.Kind {
	case RateLimit:
		status = cmp.Or(status, http.StatusTooManyRequests)
		h.Set("X-RateLimit-Remaining", "0")
		h.Set("X-RateLimit-Limit", "5000")
		h.Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Duration(f.RetryAfter)*time.Second).Unix(), 10))
		h.Set("Retry-After", strconv.Itoa(f.RetryAfter))
		message = cmp.Or(message, "stand-in: API rate limit exceeded")
	case Secondary:
		status = cmp.Or(status, http.StatusForbidden)
		h.Set("Retry-After", strconv.Itoa(f.RetryAfter))
		message = cmp.Or(message, "stand-in: you have exceeded a secondary rate limit")
		writeJSON(w, status, m{"message": message, "documentation_url": "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"})
		return
	case Revoked:
		status, message = http.StatusUnauthorized, cmp.Or(message, "stand-in: Bad credentials")
	case Malformed:
		h.Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": 12, "login": "ada`)
		return
	case Foreign:
		h.Set("Content-Type", "text/html")
		w.WriteHeader(cmp.Or(status, http.StatusNotFound))
		_, _ = io.WriteString(w, "<html><body>stand-in for a proxy that is in the way</body></html>")
		return
	case Redirect:
		h.Set("Location", f.Location)
		w.WriteHeader(cmp.Or(status, http.StatusFound))
		return
	case Answer:
		h.Set("Content-Type", "application/json")
		w.WriteHeader(cmp.Or(status, http.StatusOK))
		_, _ = io.WriteString(w, f.Body)
		return
	}
	status = cmp.Or(status, http.StatusInternalServerError)
	refuse(w, status, cmp.Or(message, "stand-in: scripted "+http.StatusText(status)))
}
