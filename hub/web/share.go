package web

import (
	"context"

	"claude-hub/internal/claudehub"
)

// ShareRequest is the body of share-session: one of the two.
type ShareRequest struct {
	Login    string `json:"login,omitempty" maxLength:"100" doc:"of a person on this Hub"`
	Everyone *bool  `json:"everyone,omitempty" doc:"everyone on this Hub who can see the Session's repository"`
}

func (s *server) share(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Body ShareRequest
}) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	switch b := in.Body; {
	case (b.Login == "") == (b.Everyone == nil):
		return nil, claudehub.Errorf(claudehub.Invalid, "Share with one person (login), or with everyone who can see the repository (everyone).")
	case b.Everyone != nil:
		return one(s.fleet.ShareEveryone(ctx, c.ID, id, *b.Everyone))
	default:
		return one(s.fleet.Share(ctx, c.ID, id, b.Login))
	}
}

func (s *server) unshare(ctx context.Context, c personCaller, in *struct {
	SessionPath
	Person string `path:"person" maxLength:"64"`
}) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.Unshare(ctx, c.ID, id, claudehub.PersonID(in.Person)))
}

// SessionLink is the address that lets its holder watch. It is shown this once.
type SessionLink struct {
	URL string `json:"url" doc:"shown this once"`
}

type linkOut struct {
	Cache string `header:"Cache-Control"`
	Body  SessionLink
}

// createLink has the token behind the #, which no browser sends, so that it is in no server's log.
func (s *server) createLink(ctx context.Context, c personCaller, in *SessionPath) (*linkOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	token, _, err := s.fleet.CreateLink(ctx, c.ID, id)
	if err != nil {
		return nil, err
	}
	return &linkOut{noStore, SessionLink{s.absolute(ctx, "/join#"+token.Reveal())}}, nil
}

func (s *server) revokeLink(ctx context.Context, c personCaller, in *SessionPath) (*sessionOut, error) {
	id, err := claudehub.ParseSessionID(in.ID)
	if err != nil {
		return nil, err
	}
	return one(s.fleet.RevokeLink(ctx, c.ID, id))
}

// JoinRequest is the body of join.
type JoinRequest struct {
	Token string `json:"token" maxLength:"200" doc:"what the link has after its #"`
}

func (s *server) join(ctx context.Context, c personCaller, in *struct{ Body JoinRequest }) (*sessionOut, error) {
	token, err := claudehub.ParseToken(claudehub.JoinToken, in.Body.Token)
	if err != nil {
		token = claudehub.Token{} // nobody's: the fleet's words for a link that opens nothing
	}
	return one(s.fleet.Join(ctx, c.ID, token))
}

func (s *server) findPeople(ctx context.Context, c personCaller, in *struct {
	Query string `query:"q" maxLength:"100" doc:"how a login or a name begins"`
}) (*itemsOut[claudehub.Face], error) {
	return items(s.fleet.FindPeople(ctx, c.ID, in.Query))
}
