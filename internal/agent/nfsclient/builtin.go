package nfsclient

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/internal/hostroot"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. As in the C implementation, NFSCLIENT_MOUNTSTATS_PATH names
// another file to read.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "nfsclient", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		file := e.Config.Getenv("NFSCLIENT_MOUNTSTATS_PATH")
		if root := e.HostRoot; file == "" && hostroot.IsOther(root) {
			file = hostroot.Path(root, "proc/self/mountstats")
		}
		return New(Config{Domain: e.Domain, Mountstats: file, Log: e.Log})
	}}
}
