// Command standin-github serves the stand-in for GitHub on loopback: for tests and for the demo, never for anything
// that should look like the real service. Its first line of output says where it listens.
package main

import (
	"errors"
	"flag"
	"net/http"

	"claude-hub/internal/standin"
	"claude-hub/internal/standin/github"
)

func main() { program().Main() }

func program() standin.Program {
	var script, secretFile string
	return standin.Program{
		Name:   "standin-github",
		Banner: "This is the " + github.Name + ". It is not GitHub, and knows nobody's account there.",
		Flags: func(flags *flag.FlagSet) {
			flags.StringVar(&script, "script", "", "script `file`: the application, people and organisations (needed)")
			flags.StringVar(&secretFile, "client-secret-file", "", "`file` with the secret that the application must show; without one, any")
		},
		New: func() (http.Handler, error) {
			if script == "" {
				return nil, errors.New("say with --script who there is; the package doc of internal/standin/github shows the form")
			}
			s, err := github.LoadScript(script)
			if err != nil {
				return nil, err
			}
			secret, err := standin.ReadSecret(secretFile)
			if err != nil {
				return nil, err
			}
			server, err := github.New(github.Options{Script: s, ClientSecret: secret})
			if err != nil {
				return nil, err
			}
			return server.Handler(), nil
		},
	}
}
