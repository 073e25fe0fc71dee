package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"time"

	"claude-hub/client"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// byBrowser signs in by the device flow: the person approves a code in a browser, on any machine, and no secret is typed.
func (e *Env) byBrowser(ctx context.Context, c *client.Client, out io.Writer) (string, error) {
	name, err := os.Hostname()
	if err != nil || name == "" {
		name = "a machine without a name"
	}
	code, err := c.RequestDevice(ctx, client.DeviceRequest{Client: wire.DeviceCLI, Name: clip(name, maxDeviceName), Machine: runtime.GOOS + "/" + runtime.GOARCH})
	if err != nil {
		return "", err
	}
	page := webAddress(code.VerificationURI)
	if page == "" || code.UserCode == "" {
		return "", claudehub.Errorf(claudehub.Internal, "The Hub at %s gives no page to approve the sign-in at. Sign in with --with-token.", c.URL())
	}
	fmt.Fprintf(out, "Open %s and enter this code:\n\n    %s\n\n", clean(page), clean(code.UserCode))
	// Without the code: every user of the machine can read a program's arguments, and who knows the code first could approve
	// it as theirs.
	if e.Browse != nil && e.Browse(page) == nil {
		fmt.Fprintln(out, "A browser opens at that page.")
	}
	life := time.Duration(code.ExpiresIn) * time.Second
	if life > 0 {
		fmt.Fprintf(out, "Waiting for your approval, for %s at most …\n", span(life))
	}
	got, err := c.AwaitDevice(ctx, code)
	return got.Token, err
}

const maxDeviceName = 60 // characters

func clip(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most])
	}
	return s
}

// webAddress is one that may be shown and opened: a Hub must not make this machine open anything else.
func webAddress(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// browser opens a page where there is a screen: nil where there is none, as in a shell by SSH.
func browser(getenv func(string) string) func(address string) error {
	opener := ""
	switch {
	case getenv("SSH_CONNECTION") != "" || getenv("SSH_TTY") != "":
	case runtime.GOOS == "darwin":
		opener = "open"
	case getenv("WAYLAND_DISPLAY") != "" || getenv("DISPLAY") != "":
		opener = "xdg-open"
	}
	if opener == "" {
		return nil
	}
	path, err := exec.LookPath(opener)
	if err != nil {
		return nil
	}
	return func(address string) error {
		cmd := exec.Command(path, address) //nolint:noctx // the browser outlives this program
		if err := cmd.Start(); err != nil {
			return err
		}
		go func() { _ = cmd.Wait() }() // it ends with the opener, or with this program
		return nil
	}
}
