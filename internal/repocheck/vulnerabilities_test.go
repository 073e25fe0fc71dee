package repocheck_test

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// answer is what a fake program prints and ends with.
type answer struct {
	out, err string
	rc       string
}

// The fakes stand before the real programs on the PATH, and say what lies beside them.
const (
	fakeGo = `#!/bin/sh
here=$(dirname "$0")
case "$*" in
  list*) if [ ! -e "$here/go-list.out" ]; then shift 7; for m; do echo "GOOD $m"; done; exit 0; fi; name=go-list ;;
  "mod verify") name=go-verify ;;
  "env GOPROXY") name=go-proxy ;;
  *) exec REAL "$@" ;;
esac
` + say
	fakeNpm = `#!/bin/sh
here=$(dirname "$0")
case "$*" in "audit signatures"*) name=npm-signatures ;; audit*) name=npm-audit ;; ls*) name=npm-ls ;; view*) name=npm-view ;; esac
` + say
	fakeGovulncheck = `#!/bin/sh
here=$(dirname "$0") name=govulncheck
` + say
	say = `cat "$here/$name.out"; cat "$here/$name.err" >&2; exit "$(cat "$here/$name.rc")"
`
)

// What the real programs were seen to print.
const (
	npmClean      = `{"auditReportVersion":2,"vulnerabilities":{},"metadata":{"vulnerabilities":{"high":0,"total":0}}}`
	npmFinds      = `{"auditReportVersion":2,"vulnerabilities":{"one":{"name":"one","severity":"high","via":[]}},"metadata":{"vulnerabilities":{"high":1,"total":1}}}`
	npmRefused    = `{"message":"405 Method Not Allowed - POST the address","method":"POST","statusCode":405,"body":"","error":{"summary":"","detail":""}}`
	npmNoName     = `{"message":"request to the address failed, reason: getaddrinfo ENOTFOUND db.invalid","error":{"summary":"","detail":""}}`
	npmSigNoName  = `{"error":{"code":"ENOTFOUND","summary":"request to the address failed, reason: getaddrinfo ENOTFOUND db.invalid","detail":""}}`
	npmBadRequest = `{"message":"400 Bad Request - POST the address","statusCode":400,"body":"","error":{"summary":"","detail":""}}`
	goNoName      = `govulncheck: fetching vulnerabilities: Get "the address": dial tcp: lookup db.invalid: no such host`
	lock          = `{"lockfileVersion":3,"packages":{"":{},"node_modules/one":{"version":"1.2.3","integrity":"sha512-x"},"node_modules/two":{"version":"2.0.0","integrity":"sha512-y"},"node_modules/tool":{"version":"1.0.0","dev":true,"deprecated":"old"}}}`
)

// clean is a machine on which every database answers, and knows nothing bad.
func clean() map[string]answer {
	return map[string]answer{
		"govulncheck": {rc: "0"}, "go-verify": {out: "all modules verified", rc: "0"}, "go-proxy": {out: "direct", rc: "0"},
		"npm-audit": {out: npmClean, rc: "0"}, "npm-signatures": {out: `{"invalid":[],"missing":[]}`, rc: "0"}, "npm-ls": {rc: "0"},
		"npm-view": {out: `"one"`, rc: "0"},
	}
}

// away is one on which no database answers, and what the product is made of is right.
func away() map[string]answer {
	m := clean()
	m["govulncheck"] = answer{err: goNoName, rc: "1"}
	m["npm-audit"] = answer{out: npmRefused, rc: "1"}
	m["npm-signatures"] = answer{out: npmSigNoName, rc: "1"}
	return m
}

