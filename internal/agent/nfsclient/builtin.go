package nfsclient

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. As in the C implementation, NFSCLIENT_MOUNTSTATS_PATH names
// another file to read.
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "nfsclient", Domain: Domain, New: func(e builtin.Env) (pmda.Agent, error) {
		return New(Config{Domain: e.Domain, Mountstats: e.Config.Getenv("NFSCLIENT_MOUNTSTATS_PATH"), Log: e.Log})
	}}
}
