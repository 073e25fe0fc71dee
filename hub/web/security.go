package web

import (
	"net/http"
	"net/url"
	"strings"

	"claude-hub/internal/claudehub"
)

// headers are on every answer. The pages add a nonce of their own.
func (s *server) headers(h http.Header) {
	h["Content-Security-Policy"] = apiPolicy
	h["X-Content-Type-Options"] = nosniff
	h["Referrer-Policy"] = noReferrer
	h["Permissions-Policy"] = permissions
	h["Cross-Origin-Opener-Policy"] = sameOrigin
	h["Cross-Origin-Resource-Policy"] = sameOrigin
	if s.opt.TLS {
		h["Strict-Transport-Security"] = transport
	}
}

// Shared by all answers; nothing appends to them.
var (
	apiPolicy   = []string{"default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"}
	nosniff     = []string{"nosniff"}
	noReferrer  = []string{"no-referrer"}
	sameOrigin  = []string{"same-origin"}
	transport   = []string{"max-age=31536000"}
	permissions = []string{"camera=(), geolocation=(), microphone=(), payment=(), usb=(), clipboard-read=(self), clipboard-write=(self)"}
)

// pagePolicy is for index.html. Styles need the nonce: the component library and the terminal make style elements while
// they run, and put it on them. Nothing inline runs as script.
func pagePolicy(nonce string) string {
	return "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + nonce + "'; img-src 'self' data:; font-src 'self'; " +
		"connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
}

// ownOrigin refuses a WebSocket or a stream that a page of another site opened: browsers send cookies along, and ask
// nobody. Of a stream such a page could read nothing, but it would hold the places that the person's own pages need.
func (s *server) ownOrigin(r *http.Request) error {
	errCross := claudehub.Errorf(claudehub.Forbidden, "That connection came from another site.")
	origin := r.Header.Get("Origin")
	if origin == "" {
		if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" {
			return errCross
		}
		return nil // not a browser
	}
	if s.origin != "" && strings.EqualFold(origin, s.origin) {
		return nil
	}
	u, err := url.Parse(origin)
	if err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) {
		return nil
	}
	return errCross
}
