package claude

import (
	"os"
	"path/filepath"
	"runtime"

	"claude-hub/internal/claudehub"
)

// Version is the Claude Code that this source was tried with.
const Version = "2.1.197"

// Platform is a build of Claude Code, in its maker's words.
type Platform string

// The platforms.
const (
	LinuxX64       Platform = "linux-x64"
	LinuxArm64     Platform = "linux-arm64"
	LinuxX64Musl   Platform = "linux-x64-musl"
	LinuxArm64Musl Platform = "linux-arm64-musl"
	DarwinX64      Platform = "darwin-x64"
	DarwinArm64    Platform = "darwin-arm64"
)

// Release is a version and the SHA-512 of each platform's package, base64.
type Release struct {
	Version   string
	Integrity map[Platform]string
}

// Pinned returns the release that is used.
func Pinned() Release {
	return Release{Version: Version, Integrity: map[Platform]string{
		LinuxX64:       "rIlKmrY0QMyHgPRX/MYWNj039vbypICvI9jVe3rs9Xy2RnNklySjyPxqh62QadznzoftEO23uYQ1tFePcQ//bg==",
		LinuxArm64:     "sx6SoGj3MNR5CV+YDkNtbLHXa1tn3G8qcYFgm1gnvOi9ODQUKbhiPfankJfkTMDVekOvnKJhm6i9hGFIPzp7cQ==",
		LinuxX64Musl:   "/Ij3+inZf96Lb1BLnO0rWArRi1HqIMh6HeGrQoykrp7a8Yj0SA1EQIO42kpNeVxM9z3o3xUaiIf0FRMzLIp6oQ==",
		LinuxArm64Musl: "r3taVK9rDaMahHkrCGV8wF1Sjphs7fqXy2ZEznyDGxUqeW6HxgkbG7dPplXnwwGiMTdYLrtQTQMN21ZTxcVHBA==",
		DarwinArm64:    "1FOVhJzkKGWgOEEsvaK3ylCEmjKeJiXwfKl7RtNEbiDj7OxhRQ1G1CLN0HGDTTq1QwY+Dm2x1Yscdv5NfobAxQ==",
		DarwinX64:      "DOPeGTQqJWVENJsxwMxJtLOx+7OBINEDg9trQldlJR1nBssaYzNj1WWxp37JYSBRjeYLhqLipvDqEA0LMglL7A==",
	}}
}

// HostPlatform is the platform of processes that run directly on this machine.
func HostPlatform() (Platform, error) {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[runtime.GOARCH]
	if arch == "" || (runtime.GOOS != "linux" && runtime.GOOS != "darwin") {
		return "", claudehub.Errorf(claudehub.Unavailable, "Claude Code has no build for this machine (%s on %s).", runtime.GOOS, runtime.GOARCH)
	}
	p := Platform(runtime.GOOS + "-" + arch)
	if runtime.GOOS == "linux" && musl() {
		p += "-musl"
	}
	return p, nil
}

// GuestPlatform is the build that runs in a microVM on this machine, whatever the machine's own system is: Linux, with the
// C library that most images have.
func GuestPlatform() (Platform, error) {
	switch runtime.GOARCH {
	case "amd64":
		return LinuxX64, nil
	case "arm64":
		return LinuxArm64, nil
	}
	return "", claudehub.Errorf(claudehub.Unavailable, "Claude Code has no build for a microVM on this machine (%s).", runtime.GOARCH)
}

// musl tells a system whose C library is musl (Alpine) by its loader, with no glibc beside it.
func musl() bool {
	found, err := filepath.Glob("/lib/ld-musl-*.so.1")
	if err != nil || len(found) == 0 {
		return false
	}
	for _, glibc := range []string{"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1"} {
		if _, err := os.Stat(glibc); err == nil {
			return false
		}
	}
	return true
}
