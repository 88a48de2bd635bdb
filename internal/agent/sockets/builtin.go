package sockets

import (
	"path/filepath"

	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. The filter is that of sockets/filter.conf in PCP_SYSCONF_DIR.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "sockets", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		root := e.HostRoot
		return New(Config{Root: root, Live: hostroot.IsOther(root), Domain: e.Domain, FilterFile: filepath.Join(e.Config.Get("PCP_SYSCONF_DIR"), "sockets", "filter.conf"), Log: e.Log})
	}}
}
