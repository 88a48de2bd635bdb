// Package reports registers the commands that print a report of one subject: pmrep, dstat, vmstat, ps, iostat and
// others.
package reports

import (
	"github.com/go-pcp/pcp/cmd/internal/reports/buddyinfo"
	"github.com/go-pcp/pcp/cmd/internal/reports/dmcache"
	"github.com/go-pcp/pcp/cmd/internal/reports/dstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/free"
	"github.com/go-pcp/pcp/cmd/internal/reports/iostat"
	"github.com/go-pcp/pcp/cmd/internal/reports/ipcs"
	"github.com/go-pcp/pcp/cmd/internal/reports/meminfo"
	"github.com/go-pcp/pcp/cmd/internal/reports/mpstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/netstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/nfsiostat"
	"github.com/go-pcp/pcp/cmd/internal/reports/numastat"
	"github.com/go-pcp/pcp/cmd/internal/reports/pidstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/ps"
	"github.com/go-pcp/pcp/cmd/internal/reports/rep"
	"github.com/go-pcp/pcp/cmd/internal/reports/rocestat"
	"github.com/go-pcp/pcp/cmd/internal/reports/shping"
	"github.com/go-pcp/pcp/cmd/internal/reports/slabinfo"
	"github.com/go-pcp/pcp/cmd/internal/reports/ss"
	"github.com/go-pcp/pcp/cmd/internal/reports/summary"
	"github.com/go-pcp/pcp/cmd/internal/reports/tapestat"
	"github.com/go-pcp/pcp/cmd/internal/reports/uptime"
	"github.com/go-pcp/pcp/cmd/internal/reports/verify"
	"github.com/go-pcp/pcp/cmd/internal/reports/vmstat"
	"github.com/go-pcp/pcp/cmd/internal/reports/xsos"
	"github.com/go-pcp/pcp/cmd/internal/reports/zoneinfo"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// Commands returns the table of these commands, in the order of the help.
func Commands() []*cli.Command {
	return []*cli.Command{
		summary.Command,
		xsos.Command,
		rep.Command,
		rep.CSVCommand,
		dstat.Command,
		vmstat.Command,
		iostat.Command,
		iostat.ClassicCommand,
		mpstat.Command,
		free.Command,
		uptime.Command,
		ps.Command,
		pidstat.Command,
		ss.Command,
		numastat.Command,
		ipcs.Command,
		tapestat.Command,
		meminfo.Command,
		slabinfo.Command,
		buddyinfo.Command,
		zoneinfo.Command,
		netstat.Command,
		nfsiostat.Command,
		rocestat.Command,
		dmcache.Command,
		dmcache.LVMCommand,
		shping.Command,
		verify.Command,
	}
}
