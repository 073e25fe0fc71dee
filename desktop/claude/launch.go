package claude

import "strings"

// Launch is one start of Claude Code. Model and Effort are taken as they are: claudehub has the rules about them.
type Launch struct {
	Program   string   // its path, as the new process sees it
	SessionID string   // a UUID: Claude Code's name of the conversation
	Resume    bool     // go on with it instead of beginning it
	Model     string   // "" and "default" leave the choice to Claude Code
	Effort    string   // "" and "default" leave the choice to Claude Code
	Plugins   []string // folders of plugins, as the new process sees them
	ConfigDir string
	SpoolDir  string // for the mod; "" gives it none
	Token     Token
	// BaseURL is where the API is instead of at Anthropic: a gateway, or the stand-in of tests.
	BaseURL string
	// Env is what else the process gets. It wins over nothing that is set here.
	Env []string
}

// Command returns the argument list, program first, and the environment. The environment holds the setup token; the
// arguments, which every process can read, hold no secret.
func (l Launch) Command() (argv, env []string) {
	argv = []string{l.Program, "--dangerously-skip-permissions"}
	if l.Resume {
		argv = append(argv, "--resume", l.SessionID)
	} else {
		argv = append(argv, "--session-id", l.SessionID)
	}
	if chosen(l.Model) {
		argv = append(argv, "--model", l.Model)
	}
	if chosen(l.Effort) {
		argv = append(argv, "--effort", l.Effort)
	}
	for _, dir := range l.Plugins {
		argv = append(argv, "--plugin-dir", dir)
	}
	return argv, l.env()
}

func (l Launch) env() []string {
	env := []string{
		"CLAUDE_CONFIG_DIR=" + l.ConfigDir,
		"IS_SANDBOX=1", // the permission prompts can be skipped by root, too
		"DISABLE_AUTOUPDATER=1",
		"DISABLE_INSTALLATION_CHECKS=1", // the program is a mount, and it warns that nobody installed it
	}
	if l.SpoolDir != "" {
		env = append(env, "CLAUDE_HUB_REPORT="+l.SpoolDir)
	}
	if !l.Token.IsZero() {
		env = append(env, "CLAUDE_CODE_OAUTH_TOKEN="+l.Token.Secret())
	}
	if l.BaseURL != "" {
		env = append(env, "ANTHROPIC_BASE_URL="+l.BaseURL, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
	}
	// One of each name: of two, shells and the C library do not take the same.
	set := map[string]bool{}
	for _, e := range env {
		set[nameOf(e)] = true
	}
	for _, e := range l.Env {
		if name := nameOf(e); !set[name] {
			set[name] = true
			env = append(env, e)
		}
	}
	return env
}

func nameOf(e string) string {
	name, _, _ := strings.Cut(e, "=")
	return name
}

func chosen(s string) bool { return s != "" && s != "default" }
