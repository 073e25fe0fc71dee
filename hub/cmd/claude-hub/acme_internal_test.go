package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/letsencrypt/challtestsrv"
	"github.com/letsencrypt/pebble/v2/ca"
	"github.com/letsencrypt/pebble/v2/db"
	"github.com/letsencrypt/pebble/v2/va"
	"github.com/letsencrypt/pebble/v2/wfe"
)

const acmeName = "hub.example.org"

// authority is a real ACME authority on loopback, which finds the name at this machine.
type authority struct {
	directory string
	trust     string         // the file with what the authority's own https is to be trusted by
	issued    *x509.CertPool // what it issues
}

// newAuthority asks for challenges at two ports of loopback.
func newAuthority(t *testing.T, httpPort, tlsPort int) *authority {
	t.Helper()
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	quiet := log.New(io.Discard, "", 0)
	resolver := freePort(t)
	dns, err := challtestsrv.New(challtestsrv.Config{Log: quiet, DNSAddrs: []string{resolver}})
	check(t, err)
	dns.SetDefaultDNSIPv4("127.0.0.1")
	dns.SetDefaultDNSIPv6("")
	go dns.Run()
	t.Cleanup(dns.Shutdown)

	memory := db.NewMemoryStore()
	issuer := ca.New(quiet, memory, "", "ecdsa", 0, 1, map[string]ca.Profile{"default": {}})
	validation := va.New(quiet, httpPort, tlsPort, false, resolver, memory)
	front := wfe.New(quiet, memory, validation, issuer, []string{"authority.example.org"}, false, false, 0, 0)
	server := httptest.NewTLSServer(front.Handler())
	t.Cleanup(server.Close)

	a := &authority{directory: server.URL + wfe.DirectoryPath, trust: filepath.Join(t.TempDir(), "ca.pem"), issued: x509.NewCertPool()}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	check(t, os.WriteFile(a.trust, own, 0o600))
	a.issued.AppendCertsFromPEM(issuer.GetRootCert(0).PEM())
	return a
}

// freePort is an address on loopback that was free a moment ago.
func freePort(t testing.TB) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

func portOf(t testing.TB, address string) int {
	t.Helper()
	a, err := net.ResolveTCPAddr("tcp", address)
	check(t, err)
	return a.Port
}

// TestACME gets a certificate from a real authority in each of the two ways, and keeps it over a restart.
func TestACME(t *testing.T) {
	for way, over := range map[string]bool{"TLS-ALPN-01": true, "HTTP-01": false} {
		t.Run(way, func(t *testing.T) {
			https, plain := freePort(t), freePort(t)
			tlsPort := portOf(t, https)
			if !over {
				tlsPort = portOf(t, freePort(t)) // where nobody is
			}
			a := newAuthority(t, portOf(t, plain), tlsPort)
			dir := filepath.Join(t.TempDir(), "hub")
			args := []string{"--data", dir, "--listen", https, "--public-url", "https://" + acmeName, "--github-client-id", "Iv1.test",
				"--github-client-secret-file", writeSecret(t, "not-used-here"), "--allow", "login:ada", "--acme", acmeName, "--acme-directory", a.directory}
			if over {
				plain = "off"
			}
			args = append(args, "--http-listen", plain)
			h := startProcess(t, []string{"SSL_CERT_FILE=" + a.trust}, args...)
			if h.lines(2)[0] != "Sign in: https://"+acmeName {
				t.Errorf("it says %q", h.said)
			}
			t.Cleanup(func() {
				if t.Failed() {
					_ = h.cmd.Process.Kill()
					_ = h.cmd.Wait() // until it has, its log grows
					t.Log(h.stderr)
				}
			})
			first := getCertificate(t, https, a)
			if !over {
				sendsOn(t, plain)
			}
			h.stop()
			if kept, err := os.ReadDir(filepath.Join(dir, "acme")); err != nil || len(kept) < 2 {
				t.Errorf("kept are %v, %v", kept, err)
			}
			again := startProcess(t, []string{"SSL_CERT_FILE=" + a.trust}, args...)
			again.lines(2)
			if second := getCertificate(t, https, a); !second.Equal(first) {
				t.Error("after a restart it is another certificate")
			}
			again.stop()
		})
	}
}

func getCertificate(t *testing.T, at string, a *authority) *x509.Certificate {
	t.Helper()
	client := http.Client{Timeout: 50 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: a.issued, ServerName: acmeName, MinVersion: tls.VersionTLS12}}}
	resp, err := client.Get("https://" + at + "/healthz")
	check(t, err)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Strict-Transport-Security") == "" {
		t.Errorf("it answers %s, %v", resp.Status, resp.Header)
	}
	return resp.TLS.PeerCertificates[0]
}

func sendsOn(t *testing.T, at string) {
	t.Helper()
	conn, err := net.Dial("tcp", at)
	check(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET /sessions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	check(t, err)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	check(t, err)
	defer resp.Body.Close()
	if got := resp.Header.Get("Location"); got != "https://"+acmeName+"/sessions" || !strings.HasPrefix(resp.Status, "301") {
		t.Errorf("plain HTTP answers %s to %q", resp.Status, got)
	}
}
