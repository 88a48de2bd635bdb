package xsos

import (
	"cmp"
	"fmt"
	"slices"
)

var processMetrics = []string{
	"proc.psinfo.utime", "proc.psinfo.stime", "proc.psinfo.sname", "proc.psinfo.psargs", "proc.psinfo.start_time", "proc.psinfo.threads",
	"proc.psinfo.rss", "proc.psinfo.vsize", "proc.id.uid_nm",
}

// topmost is the length of lists of processes and users.
const topmost = 10

// A process has sizes in KiB and times in seconds.
type process struct {
	pid                  int32
	user, args, state    string
	cpu, start, rss, vsz float64
	threads              int
	used                 float64 // part of a processor that it used since it started
}

// A user is one with processes.
type user struct {
	name            string
	cpu, rss, start float64
}

// list returns the processes, in the order of the instances.
func (p *page) list() []process {
	get := make(map[string]map[int32]string)
	for _, name := range processMetrics {
		get[name] = p.byInst(name)
	}
	boot := p.number("kernel.all.boottime")
	var list []process
	for _, v := range p.values["proc.psinfo.utime"] {
		of := func(name string) float64 { return number(get["proc.psinfo."+name][v.inst]) }
		x := process{
			pid: v.inst, user: get["proc.id.uid_nm"][v.inst], args: get["proc.psinfo.psargs"][v.inst], state: get["proc.psinfo.sname"][v.inst],
			cpu: (of("utime") + of("stime")) / 1000, start: of("start_time") / 1000, rss: of("rss"), vsz: of("vsize"), threads: int(of("threads")),
		}
		if len(x.user) > 7 {
			x.user = x.user[:7] + "+"
		}
		x.used = ratio(x.cpu, max(p.time-x.start-boot, 0))
		list = append(list, x)
	}
	return list
}

// processes prints the section of processes.
func (p *page) processes() {
	c := &p.colors
	list := p.list()
	threads := 0
	for _, x := range list {
		threads += x.threads
	}
	p.printf("%sPROCESSES\n%sTotal number of threads/processes:\n    %s%d/%d\n", p.h0(), p.h1(), c.boldWhite, threads, len(list))
	p.users(list)
	p.inState(list, "Uninterruptible sleep", "D")
	p.inState(list, "Defunct zombie", "Z")

	top := func(title string, by func(x, y process) int) {
		p.printf("%sTop %s processes:\n%s", p.h1(), title, p.h2())
		slices.SortStableFunc(list, by)
	}
	top("CPU-using", func(x, y process) int { return cmp.Compare(y.used, x.used) })
	p.table(list[:min(topmost, len(list))])
	top("MEM-using", func(x, y process) int { return cmp.Compare(y.rss, x.rss) })
	p.table(list[:min(topmost, len(list))])
	top("thread-spawning", func(x, y process) int { return cmp.Compare(y.threads, x.threads) })
	p.printf("%-3s ", "#")
	p.header()
	for _, x := range list[:min(topmost, len(list))] {
		if x.threads < 2 {
			break
		}
		p.process(fmt.Sprintf("    %-3d ", x.threads), x)
	}
}

// users prints the users whose processes use most.
func (p *page) users(list []process) {
	c, u := &p.colors, p.size
	var users []user
	for _, x := range list {
		if x.user == "" || x.cpu == 0 && x.rss == 0 {
			continue
		}
		i := slices.IndexFunc(users, func(o user) bool { return o.name == x.user })
		if i < 0 {
			i = len(users)
			users = append(users, user{name: x.user, start: x.start})
		}
		o := &users[i]
		o.cpu, o.rss, o.start = o.cpu+x.cpu, o.rss+x.rss, min(o.start, x.start)
	}
	for i := range users {
		users[i].cpu /= max(1, p.time-p.number("kernel.all.boottime")-users[i].start)
	}
	slices.SortStableFunc(users, func(a, b user) int { return cmp.Or(cmp.Compare(b.cpu, a.cpu), cmp.Compare(b.rss, a.rss)) })
	p.printf("%sTop users of CPU & MEM:\n%s%-9s %7s %6s %5s%s\n", p.h1(), p.h2(), "USER", "%CPU", "%MEM", "RSS", c.reset)
	for _, o := range users[:min(topmost, len(users))] {
		cpu, mem := o.cpu*100, ratio(o.rss, p.number("mem.physmem"))*100
		if cpu < 0.05 && mem < 0.05 {
			break
		}
		p.printf("    %-9s  %5s%% %5s%% %6s %s\n", o.name, round(cpu, 1), round(mem, 1), round(o.rss*1024/u.divisor, 2), u.name)
	}
}

// inState prints the processes in a state.
func (p *page) inState(list []process, title, state string) {
	var in []process
	threads := 0
	for _, x := range list {
		if x.state == state {
			in = append(in, x)
			threads += x.threads
		}
	}
	p.printf("%s%s threads/processes (%d/%d)\n", p.h1(), title, threads, len(in))
	if len(in) == 0 {
		p.printf("    %s[None]\n", p.colors.reset)
		return
	}
	p.printf("%s", p.h2())
	p.table(in)
}

const columns = "%-9s %-8s %-6s %-6s %-8s %-8s %s"

func (p *page) header() {
	p.printf(columns+"%s\n", "USER", "PID", "%CPU", "%MEM", "VSZ-MiB", "RSS-MiB", "COMMAND", p.colors.reset)
}

func (p *page) table(list []process) {
	p.header()
	for _, x := range list {
		p.process("    ", x)
	}
}

func (p *page) process(prefix string, x process) {
	mem := ratio(x.rss, p.number("mem.physmem"))
	p.printf("%s"+columns+"\n", prefix, x.user, fmt.Sprint(x.pid), round(x.used*100, 1)+"%", round(mem*100, 1)+"%", round(x.vsz/1024, 0), round(x.rss/1024, 0), x.args)
}
