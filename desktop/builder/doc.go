// Package builder makes the Images that Environments describe: base image, tools, setup script, and a test that a
// Session will start from it.
//
// Promised:
//   - Builds of one Recipe.Hash run once, however many ask; everyone who asks gets the result and sees the steps. One who
//     leaves does not end it; it ends when nobody is left who wants it, or with Cancel.
//   - The base image with its tools, and the script's result, are kept apart: a changed script fetches and installs nothing.
//   - A failed build says in which step and line, why, and what to do; its log is there; nothing of it runs on. The
//     Sandbox of a failed script is kept, stopped, for KeepFailed, for a look inside.
//   - An Image is used only after a Sandbox was started from it and Claude Code answered there.
//   - What a killed Runner left is found by Run and cleared away; the next Ensure begins anew.
//   - A log has at most MaxBuildLog bytes, and no secret of the build's Variables, whatever the script prints.
//
// The log of a build only grows: what was read of it stays as it is. Of too much output, the first half is in it at once,
// and the last half when the step has ended.
package builder
