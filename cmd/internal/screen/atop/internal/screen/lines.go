package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-pcp/pcp/cmd/internal/screen/atop/internal/sample"
	"github.com/go-pcp/pcp/internal/ctext"
)

// A kind is a line about the system.
type kind int

const (
	prcLine kind = iota
	cpuLine
	cpiLine
	cplLine
	gpuLine
	memLine1
	memLine2
	swpLine
	numLine
	nucLine
	llcLine
	pagLine
	psiLine
	dskLine
	nfmLine
	nfcLine
	nfsLine
	transportLine
	networkLine
	interfaceLine
	portLine
	kinds
)

// A layout has the fields that a line may have, and those that it has, each with its priority: if the line is
// too long, the fields of the least priority are left out.
type layout struct {
	own    string // the tag of an atoprc that changes it
	fields []field
	text   string
	text7  string // of PCP 7, "" for the same
}

// fieldsOf returns the fields that a line has by default, in PCP 7 if seven.
func (l *layout) fieldsOf(seven bool) string {
	if seven && l.text7 != "" {
		return l.text7
	}
	return l.text
}

// layouts are those of all lines.
var layouts = sync.OnceValue(func() *[kinds]layout {
	return &[kinds]layout{
		prcLine: {own: "ownsysprcline", fields: prcFields(), text: "PRCSYS:8 PRCUSER:8 BLANKBOX:0 PRCNPROC:7 PRCNRUNNING:5 PRCNSLEEPING:5 PRCNDSLEEPING:5 PRCNZOMBIE:5 PRCCLONES:4 BLANKBOX:0 PRCNNEXIT:6", text7: "PRCSYS:8 PRCUSER:8 BLANKBOX:0 PRCNPROC:7 PRCNRUNNING:5 PRCNSLEEPING:5 PRCNDSLEEPING:5 PRCNIDLE:5 PRCNZOMBIE:4 PRCCLONES:3 BLANKBOX:0 PRCNNEXIT:6"},
		cpuLine: {own: "ownallcpuline", fields: cpuFields(), text: "CPUSYS:9 CPUUSER:8 CPUIRQ:6 BLANKBOX:0 CPUIDLE:7 CPUWAIT:7 CPUSTEAL:2 CPUGUEST:3 BLANKBOX:0 CPUIPC:5 CPUCYCLE:4 CPUFREQ:4 CPUSCALE:4"},
		cpiLine: {own: "ownonecpuline", fields: cpiFields(), text: "CPUISYS:9 CPUIUSER:8 CPUIIRQ:6 BLANKBOX:0 CPUIIDLE:7 CPUIWAIT:7 CPUISTEAL:2 CPUIGUEST:3 BLANKBOX:0 CPUIIPC:5 CPUICYCLE:4 CPUIFREQ:4 CPUISCALE:4"},
		cplLine: {own: "owncplline", fields: cplFields(), text: "CPLNUMCPU:7 BLANKBOX:0 CPLAVG1:4 CPLAVG5:3 CPLAVG15:2 BLANKBOX:0 CPLCSW:6 CPLINTR:5"},
		gpuLine: {own: "", fields: gpuFields(), text: "GPUBUS:8 GPUGPUPERC:7 GPUMEMPERC:6 GPUMEMOCC:5 GPUMEMTOT:3 GPUMEMUSE:4 GPUMEMAVG:2 GPUNRPROC:2 BLANKBOX:0 GPUTYPE:1"},

		memLine1: {own: "ownmemline", fields: memFields1(), text: "MEMTOT:8 MEMFREE:9 BLANKBOX:0 MEMCACHE:8 MEMDIRTY:6 MEMBUFFER:7 BLANKBOX:0 MEMSLAB:7 RECSLAB:3 BLANKBOX:0 PAGETABS:4 BLANKBOX:0 HUPTOT:5 HUPUSE:2", text7: "MEMTOT:8 MEMFREE:9 MEMAVAIL:7 BLANKBOX:0 MEMCACHE:7 MEMDIRTY:5 MEMBUFFER:6 BLANKBOX:0 MEMSLAB:6 RECSLAB:2 BLANKBOX:0 HUPTOT:4 HUPUSE:1"},
		memLine2: {own: "", fields: memFields2(), text: "NUMNUMA:6 BLANKBOX:1 SHMEM:3 SHMRSS:3 SHMSWP:2 BLANKBOX:0 TCPSOCK:5 UDPSOCK:2 BLANKBOX:0 VMWBAL:4 BLANKBOX:0 ZFSARC:5", text7: "NUMNUMA:8 BLANKBOX:1 SHMEM:6 SHMRSS:4 SHMSWP:4 BLANKBOX:0 TCPSOCK:3 UDPSOCK:2 BLANKBOX:0 PAGETABS:5 BLANKBOX:0 ANONTHP:4 VMWBAL:4 BLANKBOX:0 ZFSARC:5"},
		swpLine:  {own: "ownswpline", fields: swpFields(), text: "SWPTOT:5 SWPFREE:6 SWPCACHE:4 BLANKBOX:0 ZSWTOTAL:3 ZSWSTORED:3 BLANKBOX:0 KSMSHARED:2 KSMSHARING:2 BLANKBOX:0 SWPCOMMITTED:7 SWPCOMMITLIM:8", text7: "SWPTOT:5 SWPFREE:6 SWPCACHE:4 BLANKBOX:0 ZSWPOOL:3 ZSWSTORED:3 BLANKBOX:0 KSMSHARED:2 KSMSHARING:2 BLANKBOX:0 SWPCOMMITTED:7 SWPCOMMITLIM:8"},
		numLine:  {own: "ownmemnumaline", fields: numFields(), text: "NUMATOT:8 NUMAFREE:9 NUMAFILEPAGE:9 NUMANR:7 NUMADIRTY:5 NUMAACTIVE:5 NUMAINACTIVE:5 NUMASLAB:7 NUMASLABRECLAIM:4 NUMASHMEM:4 NUMAFRAG:6 NUMAHUPTOT:3", text7: "NUMATOT:8 NUMAFREE:9 NUMAFILEPAGE:9 NUMANR:7 NUMADIRTY:5 NUMAACTIVE:5 NUMAINACTIVE:5 NUMASLAB:7 NUMASLABRECLAIM:4 NUMASHMEM:4 NUMAFRAG:6 NUMAHUPTOT:4 NUMAHUPUSE:3"},
		nucLine:  {own: "ownnumacpuline", fields: nucFields(), text: "NUMACPUSYS:9 NUMACPUUSER:8 NUMACPUNICE:8 NUMACPUIRQ:6 NUMACPUSOFTIRQ:6 NUMACPUIDLE:7 NUMACPUWAIT:7 NUMACPUSTEAL:2 NUMACPUGUEST:3 NUMANUMCPU:5"},
		llcLine:  {own: "ownllcline", fields: llcFields(), text: "LLCMBMTOTAL:9 LLCMBMLOCAL:8 NUMLLC:7 BLANKBOX:0"},
		pagLine:  {own: "ownpagline", fields: pagFields(), text: "PAGSCAN:3 PAGSTEAL:2 PAGSTALL:1 PAGCOMPACT:5 NUMAMIGRATE:5 PGMIGRATE:6 PAGPGIN:7 PAGPGOUT:7 PAGSWIN:5 PAGSWOUT:8 OOMKILLS:9", text7: "PAGSCAN:3 PAGSTEAL:2 PAGSTALL:1 PAGCOMPACT:5 NUMAMIGRATE:5 PGMIGRATE:6 PAGPGIN:6 PAGPGOUT:6 PAGZSWIN:4 PAGZSWOUT:7 OOMKILLS:9"},
		psiLine:  {own: "", fields: psiFields(), text: "PSICPUSTOT:7 PSIMEMSTOT:7 PSIMEMFTOT:8 PSIIOSTOT:7 PSIIOFTOT:8 PSICPUS:6 PSIMEMS:5 PSIMEMF:3 PSIIOS:4 PSIIOF:2 BLANKBOX:0"},

		dskLine: {own: "owndskline", fields: dskFields(), text: "DSKNAME:9 DSKBUSY:8 DSKNREAD:7 DSKNWRITE:7 DSKNDISC:6 DSKKBPERRD:5 DSKKBPERWR:5 DSKKBPERDS:4 DSKMBPERSECRD:6 DSKMBPERSECWR:6 DSKINFLIGHT:2 DSKAVQUEUE:1 DSKAVIO:6"},
		nfmLine: {own: "", fields: nfmFields(), text: "NFMPATH:8 NFMSERVER:8 NFMTOTREAD:8 NFMTOTWRITE:8 BLANKBOX:0 NFMNREAD:7 NFMNWRITE:6 BLANKBOX:0 NFMDREAD:5 NFMDWRITE:4 BLANKBOX:0 NFMMREAD:3 NFMMWRITE:2 BLANKBOX:0 BLANKBOX:0"},
		nfcLine: {own: "", fields: nfcFields(), text: "NFCRPCCNT:8 NFCRPCREAD:7 NFCRPCWRITE:7 NFCRPCRET:5 NFCRPCARF:5 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0"},
		nfsLine: {own: "", fields: nfsFields(), text: "NFSRPCCNT:8 NFSRPCREAD:6 NFSRPCWRITE:6 BLANKBOX:0 NFSNRBYTES:7 NFSNWBYTES:7 BLANKBOX:0 NFSNETTCP:5 NFSNETUDP:5 BLANKBOX:0 NFSRCHITS:3 NFSRCMISS:2 NFSRCNOCA:1 BLANKBOX:0 NFSBADFMT:4 NFSBADAUT:4 NFSBADCLN:4"},

		transportLine: {own: "ownnettrline", fields: transportFields(), text: "NETTRANSPORT:9 NETTCPI:8 NETTCPO:8 NETUDPI:8 NETUDPO:8 NETTCPACTOPEN:6 NETTCPPASVOPEN:5 NETTCPRETRANS:4 NETTCPINERR:3 NETTCPORESET:2 NETUDPNOPORT:1 NETUDPINERR:3", text7: "NETTRANSPORT:9 NETTCPI:8 NETTCPO:8 NETUDPI:8 NETUDPO:8 NETTCPACTOPEN:6 NETTCPPASVOPEN:5 NETTCPRETRANS:4 NETTCPINERR:3 NETTCPORESET:2 NETTCPCSUMERR:2 NETUDPNOPORT:1 NETUDPINERR:3"},
		networkLine:   {own: "ownnetnetline", fields: networkFields(), text: "NETNETWORK:5 NETIPI:4 NETIPO:4 NETIPFRW:4 NETIPDELIV:4 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 NETICMPIN:1 NETICMPOUT:1"},
		interfaceLine: {own: "ownnetifline", fields: interfaceFields(), text: "NETNAME:8 BLANKBOX:0 NETPCKI:7 NETPCKO:7 BLANKBOX:0 NETSPEEDMAX:5 NETSPEEDIN:6 NETSPEEDOUT:6 BLANKBOX:0 NETCOLLIS:2 NETMULTICASTIN:2 NETRCVERR:4 NETSNDERR:4 NETRCVDROP:3 NETSNDDROP:3"},
		portLine:      {own: "ownifbline", fields: portFields(), text: "IFBNAME:8 BLANKBOX:0 IFBPCKI:7 IFBPCKO:7 BLANKBOX:0 IFBSPEEDMAX:5 IFBSPEEDIN:6 IFBSPEEDOUT:6 IFBLANES:4 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0 BLANKBOX:0"},
	}
})

