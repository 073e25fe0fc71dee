package github

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// accessToken changes a code or a refresh token into a token. As GitHub does, it refuses with status 200 and answers as
// a form unless JSON was asked for.
func (s *Server) accessToken(w http.ResponseWriter, r *http.Request, q *Request) {
	if err := r.ParseForm(); err != nil {
		s.no(w, q, http.StatusBadRequest, "the form cannot be read")
		return
	}
	form := r.PostForm
	client, secret := form.Get("client_id"), form.Get("client_secret")
	if c, sec, ok := r.BasicAuth(); ok {
		client, secret = c, sec
	}
	if !s.known(client, secret) {
		s.noToken(w, r, q, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect.")
		return
	}
	s.rec.update(q, func(q *Request) { q.PKCE = form.Get("code_verifier") != "" })
	switch form.Get("grant_type") {
	case "refresh_token":
		out, ok, err := s.world.renew(form.Get("refresh_token"))
		switch {
		case err != nil:
			s.no(w, q, http.StatusServiceUnavailable, err.Error())
		case !ok:
			s.noToken(w, r, q, "bad_refresh_token", "The refresh token passed is incorrect or expired.")
		default:
			s.giveToken(w, r, q, out)
		}
	case "", "authorization_code":
		s.redeem(w, r, q, form)
	default:
		s.noToken(w, r, q, "unsupported_grant_type", "The grant type is not supported.")
	}
}

func (s *Server) redeem(w http.ResponseWriter, r *http.Request, q *Request, form url.Values) {
	g, ok := s.world.takeCode(form.Get("code"))
	if !ok || !verified(g.challenge, form.Get("code_verifier")) {
		s.noToken(w, r, q, "bad_verification_code", "The code passed is incorrect or expired.")
		return
	}
	if given := form.Get("redirect_uri"); given != "" && given != g.redirect {
		s.noToken(w, r, q, "redirect_uri_mismatch", "The redirect_uri must match the one of the authorization.")
		return
	}
	out, err := s.world.addToken(g.person, g.scopes)
	if err != nil {
		s.no(w, q, http.StatusServiceUnavailable, err.Error())
		return
	}
	s.rec.update(q, func(q *Request) { q.Person = g.person })
	s.giveToken(w, r, q, out)
}

// verified is RFC 7636 with S256. A verifier without a challenge is refused too: it would hide a lost challenge.
func verified(challenge, verifier string) bool {
	if challenge == "" || verifier == "" {
		return challenge == verifier
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

func (s *Server) giveToken(w http.ResponseWriter, r *http.Request, q *Request, out issued) {
	fields := map[string]string{"access_token": out.access, "token_type": "bearer", "scope": strings.Join(out.scopes, ",")}
	if out.refresh != "" {
		fields["refresh_token"] = out.refresh
		fields["expires_in"] = strconv.Itoa(int(out.life.Seconds()))
	}
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome = http.StatusOK, "answered" })
	writeForm(w, r, fields)
}

func (s *Server) noToken(w http.ResponseWriter, r *http.Request, q *Request, code, text string) {
	s.rec.update(q, func(q *Request) { q.Status, q.Outcome, q.Reason = http.StatusOK, "refused", code })
	writeForm(w, r, map[string]string{"error": code, "error_description": "stand-in: " + text})
}

func writeForm(w http.ResponseWriter, r *http.Request, fields map[string]string) {
	if strings.Contains(r.Header.Get("Accept"), "json") {
		body := m{}
		for k, v := range fields {
			body[k] = v
		}
		if n, err := strconv.Atoi(fields["expires_in"]); err == nil {
			body["expires_in"] = n
		}
		writeJSON(w, http.StatusOK, body)
		return
	}
	v := url.Values{}
	for k, text := range fields {
		v.Set(k, text)
	}
	w.Header().Set("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(v.Encode())) // the caller may be gone
}
