package options

import "github.com/go-pcp/pcp/agent/builtin"

// There are no agents for Windows: local contexts have no metrics there.

func builtins() []builtin.Spec                        { return nil }
func agentOf(entry, path string) (builtin.Spec, bool) { return builtin.Spec{}, false }