// vulnerabilities runs the script in a small module of its own, with fakes.
func vulnerabilities(t *testing.T, said map[string]answer, lock string) (string, int) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, body string, mode os.FileMode) {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(body), mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"build/vulnerabilities.sh", "build/npm-said.mjs"} {
		b, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(b), 0o755)
	}
	gobin, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	write("go.mod", "module x\n\ngo 1.26\n\nrequire (\n\texample.invalid/one v1.0.0\n\texample.invalid/two v1.0.0\n\texample.invalid/three v1.0.0 // indirect\n)\n", 0o644)
	write("frontend/package.json", `{"dependencies":{"one":"^1.0.0","two":"^2.0.0"}}`, 0o644)
	write("frontend/package-lock.json", lock, 0o644)
	write("fakes/go", strings.Replace(fakeGo, "REAL", gobin, 1), 0o755)
	write("fakes/npm", fakeNpm, 0o755)
	write("fakes/govulncheck", fakeGovulncheck, 0o755)
	for name, a := range said {
		write("fakes/"+name+".out", a.out+"\n", 0o644)
		write("fakes/"+name+".err", a.err+"\n", 0o644)
		write("fakes/"+name+".rc", a.rc, 0o644)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "build/vulnerabilities.sh"))
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "fakes")+":"+os.Getenv("PATH"), "GOVULNCHECK=govulncheck")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// TestVulnerabilitiesAreNotConfused: what was found fails, what broke fails, and what cannot be reached is said and does
// not; whatever a tool's text speaks of.
func TestVulnerabilitiesAreNotConfused(t *testing.T) {
	const ok, bad = 0, 1
	for name, c := range map[string]struct {
		from func() map[string]answer
		set  map[string]answer
		lock string
		rc   int
		says []string
	}{
		"clean": {from: clean, rc: ok, says: []string{"ok    govulncheck:", "ok    npm audit:", "0 found or broke, 0 could not be reached"}},
		"away": {from: away, rc: ok, says: []string{
			"away  govulncheck: Go's vulnerability database cannot be reached", "no such host", "away  npm audit: cannot be reached: 405 Method Not Allowed",
			"ok    go list -retracted: none of 2 direct", "ok    go mod verify", "ok    npm ls", "ok    package-lock.json", "ok    npm view: the registry calls none of 2", "0 found or broke, 3 could",
		}},

		"govulncheck finds": {from: clean, set: map[string]answer{"govulncheck": {out: "GO-2099-0001: dial tcp: no such host", rc: "3"}}, rc: bad, says: []string{"FOUND govulncheck", "GO-2099-0001"}},
		"govulncheck finds, and speaks of the network": {
			from: clean, set: map[string]answer{"govulncheck": {err: goNoName, rc: "3"}}, rc: bad, says: []string{"FOUND govulncheck"},
		},
		"govulncheck is answered by a status": {
			from: clean, set: map[string]answer{"govulncheck": {err: "govulncheck: fetching vulnerabilities: HTTP GET the address returned unexpected status: 503 Service Unavailable", rc: "1"}}, rc: ok, says: []string{"away  govulncheck"},
		},
		"govulncheck panics":      {from: clean, set: map[string]answer{"govulncheck": {err: "panic: no such host", rc: "2"}}, rc: bad, says: []string{"BROKE govulncheck: it ended with 2", "panic"}},
		"govulncheck is killed":   {from: clean, set: map[string]answer{"govulncheck": {rc: "137"}}, rc: bad, says: []string{"BROKE govulncheck"}},
		"govulncheck cannot load": {from: clean, set: map[string]answer{"govulncheck": {err: "govulncheck: loading packages: no such host", rc: "1"}}, rc: bad, says: []string{"BROKE govulncheck"}},
		"govulncheck meets a forged certificate": {
			from: clean, set: map[string]answer{"govulncheck": {err: "govulncheck: fetching vulnerabilities: Get: tls: failed to verify certificate: x509: certificate signed by unknown authority", rc: "1"}}, rc: bad, says: []string{"BROKE govulncheck"},
		},

		"a dependency is retracted":  {from: away, set: map[string]answer{"go-list": {out: "GOOD example.invalid/one\nBAD example.invalid/two v1.0.0 is retracted: [it leaks]", rc: "0"}}, rc: bad, says: []string{"FOUND go list -retracted: 1 of", "it leaks"}},
		"a dependency is deprecated": {from: away, set: map[string]answer{"go-list": {out: "BAD example.invalid/one is deprecated: use three\nERROR Get: dial tcp: connection refused", rc: "0"}}, rc: bad, says: []string{"FOUND go list", "use three"}},
		"the proxy is away":          {from: away, set: map[string]answer{"go-list": {out: "ERROR Get the address: dial tcp: connection refused\nGOOD example.invalid/two", rc: "0"}}, rc: ok, says: []string{"away  go list -retracted: the module proxy cannot be reached"}},
		"the proxy is off":           {from: away, set: map[string]answer{"go-proxy": {out: "off", rc: "0"}}, rc: ok, says: []string{"away  go list -retracted: the module proxy is switched off"}},
		"the proxy says nonsense":    {from: away, set: map[string]answer{"go-list": {out: "ERROR invalid version", rc: "0"}}, rc: bad, says: []string{"BROKE go list"}},
		"go list crashes":            {from: away, set: map[string]answer{"go-list": {err: "no such host", rc: "1"}}, rc: bad, says: []string{"BROKE go list"}},
		"go list says too little":    {from: away, set: map[string]answer{"go-list": {out: "GOOD example.invalid/one", rc: "0"}}, rc: bad, says: []string{"BROKE go list", "each of 2"}},
		"a module was changed":       {from: away, set: map[string]answer{"go-verify": {out: "example.invalid/one v1.0.0: dir has been modified", rc: "1"}}, rc: bad, says: []string{"FOUND go mod verify", "dir has been modified"}},

		"npm audit finds":                {from: clean, set: map[string]answer{"npm-audit": {out: npmFinds, rc: "1"}}, rc: bad, says: []string{"FOUND npm audit: 1 vulnerable: one (high)"}},
		"npm audit finds, and ends well": {from: clean, set: map[string]answer{"npm-audit": {out: npmFinds, rc: "0"}}, rc: bad, says: []string{"FOUND npm audit"}},
		"npm audit finds no registry":    {from: clean, set: map[string]answer{"npm-audit": {out: npmNoName, rc: "1"}}, rc: ok, says: []string{"away  npm audit", "ok    npm audit signatures"}},
		"npm audit asks wrongly":         {from: clean, set: map[string]answer{"npm-audit": {out: npmBadRequest, rc: "1"}}, rc: bad, says: []string{"BROKE npm audit: 400"}},
		"npm audit crashes":              {from: clean, set: map[string]answer{"npm-audit": {err: "ENOTFOUND", rc: "134"}}, rc: bad, says: []string{"BROKE npm audit"}},
		"npm audit says half":            {from: clean, set: map[string]answer{"npm-audit": {out: npmClean[:40], rc: "0"}}, rc: bad, says: []string{"BROKE npm audit"}},
		"npm audit contradicts itself":   {from: clean, set: map[string]answer{"npm-audit": {out: npmClean, rc: "1"}}, rc: bad, says: []string{"BROKE npm audit"}},

		"a signature is wrong":   {from: away, set: map[string]answer{"npm-signatures": {out: `{"invalid":[{"name":"one","version":"1.2.3"}],"missing":[]}`, rc: "1"}}, rc: bad, says: []string{"FOUND npm audit signatures", "one@1.2.3 (invalid)"}},
		"signatures crash":       {from: away, set: map[string]answer{"npm-signatures": {out: `{"error":{"code":"ERR_X","summary":"boom"}}`, rc: "1"}}, rc: bad, says: []string{"BROKE npm audit signatures: boom"}},
		"a package is not there": {from: away, set: map[string]answer{"npm-ls": {err: "npm error missing: one@^1.0.0", rc: "1"}}, rc: bad, says: []string{"FOUND npm ls", "missing: one"}},
		"a package has no hash":  {from: away, lock: strings.Replace(lock, `,"integrity":"sha512-y"`, "", 1), rc: bad, says: []string{"FOUND package-lock.json", "node_modules/two has no hash"}},
		"it was deprecated":      {from: away, lock: strings.Replace(lock, `"sha512-y"`, `"sha512-y","deprecated":"old"`, 1), rc: bad, says: []string{"FOUND package-lock.json", "two is deprecated: old"}},
		"the lock cannot be read": {
			from: away, lock: "{", rc: bad, says: []string{"BROKE package-lock.json", "BROKE npm view: no dependency was asked about"},
		},
		"it is deprecated now":     {from: away, set: map[string]answer{"npm-view": {out: `{"name":"one","deprecated":"ENOTFOUND is what it causes"}`, rc: "0"}}, rc: bad, says: []string{"FOUND npm view one@1.2.3: ENOTFOUND is", "FOUND npm view two@2.0.0"}},
		"npm view finds no server": {from: away, set: map[string]answer{"npm-view": {out: npmSigNoName, rc: "1"}}, rc: ok, says: []string{"away  npm view", "4 could not be reached"}},
		"npm view crashes":         {from: away, set: map[string]answer{"npm-view": {rc: "1"}}, rc: bad, says: []string{"BROKE npm view one@1.2.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := c.from()
			maps.Copy(said, c.set)
			if c.lock == "" {
				c.lock = lock
			}
			out, rc := vulnerabilities(t, said, c.lock)
			if rc != c.rc {
				t.Errorf("it ended with %d, want %d", rc, c.rc)
			}
			for _, s := range c.says {
				if !strings.Contains(out, s) {
					t.Errorf("it does not say %q", s)
				}
			}
			if t.Failed() {
				t.Log(out)
			}
		})
	}
}
