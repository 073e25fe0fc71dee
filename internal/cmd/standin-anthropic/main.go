// Command standin-anthropic serves the stand-in for Anthropic's API on loopback: for tests and for the demo, never for
// anything that should look like the real service. Its first line of output says where it listens.
package main

import (
	"flag"
	"net/http"

	"claude-hub/internal/standin"
	"claude-hub/internal/standin/anthropic"
)

func main() { program().Main() }

func program() standin.Program {
	var script, tokenFile string
	return standin.Program{
		Name:   "standin-anthropic",
		Banner: "This is the " + anthropic.Name + ". It is not Anthropic, and no model answers here.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&script, "script", "", "script `file`; without one, every prompt is echoed")
			flags.StringVar(&tokenFile, "token-file", "", "`file` with the bearer token that callers must carry; without one, any")
		},
		New: func() (http.Handler, error) {
			var o anthropic.Options
			var err error
			if script != "" {
				if o.Script, err = anthropic.LoadScript(script); err != nil {
					return nil, err
				}
			}
			if o.Token, err = standin.ReadSecret(tokenFile); err != nil {
				return nil, err
			}
			server, err := anthropic.New(o)
			if err != nil {
				return nil, err
			}
			return server.Handler(), nil
		},
	}
}
