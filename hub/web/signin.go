package web

import (
	"context"
	"net/http"
	"time"

	"claude-hub/hub/fleet"
	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Empty is an answer or a question without content.
type Empty struct{}

// HubInfo is what a page must know before anyone signed in.
type HubInfo struct {
	Version   string   `json:"version"`
	Mode      string   `json:"mode" enum:"local,github" doc:"how people sign in: with a link that the Hub prints, or at GitHub"`
	GitHub    *GitHub  `json:"github,omitempty" doc:"in the mode github"`
	Setup     bool     `json:"setup" doc:"a set-up code waits for whoever is to be the first admin"`
	Notice    string   `json:"notice" doc:"shown on every page when not empty"`
	Protocol  int      `json:"protocol"`
	Models    []string `json:"models"`
	Efforts   []string `json:"efforts"`
	MaxPrompt int      `json:"max_prompt" doc:"bytes"`
	SignedIn  bool     `json:"signed_in"`
}

// GitHub is where people sign in.
type GitHub struct {
	URL string `json:"url"`
}

type hubOut struct{ Body HubInfo }

func (s *server) health(context.Context, *Empty) (*struct{ Body Health }, error) {
	return &struct{ Body Health }{Health{OK: true}}, nil
}

// Health says that the Hub answers.
type Health struct {
	OK bool `json:"ok"`
}

func (s *server) hubInfo(ctx context.Context, in *cookieIn) (*hubOut, error) {
	signedIn := false
	if t, err := claudehub.ParseToken(claudehub.BrowserToken, in.Cookie); err == nil {
		_, _, err = s.fleet.Authenticate(ctx, t)
		signedIn = err == nil
	}
	out := HubInfo{
		Version: s.opt.Version, Mode: s.mode(), Notice: s.opt.Notice, Protocol: wire.Protocol,
		Models: claudehub.Models, Efforts: claudehub.Efforts, MaxPrompt: claudehub.MaxPrompt, SignedIn: signedIn,
	}
	if s.fleet.Local() {
		return &hubOut{out}, nil
	}
	out.GitHub = &GitHub{URL: s.opt.GitHubURL}
	var err error
	out.Setup, err = s.fleet.SetupWaits(ctx)
	return &hubOut{out}, err
}

type cookieIn struct {
	Cookie string `cookie:"claude_hub"`
}

type signInIn struct {
	UserAgent string `header:"User-Agent"`
	Body      struct {
		Token string `json:"token" doc:"what the link has after its #"`
	}
}

type cookieOut struct {
	Cookie string `header:"Set-Cookie"`
}

func (s *server) signIn(ctx context.Context, in *signInIn) (*cookieOut, error) {
	link, err := claudehub.ParseToken(claudehub.SignInToken, in.Body.Token)
	if err != nil {
		return nil, claudehub.WithCause(claudehub.Unauthenticated, err, "That sign-in link is not whole. Copy all of it, or make a new one.")
	}
	cookie, err := s.fleet.SignIn(ctx, link, limitText(in.UserAgent, 300), textOf(recordOf(ctx).address))
	if err != nil {
		return nil, err
	}
	return &cookieOut{s.cookie(cookie.Reveal(), cookieLife)}, nil
}

// cookieLife is as long as browsers keep one. The Hub ends it, 30 days after its last use.
const cookieLife = 400 * 24 * time.Hour

// cookie is strict: the pages themselves need none, and what they ask for comes from the same site.
func (s *server) cookie(value string, life time.Duration) string {
	c := http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: int(life / time.Second),
		HttpOnly: true, Secure: s.opt.TLS, SameSite: http.SameSiteStrictMode,
	}
	return c.String()
}

// Me is the person who asks.
type Me struct {
	claudehub.Person
	Mode string `json:"mode" enum:"local,github"`
}

type meOut struct{ Body Me }

func (s *server) me(_ context.Context, c personCaller, _ *Empty) (*meOut, error) {
	return s.asMe(c.Person), nil
}

func (s *server) signOut(ctx context.Context, c personCaller, _ *Empty) (*cookieOut, error) {
	if !c.token.IsZero() {
		return &cookieOut{}, s.fleet.RevokeAPIToken(ctx, c.ID, c.tokenID)
	}
	if err := s.fleet.SignOut(ctx, c.cookie); err != nil {
		return nil, err
	}
	return &cookieOut{s.cookie("", -time.Second)}, nil
}

// SignInItem is one browser that is signed in.
type SignInItem struct {
	fleet.SignIn
	Current bool `json:"current" doc:"the one that asks"`
}

type signInsOut struct {
	Body struct {
		Items []SignInItem `json:"items"`
	}
}

func (s *server) signIns(ctx context.Context, c personCaller, _ *Empty) (*signInsOut, error) {
	all, err := s.fleet.SignIns(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	out := &signInsOut{}
	out.Body.Items = make([]SignInItem, len(all))
	for i, in := range all {
		out.Body.Items[i] = SignInItem{in, in.ID == c.signIn.ID}
	}
	return out, nil
}

func (s *server) revokeSignIn(ctx context.Context, c personCaller, in *struct {
	ID string `path:"id" maxLength:"64"`
}) (*Empty, error) {
	return &Empty{}, s.fleet.RevokeSignIn(ctx, c.ID, in.ID)
}

func limitText(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
