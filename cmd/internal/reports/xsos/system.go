package xsos

import (
	"cmp"
	"math"
	"strings"
	"time"
)

var osMetrics = []string{
	"hinv.ncpu", "hinv.pagesize", "pmcd.hostname", "pmcd.timezone", "pmcd.zoneinfo", "kernel.uname.release", "kernel.uname.version",
	"kernel.uname.sysname", "kernel.uname.machine", "kernel.uname.distro", "kernel.all.uptime", "kernel.all.nusers", "kernel.all.load",
	"kernel.all.hz", "kernel.all.runnable", "kernel.all.running", "kernel.all.blocked", "kernel.all.nprocs", "kernel.all.cpu.user",
	"kernel.all.cpu.nice", "kernel.all.cpu.sys", "kernel.all.cpu.idle", "kernel.all.cpu.wait.total", "kernel.all.cpu.steal",
	"kernel.all.cpu.irq.soft", "kernel.all.cpu.irq.hard",
}

// system prints the section of the system.
func (p *page) system() {
	c := &p.colors
	p.printf("%sOS\n", p.h0())
	p.printf("%sHostname:%s ", p.h1(), c.reset)
	p.put("%s\n", "pmcd.hostname")
	p.printf("%sDistro:%s   %s", p.h1(), c.reset, c.onBlue)
	p.put("%s"+c.reset+"\n", "kernel.uname.distro")
	p.printf("%sArch:%s     ", p.h1(), c.reset)
	p.put("platform=%s\n", "kernel.uname.machine")
	p.printf("%sKernel:%s\n%sHertz:%s         ", p.h1(), c.reset, p.h2(), c.reset)
	p.put("%s\n", "kernel.all.hz")
	p.printf("%sPagesize:%s      ", p.h2(), c.reset)
	p.put("%s\n", "hinv.pagesize")
	p.printf("%sBuild version:%s\n      %s", p.h2(), c.reset, c.orange)
	p.put("%s ", "kernel.uname.sysname")
	p.put("version %s"+c.reset+"\n      "+c.orange, "kernel.uname.release")
	p.printf("%s"+c.reset+"\n", cmp.Or(p.text("kernel.uname.version"), "unknown build version"))
	p.printf("    - - - - - - - - - - - - - - - - - - -\n")

	boot := "unknown"
	if s := p.text("kernel.all.boottime"); s != "" {
		boot = time.Unix(int64(number(s)), 0).In(p.zone).Format("Mon Jan 02 03:04:05 pm MST 2006")
	}
	p.printf("%sBoot time: %s%s\n", p.h1(), c.reset, boot)
	p.printf("%sTime Zone: %s%s [%s]\n", p.h1(), c.reset, strings.TrimPrefix(cmp.Or(p.text("pmcd.zoneinfo"), "unknown"), ":"), cmp.Or(p.text("pmcd.timezone"), "unknown"))
	p.printf("%sUptime: %s  ", p.h1(), c.reset)
	p.uptime(int64(p.number("kernel.all.uptime")), int(p.number("kernel.all.nusers")))
	p.load()

	p.printf("%sProcesses: %s\n", p.h1(), c.reset)
	for _, name := range []string{"running", "runnable", "blocked"} {
		p.put(p.h2()+name+":"+c.reset+" %s", "kernel.all."+name)
	}
	p.put(p.h2()+"count:"+c.reset+" %s\n", "kernel.all.nprocs")
	p.processors()
}

func (p *page) uptime(seconds int64, users int) {
	switch days := seconds / 86400; {
	case days > 1:
		p.printf("%d days,", days)
	case days == 1:
		p.printf("1 day,")
	}
	minutes := seconds / 60
	if hours := minutes / 60 % 24; hours != 0 {
		p.printf(" %2d:%02d,", hours, minutes%60)
	} else {
		p.printf(" %d min,", minutes%60)
	}
	if users == 1 {
		p.printf("   1 user\n")
	} else {
		p.printf(" %2d users\n", users)
	}
}

// load prints the load, also as a percentage of the processors.
func (p *page) load() {
	c := &p.colors
	n := cmp.Or(p.text("hinv.ncpu"), "0")
	p.printf("%sLoadAvg:%s  %s[%s CPU]%s", p.h1(), c.reset, c.boldWhite, n, c.reset)
	for i, minutes := range []int32{1, 5, 15} {
		if i > 0 {
			p.printf(",")
		}
		text := p.of("kernel.all.load", minutes)
		if text == "" {
			p.printf(" %sunknown%s", c.orange, c.reset)
			continue
		}
		f := number(text)
		p.printf(" %.2f (%s%.0f%%%s)", f, c.green, math.Floor(f*100/max(number(n), 1)+0.5), c.reset)
	}
	p.printf("\n")
}

// processors prints how the time since the system started was used.
func (p *page) processors() {
	list := []struct{ name, metric string }{
		{"us", "user"}, {"ni", "nice"}, {"sys", "sys"}, {"idle", "idle"}, {"iowait", "wait.total"}, {"irq", "irq.hard"}, {"sftirq", "irq.soft"}, {"steal", "steal"},
	}
	total := 0.0
	for _, l := range list {
		total += p.number("kernel.all.cpu." + l.metric)
	}
	p.printf("%sProcessors: %s\n%scpu [Utilization since boot]: %s\n      ", p.h1(), p.colors.reset, p.h2(), p.colors.reset)
	for i, l := range list {
		if i > 0 {
			p.printf(", ")
		}
		p.printf("%s %.0f%%", l.name, math.Floor(ratio(p.number("kernel.all.cpu."+l.metric), total)*100+0.5))
	}
	p.printf("\n")
}
