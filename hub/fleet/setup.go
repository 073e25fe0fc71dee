package fleet

import (
	"context"
	"strings"

	"claude-hub/hub/store"
	"claude-hub/internal/claudehub"
)

var errBadSetupCode = claudehub.Errorf(claudehub.Forbidden,
	"That set-up code is not valid, or not any more: it is good once, and a start of the Hub without an admin makes a new one. It is in the Hub's output.")

// NewSetupCode makes the code with which the first person becomes admin, in place of any before it. None is made in local
// mode, whose one person is admin, and when there is an admin.
func (f *Fleet) NewSetupCode(ctx context.Context) (code claudehub.Token, made bool, err error) {
	if f.Local() {
		return claudehub.Token{}, false, nil
	}
	code = claudehub.NewToken(claudehub.SetupToken)
	err = f.st.Write(ctx, func(q store.Q) error {
		made = false
		admins, err := q.LockAdmins(ctx, false)
		if err != nil || len(admins) > 0 {
			return err
		}
		made = true
		return q.SetSetupCode(ctx, code.Hash(), f.now())
	})
	if err != nil || !made {
		return claudehub.Token{}, false, err
	}
	return code, true, nil
}

// SetupWaits tells whether a set-up code waits for whoever is to be the first admin.
func (f *Fleet) SetupWaits(ctx context.Context) (bool, error) {
	if f.Local() {
		return false, nil
	}
	return f.st.Read().SetupWaits(ctx)
}

// RedeemSetupCode makes a person admin who has the set-up code. The first one wins.
func (f *Fleet) RedeemSetupCode(ctx context.Context, p claudehub.Person, code string) (claudehub.Person, error) {
	if f.Local() {
		return claudehub.Person{}, claudehub.Errorf(claudehub.Conflict, "This Hub has one person, who is its admin.")
	}
	token, err := claudehub.ParseToken(claudehub.SetupToken, strings.TrimSpace(code))
	if err != nil {
		return claudehub.Person{}, errBadSetupCode
	}
	ctx = asActor(ctx, p.ID)
	var out claudehub.Person
	err = f.st.Write(ctx, func(q store.Q) (err error) {
		if out, err = q.Person(ctx, p.ID); err != nil {
			return err
		}
		if err := f.mayEnter(out); err != nil {
			return err
		}
		// The row of the code is locked first, so that of two who come at once the second finds an admin.
		if err := q.UseSetupCode(ctx, token.Hash(), p.ID, f.now()); err != nil {
			return absent(err, errBadSetupCode)
		}
		admins, err := q.LockAdmins(ctx, false)
		if err != nil {
			return err
		}
		if len(admins) > 0 {
			return errBadSetupCode
		}
		if err := q.SetRole(ctx, p.ID, claudehub.RoleAdmin); err != nil {
			return err
		}
		out.Role = claudehub.RoleAdmin
		return f.note(ctx, q, "setup.redeem", string(p.ID), nil)
	})
	if err != nil {
		return claudehub.Person{}, err
	}
	return out, nil
}