// maxItems limits the fields or columns of a line in C.
const maxItems = 79

// maxShown limits the fields that C shows in a line.
const maxShown = 39

// An item is a field in a line, with its priority.
type item struct {
	*field
	priority int
}

// A pair is the name of a field or a column with a priority.
type pair struct {
	name     string
	priority int
}

// pairs parses names and priorities: "PID:10 TID:3". An error is in the words of C.
func pairs(text, what string) ([]pair, error) {
	var list []pair
	for len(list) < maxItems {
		text = strings.TrimLeft(text, " \t")
		if text == "" {
			break
		}
		name, rest, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("atoprc - %s: no name:prio pair for `%s'", name, what)
		}
		number := strings.TrimLeft(rest, ctext.Space)
		end := ctext.Digits(number, 0)
		if strings.HasPrefix(number, "+") {
			end = ctext.Digits(number, 1)
		}
		n, err := strconv.ParseInt(number[:end], 10, 32)
		if err != nil || n == 1<<31-1 {
			word, _, _ := strings.Cut(rest, " ")
			return nil, fmt.Errorf("atoprc - %s: item `%s` has invalid priority `%s'", what, name, word)
		}
		list = append(list, pair{name, int(n)})
		text = number[end:]
	}
	return list, nil
}

// items finds the fields of a line. Fields that a system does not have are left out, if the system is
// known.
func (l *layout) items(text, what string, s *sample.System, seven bool) ([]item, error) {
	list, err := pairs(text, what)
	if err != nil {
		return nil, err
	}
	var found []item
	for _, p := range list {
		i := slices.IndexFunc(l.fields, func(f field) bool { return f.name == p.name })
		if i < 0 && p.name != blankBox.name {
			return nil, fmt.Errorf("atoprc - own system line: item %s invalid in %s line", p.name, what)
		}
		f := &blankBox
		if i >= 0 {
			f = &l.fields[i]
		}
		if s == nil || f.valid == nil || seven && f.always7 || f.valid(s) {
			found = append(found, item{f, p.priority})
		}
	}
	return found, nil
}

