// Package cli is what people run in a shell: sign in, list and drive Sessions, and sit in one's terminal.
//
// It promises that
//   - one signs in by a code that is approved in a browser, so that no secret is typed; a token is otherwise read from a
//     prompt without echo or from standard input, never from arguments. It is kept in a file that only its owner can read;
//   - with --json, standard output holds one JSON document in the API's own shape (a list is {"items": [...]}) and
//     nothing else; without, a table for people, whose columns may change;
//   - what others wrote (titles, names, what Claude says, what a Sandbox prints) reaches the person's terminal as text
//     and colours only: no sequence that moves the clipboard, asks the terminal questions or changes its title gets through;
//   - attach and watch leave the person's terminal as they found it, however they end, but for SIGKILL;
//   - the exit code says what went wrong: see ExitCode.
//
// attach draws the Session from cells of its own emulator rather than handing bytes on. The person's terminal often has
// another size than the Session, and bytes made for one size are garbage in another.
package cli
