// Package serve has the commands that serve metrics to others: pcp up, pmcd, pmproxy and what administers them.
package serve

import (
	"github.com/go-pcp/pcp/cmd/internal/serve/doctor"
	"github.com/go-pcp/pcp/cmd/internal/serve/passwd"
	"github.com/go-pcp/pcp/cmd/internal/serve/pmcd"
	"github.com/go-pcp/pcp/cmd/internal/serve/proxy"
	"github.com/go-pcp/pcp/cmd/internal/serve/series"
	"github.com/go-pcp/pcp/cmd/internal/serve/services"
	"github.com/go-pcp/pcp/cmd/internal/serve/up"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		up.Command,
		pmcd.Command,
		proxy.Command,
		services.Command,
		services.CheckCommand,
		passwd.Command,
		series.Command,
		doctor.Command,
	}
}
