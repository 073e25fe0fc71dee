package tmux

import "strings"

// SessionName is the one tmux session of a Sandbox.
const SessionName = "main"

const windowName = "claude-hub"

// target is the session's one pane in tmux's words.
const target = "=" + SessionName + ":"

// serverOptions are set before the pane exists, since some count at its birth only. The reasons:
//
//   - remain-on-exit keeps the last screen and the exit code; its format is empty so that nothing is drawn over the screen.
//   - set-clipboard is off: an OSC 52 write is in the pane's raw output, which is all a control client sees, whatever this
//     says; "on" would make tmux also keep a copy and answer OSC 52 reads with it.
//   - message-limit is 0: tmux's message log would keep the text of every command, keystrokes and secrets included.
var serverOptions = [][]string{
	{"set-option", "-s", "escape-time", "0"},
	{"set-option", "-s", "exit-empty", "off"},
	{"set-option", "-s", "set-clipboard", "off"},
	{"set-option", "-s", "focus-events", "on"},
	{"set-option", "-s", "extended-keys", "on"},
	{"set-option", "-s", "message-limit", "0"},
	{"set-option", "-s", "buffer-limit", "1"},
	{"set-option", "-s", "default-terminal", "tmux-256color"},
	{"set-option", "-s", "terminal-overrides", "*:RGB"},
	{"set-option", "-g", "default-shell", "/bin/sh"},
	{"set-option", "-g", "destroy-unattached", "off"},
	{"set-option", "-g", "history-limit", "5000"},
	{"set-option", "-g", "mouse", "off"},
	{"set-option", "-g", "prefix", "None"},
	{"set-option", "-g", "prefix2", "None"},
	{"set-option", "-g", "set-titles", "off"},
	{"set-option", "-g", "status", "off"},
	{"set-option", "-g", "update-environment", ""},
	{"set-option", "-g", "visual-activity", "off"},
	{"set-option", "-g", "visual-bell", "off"},
	{"set-option", "-wg", "aggressive-resize", "off"},
	{"set-option", "-wg", "allow-passthrough", "off"},
	{"set-option", "-wg", "allow-rename", "off"},
	{"set-option", "-wg", "automatic-rename", "off"},
	{"set-option", "-wg", "monitor-bell", "off"},
	{"set-option", "-wg", "remain-on-exit", "on"},
	{"set-option", "-wg", "remain-on-exit-format", ""},
	{"unbind-key", "-a", "-q", "-T", "prefix"},
	{"unbind-key", "-a", "-q", "-T", "root"},
	{"unbind-key", "-a", "-q", "-T", "copy-mode"},
	{"unbind-key", "-a", "-q", "-T", "copy-mode-vi"},
}

// Start is where a Sandbox's tmux server listens and what its one pane runs.
type Start struct {
	Socket     string // in the Sandbox
	Cols, Rows uint16
	// Argv is run without a shell. It is seen by all in the Sandbox: secrets go into the environment of the process that
	// runs the command.
	Argv []string
}

// StartCommand is the program and its arguments that start the server, detached, with its pane. Everything in the
// environment of that process is in the pane's.
func StartCommand(s Start) (path string, args []string) {
	args = []string{"-u", "-f", "/dev/null", "-S", s.Socket, "start-server"}
	for _, option := range serverOptions {
		args = append(append(args, ";"), option...)
	}
	args = append(args, ";", "new-session", "-d", "-s", SessionName, "-n", windowName,
		"-x", size(s.Cols), "-y", size(s.Rows), "--")
	for _, arg := range paneArgv(s.Argv) {
		// tmux takes a ';' at the end of an argument for the end of the command.
		if head, ok := strings.CutSuffix(arg, ";"); ok {
			arg = head + `\;`
		}
		args = append(args, arg)
	}
	return "tmux", append(append(args, ";"), keepSize(target)...)
}

// AttachCommand is the program and its arguments whose stdin and stdout, without a pseudo terminal, are a Terminal's
// transport.
func AttachCommand(socket string) (path string, args []string) {
	return "tmux", []string{"-u", "-f", "/dev/null", "-S", socket, "-C", "attach-session", "-t", "=" + SessionName,
		"-f", "ignore-size," + pauseAfter}
}

// paneArgv runs a program through env: without tmux's own variables, so that the program wraps nothing (OSC 52 for
// example) for a tmux that viewers do not have; and as two arguments at least, since tmux gives a single one to a shell.
func paneArgv(argv []string) []string {
	return append([]string{"env", "-u", "TMUX", "-u", "TMUX_PANE"}, argv...)
}

// keepSize makes a window keep its size whoever attaches or leaves. As a global option it makes tmux 3.3a crash at the
// next new window.
func keepSize(window string) []string {
	return []string{"set-option", "-w", "-t", window, "window-size", "manual"}
}
