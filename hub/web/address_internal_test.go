package web

import (
	"net/http"
	"net/netip"
	"testing"
)

func TestAddressOf(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("127.0.0.1/32")}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"nobody forwards":                     {"203.0.113.9:40", nil, "203.0.113.9"},
		"a stranger says what it likes":       {"203.0.113.9:40", []string{"10.1.1.1"}, "203.0.113.9"},
		"one proxy":                           {"10.0.0.1:40", []string{"203.0.113.9"}, "203.0.113.9"},
		"what the stranger wrote before":      {"10.0.0.1:40", []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		"a trusted address in its word":       {"10.0.0.1:40", []string{"10.9.9.9, 203.0.113.9"}, "203.0.113.9"},
		"two proxies":                         {"10.0.0.1:40", []string{"203.0.113.9, 10.0.0.2"}, "203.0.113.9"},
		"two headers":                         {"10.0.0.1:40", []string{"198.51.100.1", "203.0.113.9,10.0.0.2"}, "203.0.113.9"},
		"all are proxies":                     {"10.0.0.1:40", []string{"10.0.0.3, 10.0.0.2"}, "10.0.0.3"},
		"a proxy without a word":              {"10.0.0.1:40", nil, "10.0.0.1"},
		"an empty word":                       {"10.0.0.1:40", []string{""}, "10.0.0.1"},
		"no address":                          {"10.0.0.1:40", []string{"203.0.113.9, unknown"}, "10.0.0.1"},
		"no address after a proxy":            {"10.0.0.1:40", []string{"203.0.113.9, <x>, 10.0.0.2"}, "10.0.0.2"},
		"with a port":                         {"10.0.0.1:40", []string{"203.0.113.9:1234"}, "203.0.113.9"},
		"IPv6 with brackets":                  {"[fd00::1]:40", []string{"[2001:db8::1]:9"}, "2001:db8::1"},
		"IPv6 with brackets and without port": {"[fd00::1]:40", []string{"[2001:db8::1]"}, "2001:db8::1"},
		"IPv6 alone":                          {"[fd00::1]:40", []string{"2001:db8::1"}, "2001:db8::1"},
		"IPv4 in IPv6":                        {"[::ffff:127.0.0.1]:40", []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
		"a zone":                              {"[fe80::1%eth0]:40", nil, "fe80::1"},
		"no peer":                             {"@", []string{"203.0.113.9"}, ""},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := textOf(addressOf(r, trusted)); got != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
		if got := textOf(addressOf(r, nil)); c.peer != "@" && got == "203.0.113.9" && c.peer[:3] != "203" {
			t.Errorf("%s: X-Forwarded-For is believed without a proxy", name)
		}
	}
	long := &http.Request{RemoteAddr: "10.0.0.1:1", Header: http.Header{}}
	for range 1000 {
		long.Header.Add("X-Forwarded-For", "10.0.0.2")
	}
	if got := textOf(addressOf(long, trusted)); got != "10.0.0.2" {
		t.Errorf("a long list: %s", got)
	}
}

func TestBlocks(t *testing.T) {
	for a, want := range map[string]string{
		"203.0.113.9": "203.0.113.9", "2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "2001:db8:1:2:ffff::": "2001:db8:1:2::/64",
		"2001:db8:1:3::": "2001:db8:1:3::/64",
	} {
		if got := blockOf(netip.MustParseAddr(a)); got != want {
			t.Errorf("%s: %s", a, got)
		}
	}
}
