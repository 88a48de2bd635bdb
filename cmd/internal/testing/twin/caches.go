package twin

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
)

// cachesArchive writes an archive with the metrics of pcp-dmcache, pcp-shping and pcp-verify: two caches, two
// commands that are tried, and four agents, some of which have failed.
func cachesArchive(base string) error {
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "CET-1CEST", ZoneInfo: "Europe/Berlin", Version: 3})
	if err != nil {
		return err
	}
	caches, disks, tags, agents := pcp.NewInDom(129, 0), pcp.NewInDom(60, 24), pcp.NewInDom(19, 0), pcp.NewInDom(2, 0)
	var errs []error
	for indom, names := range map[pcp.InDom][]string{
		caches: {"vg-home", "vg-a"}, disks: {"vg-home", "vg-a"}, tags: {"http", "dns-self"}, agents: {"linux", "pmcd", "proc", "root"},
	} {
		for i, name := range names {
			errs = append(errs, im.AddInstance(indom, name, int32(i)))
		}
	}
	kbyte := pcp.Units{DimSpace: 1, ScaleSpace: pcp.SpaceKByte}
	count, none := pcp.Units{DimCount: 1}, pcp.Units{}
	type column struct {
		name  string
		typ   pcp.Type
		sem   pcp.Sem
		indom pcp.InDom
		units pcp.Units
		value func(inst, n int) string
	}
	num := func(f func(inst, n int) int) func(int, int) string {
		return func(inst, n int) string { return fmt.Sprint(f(inst, n)) }
	}
	same := func(s ...string) func(int, int) string { return func(inst, _ int) string { return s[inst] } }
	columns := []column{
		{"dmcache.cache.used", pcp.TypeU64, pcp.SemInstant, caches, kbyte, num(func(i, n int) int { return 100 * (n + 1) * (i + 1) })},
		{"dmcache.cache.total", pcp.TypeU64, pcp.SemDiscrete, caches, kbyte, num(func(i, n int) int { return 2000 * i })},
		{"dmcache.metadata.used", pcp.TypeU64, pcp.SemInstant, caches, kbyte, num(func(i, n int) int { return 1640 + n })},
		{"dmcache.metadata.total", pcp.TypeU64, pcp.SemDiscrete, caches, kbyte, num(func(int, int) int { return 1650 })},
		{"dmcache.read_hits", pcp.TypeU32, pcp.SemCounter, caches, count, num(func(i, n int) int { return n * n * (7 + 400*i) })},
		{"dmcache.read_misses", pcp.TypeU32, pcp.SemCounter, caches, count, num(func(i, n int) int { return n * 3 })},
		{"dmcache.write_hits", pcp.TypeU32, pcp.SemCounter, caches, count, num(func(i, n int) int { return 900 - n*n*i })},
		{"dmcache.write_misses", pcp.TypeU32, pcp.SemCounter, caches, count, num(func(i, n int) int { return n * 12345 * i })},
		{"disk.dm.read", pcp.TypeU64, pcp.SemCounter, disks, count, num(func(i, n int) int { return n * n * (9 + 450*i) })},
		{"disk.dm.write", pcp.TypeU64, pcp.SemCounter, disks, count, num(func(i, n int) int { return n * 50000 * i })},
		{"shping.cmd", pcp.TypeString, pcp.SemDiscrete, tags, none, same("curl http://localhost/ >/dev/null", `nslookup "self"`)},
		{"shping.status", pcp.Type32, pcp.SemInstant, tags, none, num(func(i, n int) int { return i * (n % 2) })},
		{"shping.time.real", pcp.TypeFloat, pcp.SemInstant, tags, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeMsec}, num(func(i, n int) int { return 5*n + 100*i })},
		{"shping.control.cycles", pcp.TypeU32, pcp.SemInstant, pcp.InDomNull, none, num(func(_, n int) int { return 85 + n })},
		{"shping.control.cycletime", pcp.TypeU32, pcp.SemDiscrete, pcp.InDomNull, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}, same("30")},
		{"shping.control.timeout", pcp.TypeU32, pcp.SemDiscrete, pcp.InDomNull, pcp.Units{DimTime: 1, ScaleTime: pcp.TimeSec}, same("10")},
		{"pmcd.agent.status", pcp.Type32, pcp.SemInstant, agents, none, same("1", "0", "983048", "2")},
		{"pmcd.agent.type", pcp.TypeU32, pcp.SemInstant, agents, none, same("0", "1", "2", "2")},
		{"pmcd.feature.secure", pcp.TypeU32, pcp.SemDiscrete, pcp.InDomNull, none, same("0")},
		{"pmcd.feature.authentication", pcp.TypeU32, pcp.SemDiscrete, pcp.InDomNull, none, same("0")},
		{"pmcd.feature.containers", pcp.TypeU32, pcp.SemDiscrete, pcp.InDomNull, none, same("1")},
	}
	of := map[pcp.InDom][]string{
		caches: {"vg-home", "vg-a"}, disks: {"vg-home", "vg-a"}, tags: {"http", "dns-self"},
		agents: {"linux", "pmcd", "proc", "root"}, pcp.InDomNull: {""},
	}
	for i, c := range columns {
		domain := 2
		if c.indom != pcp.InDomNull {
			domain = c.indom.Domain()
		}
		_, err := im.AddMetric(c.name, pcp.Desc{PMID: pcp.NewPMID(domain, 1, i), Type: c.typ, InDom: c.indom, Sem: c.sem, Units: c.units})
		errs = append(errs, err)
	}
	for n := range 6 {
		for _, c := range columns {
			for i, name := range of[c.indom] {
				errs = append(errs, im.PutValue(c.name, name, c.value(i, n)))
			}
		}
		errs = append(errs, im.Write(time.Unix(1_700_000_000+int64(n)*2, 0)))
	}
	return errors.Join(append(errs, im.End())...)
}
