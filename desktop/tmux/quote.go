package tmux

import (
	"fmt"
	"strings"
)

// Command is a tmux command and its arguments, raw: the Client quotes them. Commands that run other commands (if-shell,
// run-shell -C, source-file, bind-key) break the count of answers and are refused.
type Command []string

// Cmd makes a Command.
func Cmd(name string, args ...string) Command { return append(Command{name}, args...) }

var refused = map[string]bool{
	"if-shell": true, "if": true, "run-shell": true, "run": true, "source-file": true, "source": true,
	"command-prompt": true, "confirm-before": true, "confirm": true,
}

// Quote makes one word of tmux's command language out of any string without NUL, which that language cannot say.
func Quote(s string) (string, error) {
	b, err := appendQuoted(nil, s)
	return string(b), err
}

func appendQuoted(dst []byte, s string) ([]byte, error) {
	if isPlain(s) {
		return append(dst, s...), nil
	}
	dst = append(dst, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != 0x7f && c != 0xff && c != '"' && c != '\\' && c != '$' && c != '~' {
			continue
		}
		dst = append(dst, s[from:i]...)
		from = i + 1
		switch c {
		case 0:
			return nil, fmt.Errorf("tmux: an argument holds a NUL byte")
		case '"', '\\', '$', '~':
			dst = append(dst, '\\', c)
		default:
			// Control bytes would end the line; tmux takes a raw 0xff for the end of its input.
			dst = append(dst, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		}
	}
	dst = append(dst, s[from:]...)
	return append(dst, '"'), nil
}

// isPlain says that s needs no quotes wherever it stands.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && strings.IndexByte("-_./:@,=", c) >= 0:
		case i == 0 && (c == '-' || c == '@'):
		default:
			return false
		}
	}
	return s != ""
}

// commandLine renders commands as one line with its line feed.
func commandLine(cmds []Command) ([]byte, error) {
	var line []byte
	for i, cmd := range cmds {
		if len(cmd) == 0 || !isPlain(cmd[0]) || refused[cmd[0]] {
			return nil, fmt.Errorf("tmux: command %d cannot be sent", i)
		}
		if i > 0 {
			line = append(line, " ; "...)
		}
		for j, arg := range cmd {
			if j > 0 {
				line = append(line, ' ')
			}
			var err error
			if line, err = appendQuoted(line, arg); err != nil {
				return nil, err
			}
		}
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("tmux: no command")
	}
	return append(line, '\n'), nil
}
