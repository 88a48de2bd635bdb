package txmon

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Its arguments are the types of transactions.
func Builtin() builtin.Spec {
	return builtin.Spec{
		Name: "txmon", Domain: Domain, Sample: true, Asked: true,
		Program: builtin.Program{Args: "tx_type [...]", NoArgs: "No transaction types specified"},
		New: func(e builtin.Env) (pmda.Agent, error) {
			key, err := KeyFrom(e.Config.Getenv)
			if err != nil {
				return nil, err
			}
			return New(Config{Domain: e.Domain, Types: e.Args, Key: key, Log: e.Log})
		},
	}
}
