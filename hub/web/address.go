package web

import (
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how many addresses of X-Forwarded-For are looked at.
const maxHops = 20

// addressOf is where a request comes from: the peer of the connection, or what proxies say of it. Only the word of a
// proxy that the operator named counts, so X-Forwarded-For is read from the right, where the nearest of them wrote; what
// a stranger put in front of it is never reached. The zero address is one that cannot be told.
func addressOf(r *http.Request, trusted []netip.Prefix) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	at := plain(peer.Addr())
	if len(trusted) == 0 {
		return at
	}
	rest := strings.Join(r.Header["X-Forwarded-For"], ",")
	for range maxHops {
		if rest == "" || !contains(trusted, at) {
			break
		}
		cut := strings.LastIndexByte(rest, ',')
		hop, ok := parseHop(rest[cut+1:])
		if !ok {
			break // what is no address says nothing, and nor does what stands before it
		}
		at, rest = hop, rest[:max(cut, 0)]
	}
	return at
}

// parseHop reads an address as proxies write it: alone, in brackets, or with a port.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if with, err := netip.ParseAddrPort(s); err == nil {
		return plain(with.Addr()), true
	}
	if inner, ok := strings.CutPrefix(s, "["); ok {
		s = strings.TrimSuffix(inner, "]")
	}
	a, err := netip.ParseAddr(s)
	return plain(a), err == nil
}

// plain is one form for one address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

func contains(all []netip.Prefix, a netip.Addr) bool {
	for _, p := range all {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// blockOf is what limits count as one: an IPv4 address, or the /64 of an IPv6 one, since who has one address of that has
// all of them.
func blockOf(a netip.Addr) string {
	if !a.Is6() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return p.String()
}

func textOf(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
