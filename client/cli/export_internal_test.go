package cli

// ByBrowser is for the tests of the sign-in itself, without the command around it.
var ByBrowser = (*Env).byBrowser
