package twin

import (
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// siteArchive writes an archive for pcp-summary: a host with agents, some of which
// have failed, and with pmlogger and pmie processes. With few it has one of each,
// or none.
func siteArchive(base string, few bool) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "CET-1CEST", Version: 3})
	if err != nil {
		return err
	}
	agents, loggers, engines, cpus := pcp.NewInDom(2, 1), pcp.NewInDom(2, 2), pcp.NewInDom(2, 3), pcp.NewInDom(60, 1)
	type instance struct {
		inst int32
		name string
	}
	insts := map[pcp.InDom][]instance{
		agents: {
			{1, "root"},
			{2, "pmcd"},
			{3, "proc"},
			{11, "xfs"},
			{60, "linux"},
			{70, "mmv"},
			{122, "jbd2"},
			{29, "sample"},
			{253, "simple"},
			{30, "sampledso"},
			{111, "kvm"},
			{112, "dmcache"},
			{253 + 1, "openmetrics"},
			{144, "podman"},
			{145, "sockets"},
		},
		loggers: {{0, "primary"}, {1, "also-primary"}, {4711, "4711"}, {812, "812"}, {90210, "90210"}},
		engines: {{0, "primary"}, {33, "33"}, {4444, "4444"}},
		cpus:    {{0, "cpu0"}, {1, "cpu1"}},
	}
	if few {
		insts = map[pcp.InDom][]instance{agents: {{2, "pmcd"}}, loggers: {{0, "primary"}}, engines: {{33, "33"}}}
	}
	for indom, list := range insts {
		for _, i := range list {
			if err := im.AddInstance(indom, i.name, i.inst); err != nil {
				return err
			}
		}
	}
	log := func(inst int32) string {
		if inst == 90210 {
			return "/var/log/pcp/pmlogger/cellar/20240305.12.00"
		}
		return "/var/log/pcp/pmlogger/cellar/20240305"
	}
	rows := []struct {
		name  string
		typ   pcp.Type
		indom pcp.InDom
		many  bool // not if there are few
		value func(inst int32) string
	}{
		{"pmcd.numagents", pcp.TypeU32, pcp.InDomNull, false, func(int32) string { return fmt.Sprint(len(insts[agents])) }},
		{"pmcd.numclients", pcp.TypeU32, pcp.InDomNull, false, func(int32) string {
			if few {
				return "1"
			}
			return "4"
		}},
		{"pmcd.version", pcp.TypeString, pcp.InDomNull, false, func(int32) string { return "6.0.3" }},
		{"pmcd.build", pcp.TypeString, pcp.InDomNull, true, func(int32) string { return "1" }},
		{"pmcd.timezone", pcp.TypeString, pcp.InDomNull, true, func(int32) string { return "EST5EDT" }},
		{"pmcd.hostname", pcp.TypeString, pcp.InDomNull, true, func(int32) string { return "cellar.example.com" }},
		{"pmcd.services", pcp.TypeString, pcp.InDomNull, true, func(int32) string { return "pmcd pmproxy" }},
		{"pmcd.agent.status", pcp.TypeU32, agents, false, func(inst int32) string {
			if inst == 11 || inst == 144 {
				return fmt.Sprint(inst)
			}
			return "0"
		}},
		{"pmcd.pmlogger.archive", pcp.TypeString, loggers, false, log},
		{"pmcd.pmlogger.pmcd_host", pcp.TypeString, loggers, false, func(inst int32) string { return fmt.Sprint("host", inst%3) }},
		{"hinv.ncpu", pcp.TypeU32, pcp.InDomNull, false, func(int32) string {
			if few {
				return "1"
			}
			return "2"
		}},
		{"hinv.ndisk", pcp.TypeU32, pcp.InDomNull, false, func(int32) string { return "3" }},
		{"hinv.nnode", pcp.TypeU32, pcp.InDomNull, false, func(int32) string { return "1" }},
		{"hinv.physmem", pcp.TypeU32, pcp.InDomNull, true, func(int32) string { return "7985" }},
		{"hinv.cputype", pcp.TypeString, cpus, true, func(int32) string { return "R10000 3.4" }},
		{"pmda.uname", pcp.TypeString, pcp.InDomNull, true, func(int32) string { return "Linux  cellar 6.1.0 #1 SMP x86_64" }},
		{"pmcd.pmie.pmcd_host", pcp.TypeString, engines, false, func(inst int32) string { return fmt.Sprint("host", inst%2) }},
		{"pmcd.pmie.configfile", pcp.TypeString, engines, false, func(inst int32) string {
			return fmt.Sprintf("/var/lib/pcp/config/pmie/of/a/directory/that/is/long/config.%d", inst%2)
		}},
		{"pmcd.pmie.numrules", pcp.TypeU32, engines, false, func(inst int32) string { return fmt.Sprint(inst%7 + 1) }},
		{"pmcd.pmie.logfile", pcp.TypeString, engines, false, func(inst int32) string { return fmt.Sprintf("/var/log/pcp/pmie/%d/pmie.log", inst%2) }},
		{"pmcd.pmie.actions", pcp.TypeU32, engines, true, func(inst int32) string { return fmt.Sprint(inst) }},
		{"pmcd.pmie.eval.true", pcp.TypeU32, engines, true, func(inst int32) string { return fmt.Sprint(inst + 1) }},
		{"pmcd.pmie.eval.false", pcp.TypeU32, engines, true, func(inst int32) string { return fmt.Sprint(inst + 2) }},
		{"pmcd.pmie.eval.unknown", pcp.TypeU32, engines, true, func(inst int32) string { return fmt.Sprint(inst + 3) }},
		{"pmcd.pmie.eval.expected", pcp.TypeFloat, engines, true, func(inst int32) string { return fmt.Sprint(float64(inst) / 10) }},
	}
	for i, r := range rows {
		if few && r.many {
			continue
		}
		if _, err := im.AddMetric(r.name, pcp.Desc{PMID: pcp.NewPMID(2, 9, i), Type: r.typ, InDom: r.indom, Sem: pcp.SemDiscrete}); err != nil {
			return err
		}
		list := insts[r.indom]
		if r.indom == pcp.InDomNull {
			list = []instance{{}}
		}
		for _, inst := range list {
			if err := im.PutValue(r.name, inst.name, r.value(inst.inst)); err != nil {
				return err
			}
		}
	}
	for n := range 2 {
		if n > 0 {
			if err := im.PutValue("pmcd.numagents", "", "7"); err != nil {
				return err
			}
		}
		if err := im.Write(noon().Add(time.Duration(n) * time.Minute)); err != nil {
			return err
		}
	}
	if err := im.End(); err != nil {
		return err
	}
	return setPID(base)
}
