// Package live has the commands that show the metrics of a collector or an archive, and set them: pminfo, pmval, pmprobe, pmstore and their like.
package live

import (
	"github.com/go-pcp/pcp/cmd/internal/live/cdwait"
	"github.com/go-pcp/pcp/cmd/internal/live/chart"
	"github.com/go-pcp/pcp/cmd/internal/live/client"
	"github.com/go-pcp/pcp/cmd/internal/live/diagnose"
	"github.com/go-pcp/pcp/cmd/internal/live/dumptext"
	"github.com/go-pcp/pcp/cmd/internal/live/find"
	"github.com/go-pcp/pcp/cmd/internal/live/info"
	"github.com/go-pcp/pcp/cmd/internal/live/probe"
	"github.com/go-pcp/pcp/cmd/internal/live/query"
	"github.com/go-pcp/pcp/cmd/internal/live/search"
	"github.com/go-pcp/pcp/cmd/internal/live/stat"
	"github.com/go-pcp/pcp/cmd/internal/live/store"
	"github.com/go-pcp/pcp/cmd/internal/live/timectl"
	"github.com/go-pcp/pcp/cmd/internal/live/val"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order in which help lists them.
func Commands() []*cli.Command {
	return []*cli.Command{
		cdwait.Command,
		diagnose.Command,
		info.Command,
		val.Command,
		val.EventCommand,
		chart.Command,
		query.Command,
		dumptext.Command,
		client.Command,
		client.GroupCommand,
		timectl.Command,
		probe.Command,
		search.Command,
		find.Command,
		store.Command,
		stat.Command,
	}
}
