package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
)

const (
	pendingName = "claude_hub_sign_in"
	pendingPath = "/api/auth"
	pendingLife = 10 * time.Minute
)

// beginSignIn sends the browser to GitHub. What has to come back with it waits in a sealed cookie, since nobody is known
// yet. Both ways are pages to a browser: what goes wrong is told on the sign-in page, by a code.
func (s *server) beginSignIn(w http.ResponseWriter, r *http.Request) error {
	location, sealed, err := s.fleet.BeginSignIn(r.Context(), r.URL.Query().Get("next"))
	if err != nil {
		s.backToSignIn(w, r, err)
		return nil
	}
	http.SetCookie(w, s.pendingCookie(sealed, pendingLife))
	redirect(w, location)
	return nil
}

func (s *server) finishSignIn(w http.ResponseWriter, r *http.Request) error {
	sealed := ""
	if c, err := r.Cookie(pendingName); err == nil {
		sealed = c.Value
	}
	// Whatever becomes of it, it was for one try.
	http.SetCookie(w, s.pendingCookie("", -time.Second))
	cookie, next, err := s.fleet.FinishSignIn(r.Context(), sealed, r.URL.Query(), limitText(r.UserAgent(), 300))
	if err != nil {
		recordOf(r.Context()).noted = !s.fleet.Local() // by the fleet, which knows whom GitHub named
		s.backToSignIn(w, r, err)
		return nil
	}
	w.Header().Add("Set-Cookie", s.cookie(cookie.Reveal(), cookieLife))
	redirect(w, next)
	return nil
}

// backToSignIn says no more than a code: nothing that came from GitHub, or from who made up the address, gets into a page.
func (s *server) backToSignIn(w http.ResponseWriter, r *http.Request, err error) {
	p := problemOf(r.Context(), err)
	redirect(w, "/sign-in?problem="+url.QueryEscape(string(p.Code)))
}

func redirect(w http.ResponseWriter, location string) {
	w.Header().Set("Location", location)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusFound)
}

// pendingCookie is lax: the browser comes back from another site.
func (s *server) pendingCookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: pendingName, Value: value, Path: pendingPath, MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.opt.TLS, SameSite: http.SameSiteLaxMode,
	}
}

// SetupCode is the body of setup.
type SetupCode struct {
	Code string `json:"code" maxLength:"200" doc:"as the Hub printed it when it was first started"`
}

func (s *server) setup(ctx context.Context, c personCaller, in *struct{ Body SetupCode }) (*meOut, error) {
	p, err := s.fleet.RedeemSetupCode(ctx, c.Person, strings.TrimSpace(in.Body.Code))
	if err != nil {
		return nil, err
	}
	return s.asMe(p), nil
}

func (s *server) asMe(p claudehub.Person) *meOut { return &meOut{Me{p, s.mode()}} }

// mode is how people sign in here.
func (s *server) mode() string {
	if s.fleet.Local() {
		return "local"
	}
	return "github"
}