// put prints a line: its label, and as many of its fields as there is room for, with the remaining room
// distributed between them.
func (p *Printer) put(k kind, x *line, label string, badness uint32) {
	p.label(label, badness)
	width := p.width()
	room := (width - 5) / 15
	list := append(p.shown[:0], p.items[k][:min(len(p.items[k]), maxShown)]...)
	for len(list) > room {
		least := 0
		for i := range list {
			if list[i].priority < list[least].priority {
				least = i
			}
		}
		list = slices.Delete(list, least, least+1)
	}
	p.shown = list
	boxes := float64((room - len(list)) / 2) // left for each field
	if len(list) > 1 {
		boxes = float64(room-len(list)) / float64(len(list))
	}
	spread := 0.0
	if room > 0 {
		spread = float64((width-5)%15) / float64(room*2)
	}
	spaces, blanks := 0.0, 0.0
	space := func() {
		for spaces += spread; spaces > 0.5; spaces-- {
			p.print(" ")
		}
	}
	for _, it := range list {
		x.b, x.color, x.missing = x.b[:0], colorNone, false
		it.put(x)
		if x.missing {
			x.b = append(x.b[:0], "           ?"...)
		}
		p.print(" | ")
		space()
		c := x.color
		if c == colorDefault {
			switch {
			case badness >= 100:
				c = colorCrit
			case p.almost(badness):
				c = colorAlmost
			default:
				c = colorNone
			}
		}
		p.styled(c, func() { p.printBytes(x.b) })
		for blanks += boxes; blanks > 0.5; blanks-- {
			space()
			p.print(" | ")
			p.print("            ")
			space()
		}
		space()
	}
	p.print(" |")
	p.newline()
}

func (p *Printer) almost(badness uint32) bool {
	return p.Limits.Almost != 0 && badness >= uint32(p.Limits.Almost)
}
