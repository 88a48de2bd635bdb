package pmcd

import (
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/pmda"
)

// Builtin describes the agent. Its host must be a [Collector].
func Builtin() builtin.Spec {
	return builtin.Spec{Name: "pmcd", Domain: Domain, OfCollector: true, New: func(e builtin.Env) (pmda.Agent, error) {
		c, _ := e.Host.(Collector)
		return New(Config{
			Collector: c, Domain: e.Domain, Version: e.Version,
			TmpDir: e.Config.Get("PCP_TMP_DIR"), RunDir: e.Config.Get("PCP_RUN_DIR"),
		})
	}}
}
