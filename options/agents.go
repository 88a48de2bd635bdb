//go:build !windows

package options

import (
	"github.com/go-pcp/pcp/agent"
	"github.com/go-pcp/pcp/agent/builtin"
)

// builtins returns the agents that local contexts can have.
func builtins() []builtin.Spec { return agent.Builtins() }

// agentOf returns the agent that replaces a DSO.
func agentOf(entry, path string) (builtin.Spec, bool) { return agent.ForDSO(entry, path) }
