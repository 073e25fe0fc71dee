package hub

import (
	"context"
	"log/slog"
	"strconv"
	"time"

	"claude-hub/hub/secret"
	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

// openKeyset finds the keyset that belongs to a database. The first start makes both: a keyset file, and in the database
// something sealed with it. From then on only that keyset will do, and a missing one is not replaced.
func openKeyset(ctx context.Context, path string, st *store.Store, log *slog.Logger) (*secret.Box, error) {
	check, err := st.Read().KeysetCheck(ctx)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		return firstKeyset(ctx, path, st, log)
	}
	if err != nil {
		return nil, err
	}
	box, err := secret.Load(path)
	switch {
	case claudehub.CodeOf(err) == claudehub.NotFound:
		return nil, claudehub.WithCause(claudehub.Invalid, err, "The keyset %s is missing, and without it the Variables in the database cannot be read. "+
			"Put it back from a backup, or name its place with --keyset. Nothing was changed. "+wayOut, path)
	case err != nil:
		return nil, err
	case !box.IsOf(check):
		return nil, claudehub.Errorf(claudehub.Invalid, "The keyset %s is not the one that the Variables in the database are encrypted with. "+
			"Put the right one in its place, from a backup or from the Hub that shares the database, or name it with --keyset. Nothing was changed. "+wayOut, path)
	}
	return box, nil
}

const wayOut = "If it is lost for good, so are the Variables: `claude-hub keyset reset --delete-variables` starts anew without them."

func firstKeyset(ctx context.Context, path string, st *store.Store, log *slog.Logger) (*secret.Box, error) {
	box, err := secret.Load(path)
	if claudehub.CodeOf(err) == claudehub.NotFound {
		if box, err = secret.Create(path); err == nil { // back it up, apart from the database
			log.Debug("a keyset was made", "path", path)
		}
	}
	if err != nil {
		return nil, err
	}
	check, err := box.Check()
	if err != nil {
		return nil, err
	}
	err = st.Write(ctx, func(q store.Q) error { return q.AddKeysetCheck(ctx, check) })
	if claudehub.CodeOf(err) == claudehub.Conflict { // another process was first, perhaps with another keyset
		return openKeyset(ctx, path, st, log)
	}
	return box, err
}

// RotateKeyset makes a new key, and seals everything with it.
func (a *Admin) RotateKeyset(ctx context.Context) (variables int, err error) {
	path := a.cfg.keyset()
	if _, err := openKeyset(ctx, path, a.parts.store, a.parts.log); err != nil {
		return 0, err
	}
	box, err := secret.Rotate(path)
	if err != nil {
		return 0, err
	}
	return a.parts.withSecrets(box).Reseal(ctx)
}

// ResetKeyset deletes every Variable, and forgets which keyset they were sealed with: the next start takes the one that
// it finds, or makes one.
func (a *Admin) ResetKeyset(ctx context.Context) (variables int, err error) {
	err = a.parts.store.Write(ctx, func(q store.Q) (err error) {
		if variables, err = q.ForgetKeyset(ctx); err != nil {
			return err
		}
		return q.Note(claudehub.AuditEntry{At: time.Now(), Kind: claudehub.ActorSystem, Action: "keyset.reset", Outcome: claudehub.OutcomeOK,
			Detail: map[string]string{"variables": strconv.Itoa(variables)}})
	})
	return variables, err
}
