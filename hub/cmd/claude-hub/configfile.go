package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/pelletier/go-toml/v2"

	"claude-hub/internal/claudehub"
)

// configFile is the flag that names a file; kong reads what it says before it looks at what is missing.
type configFile string

// BeforeResolve reads the file.
func (configFile) BeforeResolve(app *kong.Kong, ctx *kong.Context, trace *kong.Path) error {
	path := string(ctx.FlagValue(trace.Flag).(configFile)) // the flag has this type
	if path == "" {
		return nil
	}
	values, err := readConfig(path, flagNames(app.Model.Node))
	if err != nil {
		return err
	}
	ctx.AddResolver(kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		for _, name := range flag.Envs {
			if _, set := os.LookupEnv(name); set {
				return nil, nil // the environment wins
			}
		}
		v, ok := values[flag.Name]
		if !ok {
			return nil, nil
		}
		return v, nil
	}))
	return nil
}

// flagNames are those that a file may set: the environment knows the same.
func flagNames(n *kong.Node) []string {
	var names []string
	if n.Group != nil && n.Group.Key == people {
		return nil // the file is the Hub's
	}
	for _, f := range n.Flags {
		if len(f.Envs) > 0 && f.Name != "config" {
			names = append(names, f.Name)
		}
	}
	for _, c := range n.Children {
		names = append(names, flagNames(c)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func readConfig(path string, known []string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The configuration file %s cannot be read.", path)
	}
	var raw map[string]any
	if err := toml.Unmarshal(b, &raw); err != nil {
		// The error may quote the file, and the file may hold a password: only the place is told.
		where := ""
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, column := at.Position()
			where = fmt.Sprintf(" (line %d, column %d)", line, column)
		}
		return nil, claudehub.Errorf(claudehub.Invalid, "The configuration file %s is not TOML%s. A line looks like: listen = \"127.0.0.1:8080\".", path, where)
	}
	values := map[string]string{}
	for key, v := range raw {
		name := strings.ReplaceAll(key, "_", "-")
		text, ok := textOf(v)
		switch {
		case name == "github-client-secret":
			return nil, claudehub.Errorf(claudehub.Invalid, "The configuration file %s holds GitHub's client secret. Move it to a file of its own, which %q names.",
				path, "github-client-secret-file")
		case !slices.Contains(known, name):
			return nil, claudehub.Errorf(claudehub.Invalid, "The configuration file %s sets %q, which is not known. Known are %s.",
				path, key, strings.Join(known, ", "))
		case !ok:
			return nil, claudehub.Errorf(claudehub.Invalid, "In the configuration file %s, %q has to be text in quotes.", path, key)
		}
		values[name] = text
	}
	return values, nil
}

// textOf is a text, or several of them as a flag takes them.
func textOf(v any) (string, bool) {
	list, ok := v.([]any)
	if !ok {
		text, ok := v.(string)
		return text, ok
	}
	texts := make([]string, len(list))
	for i, e := range list {
		if texts[i], ok = e.(string); !ok {
			return "", false
		}
	}
	return strings.Join(texts, ","), true
}
