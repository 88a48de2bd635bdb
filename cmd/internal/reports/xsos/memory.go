package xsos

import "strings"

var memoryMetrics = []string{
	"mem.util.used", "mem.util.dirty", "mem.util.shmem", "mem.util.bufmem", "mem.util.cached", "mem.util.swapFree", "mem.util.swapTotal",
	"mem.util.slab", "mem.util.pageTables", "mem.util.percpu", "mem.util.lowFree", "mem.util.lowTotal", "mem.util.anonhugepages",
	"mem.util.available", "mem.util.hugepagesFreeBytes", "mem.util.hugepagesTotalBytes", "mem.vmmemctl.current", "mem.vmmemctl.target",
}

// bar prints a part of all memory as a bar.
func (p *page) bar(title, color string, part float64) {
	const width = 50
	n := min(max(int(part*width+0.5), 0), width)
	p.printf("    %s%-10s %s%s%s %s%5.1f%%%s\n", color, title, strings.Repeat("▊", n), p.colors.reset, strings.Repeat(".", width-n), color, part*100+0.005, p.colors.reset)
}

// memory prints the section of the memory. Sizes are in KiB.
func (p *page) memory() {
	c, u := &p.colors, p.size
	util := func(name string) float64 { return p.number("mem.util." + name) }
	size := func(kb float64, digits int) string { return round(kb*1024/u.divisor, digits) + " " + u.name }
	percent := func(part, total float64) string { return round(ratio(part, total)*100, u.percent) + "%" }

	total := p.number("mem.physmem")
	other := util("used") - util("cached") - util("bufmem")
	huge, hugeFree := util("hugepagesTotalBytes")/1024, util("hugepagesFreeBytes")/1024

	p.printf("%sMEMORY\n%sStats graphed as percent of MemTotal:%s\n", p.h0(), p.h1(), c.reset)
	for _, b := range []struct {
		title, color string
		kb           float64
	}{
		{"MemUsed", c.green, util("used")},
		{"Buffers", c.purple, util("bufmem")},
		{"Cached", c.blue, util("cached")},
		{"HugePages", c.cyan, huge},
		{"Dirty", c.red, util("dirty")},
		{"Available", c.white, util("available")},
	} {
		p.bar(b.title, b.color, ratio(b.kb, total))
	}
	p.printf("%sRAM:%s\n    %s%s total ram\n", p.h1(), c.reset, c.boldWhite, size(total, u.low))
	for i, l := range []struct {
		kb   float64
		text string
	}{{util("used"), "used"}, {other, "used excluding Buffers/Cached"}, {util("dirty"), "dirty"}, {util("available"), "available"}} {
		p.printf("    %s%s (%s) %s\n", []string{c.white, c.boldWhite}[i%2], size(l.kb, u.low), percent(l.kb, total), l.text)
	}
	p.printf("%sHugePages:%s\n", p.h1(), c.reset)
	if huge == 0 {
		p.printf("    No ram pre-allocated to HugePages\n")
	} else {
		p.printf("    %s pre-allocated to HugePages (%s of total ram)\n", size(huge, u.low), percent(huge, total))
		p.printf("    %s of HugePages (%s) in-use by applications\n", size(huge-hugeFree, u.low), percent(huge-hugeFree, huge))
	}
	p.printf("%sTransparentHugePages:%s\n", p.h1(), c.reset)
	if kb := util("anonhugepages"); kb == 0 {
		p.printf("    No ram allocated to THP\n")
	} else {
		p.printf("    %s allocated to THP\n", size(kb, u.high))
	}
	p.printf("%sLowMem/Slab/PageTables/Shmem:%s\n", p.h1(), c.reset)
	if low := util("lowTotal"); low != 0 {
		used := low - util("lowFree")
		p.printf("    %s (%s) of LowMem in-use\n", size(used, u.low), percent(used, low))
	}
	p.printf("    %s (%s%%) of total ram used for Slab\n", size(util("slab"), u.high), round(ratio(util("slab"), total)*100, u.low))
	for _, l := range []struct{ text, name string }{{"PageTables", "pageTables"}, {"Shmem", "shmem"}, {"Percpu", "percpu"}} {
		p.printf("    %s (%s) of total ram used for %s\n", size(util(l.name), u.high), percent(util(l.name), total), l.text)
	}
	p.printf("%sVirtual Machine Balloon:%s\n", p.h1(), c.reset)
	if target := p.number("mem.vmmemctl.target") / 1024; target == 0 {
		p.printf("    No VM balloon memory target\n")
	} else {
		current := p.number("mem.vmmemctl.current") / 1024
		p.printf("    %s (%s) of %s balloon in-use\n", size(current, u.low), percent(current, target), size(target, u.low))
	}
	p.printf("%sSwap:%s\n", p.h1(), c.reset)
	if swap := util("swapTotal"); swap == 0 {
		p.printf("    %sNo system swap space configured%s\n", c.orange, c.reset)
	} else {
		used := swap - util("swapFree")
		p.printf("    %s (%s) used of %s total\n", size(used, u.low), percent(used, swap), size(swap, u.high))
	}
}
