package main

import (
	"os"
	"runtime"

	"claude-hub/desktop/process"
)

// openBrowser shows the page where a code is entered, where there is a screen in front of somebody. The code is not in the
// address: every user of the machine can read a program's arguments, and who knows the code first could approve it as
// theirs. That it cannot be opened is no error: the person has the address.
func openBrowser(page string) {
	if program := opener(runtime.GOOS, os.Getenv); program != "" {
		// A session of its own: the program may become the browser, which stays when this one ends.
		_, _ = process.Detach(process.Command{Path: program, Args: []string{page}}, nil, nil)
	}
}

// opener is the program that opens a page here; "" where nobody would see it.
func opener(system string, env func(string) string) string {
	switch {
	case env("SSH_CONNECTION") != "" || env("SSH_TTY") != "":
		return "" // the screen is elsewhere
	case system == "darwin":
		return "open"
	case env("DISPLAY") != "" || env("WAYLAND_DISPLAY") != "":
		return "xdg-open"
	}
	return ""
}
