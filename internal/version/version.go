// Package version has the version of this software. It is defined only here:
// the commands' --version, pmcd.version, the manual pages and the output of
// make install all use it.
package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Number is the version of this source: that of the release it is, or of the
// next one. Scripts compare it, so it is three numbers and nothing else.
const Number = "0.1.0"

// commit is the commit of a release, which its linker sets: the go command knows that of a
// checkout only.
var commit string

// String returns the version of this program: the release that "go install"
// built it from if there is one, else Number.
func String() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Number
	}
	return release(info.Main.Version)
}

// release returns the number of a module version that is a release. The
// version of anything else, such as a checkout, is a guess of the go command,
// and Number is better.
func release(module string) string {
	number, ok := strings.CutPrefix(module, "v")
	parts := strings.Split(number, ".")
	if !ok || len(parts) != 3 {
		return Number
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return Number
		}
	}
	return number
}

// Details returns one line about how this program was built: the commit, if it
// was built in a checkout, the Go release and the system.
func Details() string {
	commit, changed := describe(commit), ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				commit = describe(s.Value)
			case "vcs.modified":
				if s.Value == "true" {
					changed = " with changes"
				}
			}
		}
	}
	where := runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
	if commit == "" {
		return where
	}
	return commit + changed + ", " + where
}

// describe returns the words for a commit, "" if it is not known.
func describe(commit string) string {
	if commit == "" {
		return ""
	}
	return "commit " + commit[:min(len(commit), 12)]
}
