// Package github is what the Hub asks of GitHub when a person signs in: who is it, and is that person on the allow-list.
//
// It promises:
//   - a person is the numeric id. Logins are compared as they are now, without regard to case, so somebody who takes a
//     login that another gave up is not that other; who wrote the login on the allow-list has to mind that;
//   - a "no" is what GitHub itself said in its own form. Everything else (no answer, a late, cut, oversized or malformed
//     one, a limit, a proxy's page, a redirect) is an [Outage] in an error with the code unavailable: it says nothing
//     about the person, so that nobody who is in is thrown out by it. What to do then is the caller's to decide;
//   - every call has a deadline, and every body a bound. Only what changes nothing is asked a second time: a code and a
//     refresh token are good once, and go out once;
//   - code, verifier, tokens and client secret are in no address, error or log. Errors hold what this package wrote and
//     nothing of what GitHub sent, apart from a status and a short error code;
//   - a forged, stale, used or foreign answer to a sign-in all get one sentence, and so do all reasons to say no.
//
// It keeps nothing: what is pending and the tokens are the caller's to seal and store. It starts no goroutine.
package github
