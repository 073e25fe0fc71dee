// Package client is the Hub's API for Go programs: scripts, bots, and the claude-hub command.
//
// It promises that
//   - every call ends: with its context, or after a minute (a stream lives as long as its context);
//   - every error is a *claudehub.Error with the Hub's own sentence, and RetryAfter tells what the Hub asked for;
//   - no answer is read without a bound, no redirect is followed, and the credential goes to the Hub alone, by TLS unless
//     the Hub is on this machine or the caller insists;
//   - Events and Terminal.Run connect again for ever, until the Hub says that there is no point.
//
// A Client may be used by many goroutines. It starts none that outlives a call.
package client
