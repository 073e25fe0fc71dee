package fleet

import (
	"context"

	"claude-hub/internal/claudehub"
)

// Actor is who asks, and from where: the audit log has it.
type Actor struct {
	Kind    claudehub.ActorKind
	ID      string // of the person or Runner
	Login   string // of the person
	Address string
}

type actorKey struct{}

// WithActor says for whom everything happens that is done with the context.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// actorOf: what nobody asked for, the Hub does by itself, or its operator beside it.
func actorOf(ctx context.Context) Actor {
	if a, ok := ctx.Value(actorKey{}).(Actor); ok && a.Kind != "" {
		return a
	}
	return Actor{Kind: claudehub.ActorSystem}
}

// asActor makes sure that what a person does is written down as theirs, whatever the caller said.
func asActor(ctx context.Context, p claudehub.PersonID) context.Context {
	a := actorOf(ctx)
	if a.Kind == claudehub.ActorPerson && a.ID == string(p) || p == "" {
		return ctx
	}
	return WithActor(ctx, Actor{Kind: claudehub.ActorPerson, ID: string(p), Address: a.Address})
}
