// Package agent is the table of agents of the program: those of the library, and those whose requirements the library does not have.
// Commands find agents here, by their names in pmcd.conf and on the command line.
package agent

import (
	"path/filepath"
	"slices"
	"strings"

	library "github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent/bpf"
)

// own returns the agents below this package.
func own() []builtin.Spec {
	return []builtin.Spec{
		bpf.Builtin(),
	}
}

// Builtins returns the table.
func Builtins() []builtin.Spec { return slices.Concat(library.Builtins(), own()) }

// Named returns the agent called name.
func Named(name string) (builtin.Spec, bool) {
	if b, ok := ownNamed(name); ok {
		return b, true
	}
	return library.Named(name)
}

func ownNamed(name string) (builtin.Spec, bool) {
	for _, b := range own() {
		if b.Name == name {
			return b, true
		}
	}
	return builtin.Spec{}, false
}

// ForDSO returns the agent that replaces a shared object of the C implementation, as the function of the same name in the library does.
func ForDSO(entry, path string) (builtin.Spec, bool) {
	if b, ok := ownNamed(strings.TrimSuffix(entry, "_init")); ok {
		return b, true
	}
	if b, ok := library.ForDSO(entry, path); ok {
		return b, true
	}
	name := filepath.Base(path)
	return ownNamed(strings.TrimPrefix(strings.TrimSuffix(name, filepath.Ext(name)), "pmda_"))
}
