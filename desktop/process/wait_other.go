//go:build !linux

package process

// waitable has no portable form. Where it is false, the short time between collecting a child and noting it is
// unguarded.
func waitable(int) bool { return false }
