package web

import (
	"context"
	"net/http"
	"time"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

func (s *server) listTokens(ctx context.Context, c personCaller, _ *Empty) (*itemsOut[claudehub.APIToken], error) {
	return items(s.fleet.APITokens(ctx, c.ID))
}

// noStore is the Cache-Control of an answer that holds a secret.
const noStore = "no-store"

// NewAPIToken is the body of create-token.
type NewAPIToken struct {
	Name    string            `json:"name"`
	Scopes  []claudehub.Scope `json:"scopes" doc:"sessions:read, sessions:drive, environments, runners"`
	Expires time.Time         `json:"expires,omitzero" doc:"at most a year away; absent for a token that lives until it is revoked"`
}

// MadeAPIToken is a new token, with what it is itself: this once.
type MadeAPIToken struct {
	claudehub.APIToken
	Token string `json:"token" doc:"shown this once"`
}

type madeTokenOut struct {
	Cache string `header:"Cache-Control"`
	Body  MadeAPIToken
}

func (s *server) createToken(ctx context.Context, c personCaller, in *struct{ Body NewAPIToken }) (*madeTokenOut, error) {
	t, secret, err := s.fleet.CreateAPIToken(ctx, c.ID, in.Body.Name, in.Body.Scopes, in.Body.Expires)
	if err != nil {
		return nil, err
	}
	return &madeTokenOut{noStore, MadeAPIToken{t, secret.Reveal()}}, nil
}

func (s *server) revokeToken(ctx context.Context, c personCaller, in *struct {
	ID string `path:"id" maxLength:"64"`
}) (*Empty, error) {
	return &Empty{}, s.fleet.RevokeAPIToken(ctx, c.ID, in.ID)
}

func (s *server) revokeRunner(ctx context.Context, c personCaller, in *struct {
	ID string `path:"id"`
}) (*Empty, error) {
	id, err := claudehub.ParseRunnerID(in.ID)
	if err != nil {
		return nil, err
	}
	return &Empty{}, s.fleet.RevokeRunner(ctx, c.Person, id)
}

// runnerToken gives a Runner its next token. Only the process that holds the lease is given one: another on the same
// token would take it away from that.
func (s *server) runnerToken(w http.ResponseWriter, r *http.Request, c runnerCaller) error {
	if err := s.fleet.CheckLease(r.Context(), c.id, c.instance); err != nil {
		return err
	}
	next, err := s.fleet.NextRunnerToken(r.Context(), c.id, c.token)
	if err != nil {
		return sameAs(err, errRunnerToken)
	}
	w.Header().Set("Cache-Control", noStore)
	return writeJSON(w, wire.NewToken{Token: next.Reveal()})
}
