package runner

import (
	"context"
	"fmt"
	"strings"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// variablesLimit bounds the asking for Variables, and variablesPause is between tries: a Hub that starts again is not
// away for long.
const (
	variablesLimit = 30 * time.Second
	variablesPause = time.Second
	// A build, which may take an hour, waits longer before all that it did is lost.
	buildVariablesLimit = 10 * time.Minute
)

// takeVariables gets what the Session's processes are given beside what the Sandbox has. Its values are held in memory
// until the Sandbox stops: they are in no file, no argument list and no log.
func (s *session) takeVariables(ctx context.Context, d wire.DesiredSession) error {
	s.mu.Lock()
	held := s.variables
	s.mu.Unlock()
	if held != nil && held.Revision == d.Variables {
		return nil // its Sandbox ended by itself, and the Hub may be away
	}
	s.holdVariables(nil)
	if d.Variables == "" {
		s.holdVariables(&wire.Variables{})
		return nil
	}
	return s.step(ctx, claudehub.PhasePreparing, stepVariables, s.on.variablesLimit, func(ctx context.Context, _ func(string, float64)) error {
		v, err := askVariables(ctx, func(ctx context.Context) (wire.Variables, error) { return s.on.hub.Variables(ctx, s.id) })
		if err != nil {
			return err
		}
		s.holdVariables(&v)
		return nil
	})
}

// askVariables asks the Hub until it answers or ctx ends.
func askVariables(ctx context.Context, ask func(context.Context) (wire.Variables, error)) (wire.Variables, error) {
	for {
		v, err := ask(ctx)
		switch {
		case err == nil:
			return v, nil
		case claudehub.CodeOf(err) != claudehub.Unavailable && ctx.Err() == nil:
			return v, &stepError{step: stepVariables, err: err, retry: true}
		}
		newSignal().wait(ctx, variablesPause)
		if ctx.Err() != nil {
			return v, &stepError{
				step: stepVariables, retry: true,
				err: claudehub.Errorf(claudehub.Unavailable, "It cannot start: its Variables are at the Hub, which cannot be reached."),
				fix: "It starts by itself once the Hub answers.",
			}
		}
	}
}

func (s *session) holdVariables(v *wire.Variables) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.variables = v
}

// ensureVariables makes sure that they are held, for a new life in a Sandbox that runs already: after a Runner's restart
// they are not.
func (s *session) ensureVariables(ctx context.Context, d wire.DesiredSession) error {
	s.mu.Lock()
	held := s.variables != nil
	s.mu.Unlock()
	if held {
		return nil
	}
	return s.takeVariables(ctx, d)
}

// environ is what is held, as a process takes it. What no Variable may be called is left out, and said: the Hub refuses
// it as well, and an older one may not.
func (s *session) environ(ctx context.Context, d wire.DesiredSession) []string {
	s.mu.Lock()
	held := s.variables
	s.mu.Unlock()
	if held == nil {
		return nil
	}
	recipe, _ := recipeOf(d)
	env, refused := environ(held.Items)
	if len(refused) > 0 {
		s.notice(ctx, fmt.Sprintf("These Variables were left out, since no Variable can be called so or hold what they hold: %s.", strings.Join(refused, ", ")))
	}
	// Last, and so under all others: what the image says of its own programs.
	return append(env, s.on.builds.maker.Environ(recipe.Hash())...)
}

func environ(items []wire.Variable) (env, refused []string) {
	total := 0
	for i, v := range items {
		total += len(v.Name) + len(v.Value)
		if claudehub.ValidVariable(v.Name, v.Value) != nil || i >= 2*claudehub.MaxVariables || total > 2*claudehub.MaxVariableTotal {
			refused = append(refused, oneLine(v.Name))
			continue
		}
		env = append(env, v.Name+"="+v.Value)
	}
	return env, refused
}
