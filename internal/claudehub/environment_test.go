package claudehub_test

import (
	"strings"
	"testing"

	"claude-hub/internal/claudehub"
)

func TestARepositoryHasOneName(t *testing.T) {
	for url, want := range map[string]string{
		"":                                     "",
		"https://github.com/Owner/Name":        "github.com/owner/name",
		"https://github.com/owner/name.git":    "github.com/owner/name",
		"https://github.com/owner/name/":       "github.com/owner/name",
		"https://user@github.com/owner/name":   "github.com/owner/name",
		"git@github.com:owner/name.git":        "github.com/owner/name",
		"ssh://git@github.com/owner/name.git/": "github.com/owner/name",
		"http://127.0.0.1:3000/owner/name.git": "127.0.0.1:3000/owner/name",
		"ssh://git@host:22/owner/name":         "host:22/owner/name",
	} {
		got := claudehub.RepoOf(claudehub.Source{GitURL: url})
		if got != want {
			t.Errorf("%s is %q instead of %q", url, got, want)
		}
		if again := claudehub.RepoOf(claudehub.Source{GitURL: got}); again != got {
			t.Errorf("the name %q names %q", got, again)
		}
	}
}

func TestVariablesThatWouldBreakTheSandboxAreRefusedWithTheReason(t *testing.T) {
	for _, name := range []string{"PATH", "path", "LD_PRELOAD", "BASH_ENV", "HOME", "IS_SANDBOX", "CLAUDE_CONFIG_DIR", "CLAUDE_HUB_X", "ANTHROPIC_API_KEY"} {
		err := claudehub.ValidVariable(name, "x")
		if claudehub.CodeOf(err) != claudehub.Invalid || !strings.Contains(claudehub.MessageOf(err), name+" cannot be a Variable: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, value := range map[string]string{"": "x", "1X": "x", "A-B": "x", "A B": "x", "Ä": "x", strings.Repeat("A", 129): "x", "NUL": "a\x00b", "A=B": "x"} {
		if err := claudehub.ValidVariable(name, value); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := claudehub.ValidVariable("BIG", strings.Repeat("x", 200<<10)); claudehub.CodeOf(err) != claudehub.TooLarge || !strings.Contains(claudehub.MessageOf(err), "200 KB") {
		t.Errorf("200 KB: %v", err)
	}
	for name, value := range map[string]string{"A": "", "DATABASE_URL": "postgres://x", "MULTI": "a\nb\nc\n", "_x9": "é", "PATHS": "x", "HOMEPAGE": "x"} {
		if err := claudehub.ValidVariable(name, value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRecipesThatCannotBeMeantAreRefused(t *testing.T) {
	if err := claudehub.DefaultRecipe().Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*claudehub.Recipe){
		"no CPU":             func(r *claudehub.Recipe) { r.CPUs = 0 },
		"64 MB":              func(r *claudehub.Recipe) { r.Memory = 64 << 20 },
		"a terabyte":         func(r *claudehub.Recipe) { r.Memory = 1 << 40 },
		"no disk":            func(r *claudehub.Recipe) { r.Disk = 0 },
		"a policy":           func(r *claudehub.Recipe) { r.Network = "none" },
		"a host":             func(r *claudehub.Recipe) { r.Allow = []string{"http://x"} },
		"an option as image": func(r *claudehub.Recipe) { r.Base = claudehub.Base{Kind: claudehub.BaseRegistry, Ref: "--privileged"} },
		"a relative folder":  func(r *claudehub.Recipe) { r.Base = claudehub.Base{Kind: claudehub.BaseDirectory, Ref: "etc"} },
		"a kind of base":     func(r *claudehub.Recipe) { r.Base.Kind = "tarball" },
		"a name for default": func(r *claudehub.Recipe) { r.Base.Ref = "x" },
		"a NUL":              func(r *claudehub.Recipe) { r.Setup = "a\x00" },
	} {
		r := claudehub.DefaultRecipe()
		change(&r)
		if err := r.Check(); claudehub.CodeOf(err) != claudehub.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := claudehub.DefaultRecipe()
	r.Setup = strings.Repeat("x", claudehub.MaxSetup+1)
	if err := r.Check(); claudehub.CodeOf(err) != claudehub.TooLarge {
		t.Errorf("a large script: %v", err)
	}
}

// TestTheHashIsOfWhatIsBuilt: what a Sandbox may take or reach makes no other image.
func TestTheHashIsOfWhatIsBuilt(t *testing.T) {
	r := claudehub.DefaultRecipe()
	h := r.Hash()
	same := r
	same.CPUs, same.Memory, same.Network = 8, 8<<30, claudehub.NetworkInternet
	if same.Hash() != h || len(h) != 32 {
		t.Errorf("%s and %s", h, same.Hash())
	}
	script, base := r, r
	script.Setup, base.Base = "true", claudehub.Base{Kind: claudehub.BaseRegistry, Ref: "debian"}
	if script.Hash() == h || base.Hash() == h || script.Hash() == base.Hash() {
		t.Error("other images have the same hash")
	}
	if r.Builds() || !script.Builds() || !base.Builds() {
		t.Error("what there is to build")
	}
}
