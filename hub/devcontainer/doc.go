// Package devcontainer reads what a repository says of its development container and makes the first recipe of an
// Environment of it.
//
// It promises to say of every property what became of it, or why nothing did; that the recipe passes
// claudehub.Recipe.Check; and that nothing is run, fetched or written: it works on text alone, which strangers wrote.
package devcontainer
