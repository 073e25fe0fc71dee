package fleet

import (
	"context"

	"claude-hub/internal/claudehub"
	"claude-hub/internal/wire"
)

// Run expires prompts and finds links that went silent, until ctx ends.
func (f *Fleet) Run(ctx context.Context) error { return errEarly }

func (f *Fleet) SignInLink(ctx context.Context) (claudehub.Token, error) {
	return claudehub.Token{}, errEarly
}
func (f *Fleet) SignIn(ctx context.Context, link claudehub.Token, userAgent, address string) (claudehub.Token, error) {
	return claudehub.Token{}, errEarly
}
func (f *Fleet) Authenticate(ctx context.Context, cookie claudehub.Token) (claudehub.Person, SignIn, error) {
	return claudehub.Person{}, SignIn{}, errEarly
}
func (f *Fleet) SignOut(ctx context.Context, cookie claudehub.Token) error { return errEarly }
func (f *Fleet) SignIns(ctx context.Context, p claudehub.PersonID) ([]SignIn, error) {
	return nil, errEarly
}
func (f *Fleet) RevokeSignIn(ctx context.Context, p claudehub.PersonID, id string) error {
	return errEarly
}

func (f *Fleet) AddRunner(ctx context.Context, owner claudehub.PersonID, name string) (claudehub.Runner, claudehub.Token, error) {
	return claudehub.Runner{}, claudehub.Token{}, errEarly
}
func (f *Fleet) AuthenticateRunner(ctx context.Context, t claudehub.Token) (claudehub.RunnerID, error) {
	return "", errEarly
}
func (f *Fleet) Runners(ctx context.Context, p claudehub.PersonID) ([]claudehub.Runner, error) {
	return nil, errEarly
}
func (f *Fleet) RenameRunner(ctx context.Context, p claudehub.PersonID, id claudehub.RunnerID, name string) (claudehub.Runner, error) {
	return claudehub.Runner{}, errEarly
}

func (f *Fleet) AcquireLease(ctx context.Context, r claudehub.RunnerID, instance, host string, takeOver bool) error {
	return errEarly
}
func (f *Fleet) RenewLease(ctx context.Context, r claudehub.RunnerID, instance string) error {
	return errEarly
}
func (f *Fleet) ReleaseLease(ctx context.Context, r claudehub.RunnerID, instance string) error {
	return errEarly
}
func (f *Fleet) CheckLease(ctx context.Context, r claudehub.RunnerID, instance string) error {
	return errEarly
}

// Listen calls fn, from one goroutine, with what a Runner's stream has to send: kinds are wire.Event* with their JSON,
// Nudge (look at DesiredSince), and bus.Cut as the last one (end the stream). Superseded only reaches the instance that it is for.
// Subscribe first, then take the lease, then the snapshot.
func (f *Fleet) Listen(ctx context.Context, r claudehub.RunnerID, instance string, fn func(kind string, data []byte)) (stop func(), err error) {
	return nil, errEarly
}
func (f *Fleet) Snapshot(ctx context.Context, r claudehub.RunnerID) (wire.Snapshot, error) {
	return wire.Snapshot{}, errEarly
}

// DesiredSince gives code Expired when the number is not from this Hub's log (a restored database): send a snapshot.
func (f *Fleet) DesiredSince(ctx context.Context, r claudehub.RunnerID, seq int64) ([]wire.DesiredSession, error) {
	return nil, errEarly
}
func (f *Fleet) ObserveStatus(ctx context.Context, r claudehub.RunnerID, s wire.Status) (wire.StatusReply, error) {
	return wire.StatusReply{}, errEarly
}
func (f *Fleet) StoreEvents(ctx context.Context, r claudehub.RunnerID, e wire.Events) (wire.EventsReply, error) {
	return wire.EventsReply{}, errEarly
}

func (f *Fleet) Sessions(ctx context.Context, p claudehub.PersonID, archived bool) ([]claudehub.Session, error) {
	return nil, errEarly
}
func (f *Fleet) Session(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) CreateSession(ctx context.Context, p claudehub.PersonID, n NewSession) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) UpdateSession(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, u SessionUpdate) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Sleep(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Wake(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Archive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Unarchive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Retry(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) CancelStep(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Stop(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) NewConversation(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}

func (f *Fleet) Prompts(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) ([]claudehub.Prompt, error) {
	return nil, errEarly
}
func (f *Fleet) AddPrompt(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, text, request string) (claudehub.Prompt, error) {
	return claudehub.Prompt{}, errEarly
}
func (f *Fleet) CancelPrompt(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID, prompt claudehub.PromptID) (claudehub.Prompt, error) {
	return claudehub.Prompt{}, errEarly
}
func (f *Fleet) History(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) ([]Entry, error) {
	return nil, errEarly
}

func (f *Fleet) Drive(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}
func (f *Fleet) Watch(ctx context.Context, p claudehub.PersonID, id claudehub.SessionID) (claudehub.Session, error) {
	return claudehub.Session{}, errEarly
}

// RunnerLink is the hop from Hub to Runner, for a terminal's state.
func (f *Fleet) RunnerLink(ctx context.Context, r claudehub.RunnerID) (claudehub.Link, error) {
	return claudehub.Link{}, errEarly
}
func (f *Fleet) SendInput(ctx context.Context, p claudehub.PersonID, in wire.Input) error {
	return errEarly
}
func (f *Fleet) SendResize(ctx context.Context, p claudehub.PersonID, r wire.Resize) error {
	return errEarly
}
func (f *Fleet) Attach(ctx context.Context, r claudehub.RunnerID, a wire.Attach) error {
	return errEarly
}
func (f *Fleet) Detach(ctx context.Context, r claudehub.RunnerID, d wire.Detach) error {
	return errEarly
}

// OwnsSession refuses with NotFound a screen posted for a Session that is not this Runner's.
func (f *Fleet) OwnsSession(ctx context.Context, r claudehub.RunnerID, id claudehub.SessionID) error {
	return errEarly
}

// Changes calls send, from one goroutine, for each change that the person may see, until ctx ends (nil), send fails (its error), or this
// stream fell behind (Unavailable): the page then connects again and fetches all. The first Change is zero: subscribed.
func (f *Fleet) Changes(ctx context.Context, p claudehub.PersonID, send func(Change) error) error {
	return errEarly
}
