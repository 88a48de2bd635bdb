//go:build !unix

package metricset

import (
	"github.com/go-pcp/pcp/pmrep/conf"
	"github.com/go-pcp/pcp/tool/cli"
)

// detach refuses: only Unix has daemons of this kind.
func detach(*cli.Env) error {
	return &conf.Error{Text: "Becoming a daemon is not supported on this system."}
}
