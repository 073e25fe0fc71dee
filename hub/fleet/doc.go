// Package fleet is what the Hub decides: who is who, which Runner is linked, what each Session should be, what became
// of each prompt, and who may do and see what.
//
// It promises that a change is stored, whole, before anyone hears of it; that changes of one Runner's Sessions have
// rising numbers without a gap that could hide one; that a request repeated with its key happens once; that states of
// prompts follow claudehub's rules, and states of builds never go back; that a Variable's value is sealed before it is
// stored, and opened for its person when it is no secret, and for the Runner of a Session that starts; that what Runners
// say is bounded; that who may see and do what is decided by package policy alone, and that GitHub's word on who sees a
// repository counts for ten minutes, or for a day when GitHub cannot be asked; that a page is told when something is none
// of its person's any more, and nothing after that; that a deed of a person is in the audit log exactly when it was done;
// and that what is absent and what is not yours look alike. Nothing here waits for a Runner: desired state is kept until
// the Runner comes for it. Every error a person may see is a *claudehub.Error.
//
// Of people it promises that GitHub's numeric id is who a person is, whatever they are called now; that every credential
// is kept by its hash, and is refused from the moment on that it is revoked, over, or its person is removed; that only
// GitHub's own "no" removes anybody, and an outage nobody; that one Hub at a time asks about a person; and that nothing of
// a removed person's is deleted but what signs them in.
package fleet
