package rig

import "net/url"

// Secrets are all credentials of this rig, by what they are.
func (r *Rig) Secrets() map[string]string {
	all := map[string]string{"setup token": r.token, "sign-in token": r.link}
	if !r.key.IsZero() {
		all["Runner token"] = r.key.Reveal()
	}
	if u, err := url.Parse(r.URL); err == nil {
		for _, c := range r.Person.Jar.Cookies(u) {
			all["browser cookie"] = c.Value
		}
	}
	return all
}
