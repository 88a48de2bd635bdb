package importcmd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// SarCommand is sar2pcp.
var SarCommand = &cli.Command{
	Name:     "import sar",
	Link:     "sar2pcp",
	Group:    cli.Export,
	Summary:  "create an archive from a file of sar",
	Synopsis: "infile outfile",
	Options:  func() []cli.Option { return []cli.Option{optAppend(), cli.OptHelp} },
	Doc: `The file is one of sadc(8), for example in /var/log/sysstat, that sadf(1) of this machine can read
(SADF sets another command), or, if its name ends in .xml, the output of "sadf -x FILE -- -A". "-"
is such XML on standard input.

Metrics have the names of the Linux agent. Rates and percentages of sar are not converted: their
values are instantaneous, and their numbers and units are not those of the agent. Times are in UTC,
as written by sadf.`,
	Examples: []cli.Example{
		{Line: "pcp import sar /var/log/sysstat/sa22 monday", Text: "import a file of sadc"},
		{Line: "pcp import sar --append /var/log/sysstat/sa23 monday", Text: "add the next day"},
		{Line: "sadf -x sa22 -- -A >sa22.xml && pcp import sar sa22.xml monday", Text: "the same with sadf of another machine"},
	},
	SeeAlso: []string{"sadf(1)", "pmval(1)"},
	Run:     runSar,
}

func runSar(ctx context.Context, env *cli.Env) int {
	opt := importer.Options{TimeZone: sarZone}
	o := cli.ParseArgs(env, cli.ParseConfig{Own: takeAppend(&opt)})
	if len(o.Args) != 2 {
		o.WantUsage()
	}
	if status, exit := o.Done(); exit {
		return status
	}
	s := &sar{env: env, file: o.Args[0], base: o.Args[1], opt: opt, handles: make(map[string]importer.Handle), inDoms: make(map[pcp.InDom]map[string]bool), unknown: make(map[string]bool)}
	in, wait, err := s.open(ctx, env)
	if err != nil {
		return env.Fatalf("%v", err)
	}
	br := bufio.NewReader(in)
	if _, err = br.Peek(1); err == io.EOF {
		wait()
		return env.Fatalf("XML document from %s contains no data", s.file)
	}
	if err == nil {
		err = s.read(ctx, br)
	}
	if e := wait(); err == nil {
		err = e
	}
	status := s.out.finish(ctx, env, time.UTC, err)
	if status == 0 && len(s.unknown) > 0 {
		var names []string
		for name := range s.unknown {
			names = append(names, strconv.Quote(name))
		}
		slices.Sort(names)
		env.FlushOut()
		fmt.Fprintf(env.Stderr, "PCP archive produced, but %d unrecognised tag(s) detected in %d samples:\n\t%s\n", len(names), s.samples, strings.Join(names, ", "))
	}
	return status
}

// sarZone is the time zone of the archive, and of times.
const sarZone = "UTC"

// Limits of an XML document.
const (
	maxToken = 1 << 20 // bytes of a tag or text
	maxDepth = 64      // elements in elements
)

// A sar is one document to import.
type sar struct {
	env        *cli.Env
	file, base string
	opt        importer.Options
	out        output
	handles    map[string]importer.Handle // by metric, or metric and instance
	inDoms     map[pcp.InDom]map[string]bool
	unknown    map[string]bool // elements that are not known

	stamp     time.Time
	samples   int
	inCPULoad bool
	textOf    string // the item whose value is the next text
	cpus      string
	iface     string
	// Reads of all disks so far, for the total with writes.
	reads, readBlocks float64
}

// open returns the XML, and a function to call at its end.
func (s *sar) open(ctx context.Context, env *cli.Env) (io.Reader, func() error, error) {
	switch {
	case s.file == "-":
		return env.Stdin, func() error { return nil }, nil
	case strings.HasSuffix(strings.ToLower(s.file), ".xml"):
		f, err := os.Open(s.file)
		if err != nil {
			//lint:ignore ST1005 the words of the C tool
			return nil, nil, fmt.Errorf("Failed to open sadf XML file \"%s\": %s", s.file, cli.ErrText(err))
		}
		return f, f.Close, nil
	}
	if _, err := os.Stat(s.file); err != nil {
		return nil, nil, errors.New(cli.FileErrText(err))
	}
	words := strings.Fields(env.Getenv("SADF"))
	if len(words) == 0 {
		words = []string{"sadf"}
	}
	words = append(words, "-x", s.file, "--", "-A")
	ctx, stop := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Stderr = env.ChildStderr()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		stop()
		//lint:ignore ST1005 the words of the C tool
		return nil, nil, fmt.Errorf("Failed to launch %s to convert \"%s\" to XML: %w", words[0], s.file, err)
	}
	return out, func() error {
		_, rest := io.CopyN(io.Discard, out, 1)
		if rest == nil { // there is more, which we do not want
			stop()
		}
		err := cmd.Wait()
		stop()
		if err != nil {
			return fmt.Errorf("%s of %s: %w", words[0], s.file, err)
		}
		return nil
	}, nil
}

// read imports a document.
func (s *sar) read(ctx context.Context, r io.Reader) error {
	limited := &rowReader{r, maxToken}
	d := xml.NewDecoder(limited)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "us-ascii", "ascii":
			return in, nil
		case "iso-8859-1", "latin1":
			return &latin1{r: in}, nil
		}
		return nil, fmt.Errorf("character set %s is not supported", charset)
	}
	depth := 0
	for {
		limited.left = maxToken
		token, err := d.Token()
		line, _ := d.InputPos()
		switch {
		case err == io.EOF && s.out.records == 0:
			return fmt.Errorf("%s:%d: %w", s.file, line, errNoValue)
		case err == io.EOF:
			return nil
		case errors.Is(err, errLongRow):
			return fmt.Errorf("%s:%d: a tag of more than %d bytes", s.file, line, maxToken)
		case err != nil:
			if syntax, ok := errors.AsType[*xml.SyntaxError](err); ok {
				return fmt.Errorf("%s:%d: %s", s.file, syntax.Line, syntax.Msg)
			}
			return fmt.Errorf("%s:%d: %w", s.file, line, err)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		switch t := token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("%s:%d: more than %d elements in each other", s.file, line, maxDepth)
			}
			if err = s.begin(t); err != nil {
				err = fmt.Errorf("<%s>: %w", t.Name.Local, err)
			}
		case xml.EndElement:
			depth--
			if err = s.end(t.Name.Local); err != nil {
				err = fmt.Errorf("</%s>: %w", t.Name.Local, err)
			}
		case xml.CharData:
			err = s.text(t)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", s.file, line, err)
		}
	}
}

// latin1 reads ISO-8859-1 as UTF-8.
type latin1 struct {
	r    io.Reader
	rest []byte
}

func (l *latin1) Read(b []byte) (int, error) {
	if len(l.rest) == 0 {
		var in [512]byte
		n, err := l.r.Read(in[:])
		if n == 0 {
			return 0, err
		}
		l.rest = nil
		for _, c := range in[:n] {
			l.rest = append(l.rest, string(rune(c))...)
		}
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// begin imports the values that are attributes of an element.
func (s *sar) begin(e xml.StartElement) error {
	attr := func(name string) string {
		for _, a := range e.Attr {
			if a.Name.Local == name {
				return a.Value
			}
		}
		return ""
	}
	tag := e.Name.Local
	if name, ok := sarTexts[tag]; ok {
		s.textOf = name
		return nil
	}
	switch tag {
	case "host":
		if s.out.im == nil {
			s.opt.Host = attr("nodename")
		}
	case "timestamp":
		s.samples++
		var err error
		s.stamp, err = sarTime(attr("date"), attr("time"))
		return err
	case "cpu-load", "cpu-load-all":
		s.inCPULoad = true
	case "cpu":
		if s.inCPULoad {
			return s.cpu(attr)
		}
	case "irq":
		if attr("intr") == "sum" {
			return s.put("kernel.all.intr", "", attr("value"))
		}
	case "process-and-context-switch", "processes", "context-switch", "swap-pages", "paging", "kernel":
		return s.attributes(tag, "", attr)
	case "queue":
		if err := s.attributes(tag, "", attr); err != nil {
			return err
		}
		for _, minutes := range []string{"1", "5", "15"} {
			if err := s.put("kernel.all.load", minutes+" minute", attr("ldavg-"+minutes)); err != nil {
				return err
			}
		}
	case "io-reads", "io-writes":
		return s.io(tag == "io-writes", attr)
	case "disk-device":
		return s.disk("disk"+attr("dev"), attr)
	case "net-device":
		s.iface = attr("iface")
	case "net-dev", "net-edev":
		if name := attr("iface"); name != "" {
			s.iface = name // else it is that of net-device
		}
		return s.attributes(tag, s.iface, attr)
	case "filesystem":
		// Some versions of sysstat write the same lines several times.
		if err := s.fileSystem(attr("fsname"), attr); err != nil && !errors.Is(err, importer.ErrDupValue) {
			return err
		}
	default:
		if _, ok := slices.BinarySearch(sarSkipped, tag); !ok {
			s.unknown[tag] = true
		}
	}
	return nil
}

// text takes the value of an element whose value is text.
func (s *sar) text(text []byte) error {
	if s.textOf == "" || len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	name := s.textOf
	s.textOf = ""
	if name == "hinv.ncpu" {
		s.cpus = string(text)
		return nil
	}
	return s.put(name, "", string(text))
}

func (s *sar) end(tag string) error {
	s.textOf = ""
	switch tag {
	case "timestamp":
		if s.out.im == nil {
			return importer.ErrNoData
		}
		return s.out.write(s.stamp)
	case "cpu-load", "cpu-load-all":
		s.inCPULoad = false
	case "number-of-cpus":
		if _, ok := s.handles["hinv.ncpu"]; ok {
			return importer.ErrDupMetricName
		}
		return s.put("hinv.ncpu", "", s.cpus)
	}
	return nil
}

// sarTime returns the time of a sample. Some versions of sysstat write 12-30-59.
func sarTime(date, clock string) (time.Time, error) {
	t, err := time.Parse("2006-1-2 15:4:5", date+" "+strings.ReplaceAll(clock, "-", ":"))
	if err != nil {
		return t, fmt.Errorf("date %q and time %q are not a time", date, clock)
	}
	return t, nil
}

// descOf returns the descriptor of a metric.
func descOf(name string) pcp.Desc {
	d := pcp.Desc{Type: pcp.TypeFloat, InDom: pcp.InDomNull, Sem: pcp.SemInstant}
	is := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	serial := -1
	switch {
	case name == "hinv.ncpu":
		d.Type, d.Sem = pcp.TypeU32, pcp.SemDiscrete
	case is("kernel.percpu."):
		serial = 0
	case name == "kernel.all.load":
		serial = 1
	case is("disk.dev."):
		serial = 2
		if name == "disk.dev.total" {
			d.Units = perSecond
		}
	case is("network.interface."):
		serial = 4
		d.Units = perSecond
	case is("filesys."):
		serial = 5
		d.Type, d.Units = pcp.TypeU32, mbytes
		if ends("files") {
			d.Type, d.Units = pcp.TypeU64, counts
		}
	case is("mem.util."):
		d.Type, d.Units = pcp.TypeU64, kbytes
	case is("vfs."):
		d.Type = pcp.TypeU32
	case name == "kernel.all.pswitch", name == "kernel.all.intr", is("swap."), is("mem.vmstat."), is("disk.all."):
		d.Units = perSecond
	}
	if ends("_bytes") || ends(".bytes") {
		d.Units = kbPerSecond
	}
	if serial >= 0 {
		d.InDom = pcp.NewInDom(importer.Domain, serial)
	}
	return d
}

// put puts a value, "" if there is none. A metric and an instance begin to be with
// their first value.
func (s *sar) put(name, inst, value string) error {
	if value == "" {
		return nil
	}
	key := name
	if inst != "" {
		key += "/" + inst
	}
	h, ok := s.handles[key]
	if !ok {
		var err error
		if h, err = s.handle(name, inst); err != nil {
			return err
		}
		s.handles[key] = h
	}
	if err := h.Put(strings.ReplaceAll(value, ",", ".")); err != nil {
		return err
	}
	s.out.values++
	return nil
}

func (s *sar) handle(name, inst string) (importer.Handle, error) {
	var none importer.Handle
	if s.out.im == nil {
		if err := s.out.start(s.env, s.base, s.opt, s.file); err != nil {
			return none, err
		}
	}
	desc := descOf(name)
	if inst != "" {
		list := s.inDoms[desc.InDom]
		if list == nil {
			list = make(map[string]bool)
			s.inDoms[desc.InDom] = list
		}
		if !list[inst] {
			if len(list) == maxInstances {
				return none, errManyInstances
			}
			if err := s.out.addInstance(desc.InDom, inst, int32(len(list))); err != nil {
				return none, err
			}
			list[inst] = true
		}
	}
	if h, err := s.out.im.Handle(name, inst); err == nil || !errors.Is(err, pcp.ErrName) {
		return h, err
	}
	if err := s.out.add(name, desc); err != nil {
		return none, err
	}
	return s.out.im.Handle(name, inst)
}

// attributes puts the values of an element whose attributes are metrics.
func (s *sar) attributes(tag, inst string, attr func(string) string) error {
	for _, a := range sarAttributes[tag] {
		if err := s.put(a.metric, inst, attr(a.name)); err != nil {
			return err
		}
	}
	return nil
}

// A sum puts values that are calculated. The first error stays.
type sum struct {
	s    *sar
	attr func(string) string
	inst string
	err  error
}

// get returns the number in the first existing attribute of some names.
func (c *sum) get(names ...string) (f float64, ok bool) {
	for _, name := range names {
		if text := c.attr(name); text != "" {
			f, err := number(text)
			if err != nil && c.err == nil {
				c.err = fmt.Errorf("%s: %w", name, err)
			}
			return f, err == nil
		}
	}
	return 0, false
}

func (c *sum) put(metric string, f float64, ok bool) {
	if ok && c.err == nil {
		c.err = c.s.put(metric, c.inst, decimal(f))
	}
}

func (s *sar) cpu(attr func(string) string) error {
	c := &sum{s: s, attr: attr}
	prefix := "kernel.all.cpu."
	if n := attr("number"); n != "all" {
		c.inst, prefix = "cpu"+n, "kernel.percpu.cpu."
	}
	put := func(metric string, attrs ...string) {
		f, ok := c.get(attrs...)
		c.put(prefix+metric, f/100, ok)
	}
	put("user", "usr", "user")
	put("nice", "nice")
	put("sys", "sys", "system")
	put("wait.total", "iowait")
	put("steal", "steal")
	irq, ok1 := c.get("irq")
	soft, ok2 := c.get("soft")
	c.put(prefix+"intr", (irq+soft)/100, ok1 && ok2)
	put("guest", "guest")
	put("idle", "idle")
	return c.err
}

// io puts the operations of all disks. Blocks have 512 bytes.
func (s *sar) io(writes bool, attr func(string) string) error {
	c := &sum{s: s, attr: attr}
	if !writes {
		n, ok := c.get("rtps")
		if c.put("disk.all.read", n, ok); ok {
			s.reads = n
		}
		n, ok = c.get("bread")
		if c.put("disk.all.read_bytes", n/2, ok); ok {
			s.readBlocks = n
		}
		return c.err
	}
	n, ok := c.get("wtps")
	c.put("disk.all.write", n, ok)
	c.put("disk.all.total", s.reads+n, ok)
	n, ok = c.get("bwrtn")
	c.put("disk.all.write_bytes", n/2, ok)
	c.put("disk.all.total_bytes", (s.readBlocks+n)/2, ok)
	return c.err
}

// disk puts the operations of a disk.
func (s *sar) disk(inst string, attr func(string) string) error {
	c := &sum{s: s, attr: attr, inst: inst}
	c.err = s.put("disk.dev.total", inst, attr("tps"))
	read, ok1 := c.get("rd_sec")
	write, ok2 := c.get("wr_sec")
	c.put("disk.dev.read_bytes", read/2, ok1)
	c.put("disk.dev.write_bytes", write/2, ok2)
	c.put("disk.dev.total_bytes", (read+write)/2, ok1 && ok2)
	busy, ok := c.get("util-percent")
	c.put("disk.dev.avactive", busy/100, ok)
	if c.err != nil {
		return c.err
	}
	return s.attributes("disk-device", inst, attr)
}

// fileSystem puts how full a file system is.
func (s *sar) fileSystem(inst string, attr func(string) string) error {
	c := &sum{s: s, attr: attr, inst: inst}
	free, ok1 := c.get("MBfsfree")
	used, ok2 := c.get("MBfsused")
	c.put("filesys.capacity", used+free, ok1 && ok2)
	c.put("filesys.free", free, ok1)
	c.put("filesys.used", used, ok2)
	free, ok1 = c.get("Ifree")
	used, ok2 = c.get("Iused")
	c.put("filesys.maxfiles", used+free, ok1 && ok2)
	c.put("filesys.freefiles", free, ok1)
	c.put("filesys.usedfiles", used, ok2)
	return c.err
}

// sarAttributes are metrics by elements, in the order in which they become known.
var sarAttributes = map[string][]struct{ name, metric string }{
	"process-and-context-switch": {{"cswch", "kernel.all.pswitch"}},
	"processes":                  {{"cswch", "kernel.all.pswitch"}},
	"context-switch":             {{"cswch", "kernel.all.pswitch"}},
	"swap-pages":                 {{"pswpin", "swap.pagesin"}, {"pswpout", "swap.pagesout"}},
	"paging": {
		{"pgpgin", "mem.vmstat.pgpgin"},
		{"pgpgout", "mem.vmstat.pgpgout"},
		{"fault", "mem.vmstat.pgfault"},
		{"majflt", "mem.vmstat.pgmajfault"},
		{"pgfree", "mem.vmstat.pgfree"},
	},
	"kernel": {{"dentunusd", "vfs.dentry.count"}, {"file-nr", "vfs.files.count"}, {"inode-nr", "vfs.inodes.count"}},
	"queue":  {{"runq-sz", "proc.runq.runnable"}, {"plist-sz", "proc.nprocs"}},
	"disk-device": {
		{"avgrq-sz", "disk.dev.avrqsz"},
		{"avgqu-sz", "disk.dev.avqsz"},
		{"await", "disk.dev.await"},
		{"svctm", "disk.dev.svctm"},
	},
	"net-dev": {
		{"rxpck", "network.interface.in.packets"},
		{"txpck", "network.interface.out.packets"},
		{"rxkB", "network.interface.in.bytes"},
		{"txkB", "network.interface.out.bytes"},
	},
	"net-edev": {
		{"rxerr", "network.interface.in.errors"},
		{"txerr", "network.interface.out.errors"},
		{"coll", "network.interface.collisions"},
		{"rxdrop", "network.interface.in.drops"},
		{"txdrop", "network.interface.out.drops"},
		{"txcarr", "network.interface.out.carrier"},
		{"rxfram", "network.interface.in.frame"},
		{"rxfifo", "network.interface.in.fifo"},
		{"txfifo", "network.interface.out.fifo"},
	},
}

// sarTexts are the metrics whose values are text in elements.
var sarTexts = map[string]string{
	"memfree": "mem.util.free", "avail": "mem.util.available", "memused": "mem.util.used", "buffers": "mem.util.bufmem",
	"cached": "mem.util.cached", "anonpg": "mem.util.anonpages", "kstack": "mem.util.kernelStack", "commit": "mem.util.commit",
	"active": "mem.util.active", "inactive": "mem.util.inactive", "dirty": "mem.util.dirty", "swpfree": "mem.util.swapFree",
	"swpcad": "mem.util.swapCached", "dentunusd": "vfs.dentry.count", "file-nr": "vfs.files.count", "file-sz": "vfs.files.count",
	"inode-nr": "vfs.inodes.count", "inode-sz": "vfs.inodes.count", "number-of-cpus": "hinv.ncpu",
}

// sarSkipped are the other known elements, sorted. Unknown ones get a warning.
var sarSkipped = []string{
	"boot", "bufpg", "campg", "comments", "commit-percent", "cpu-frequency", "cpu-weighted-frequency", "cpufreq", "cpuwfreq",
	"disk", "dquot-sz", "dquot-sz-percent", "fan", "fan-speed", "file-date", "file-utc-time", "filesystems", "frmpg", "hugepages",
	"hugfree", "hugused", "hugused-percent", "in", "inV", "int-global", "int-proc", "interrupts", "io", "irqcpu", "machine", "memory",
	"memused-percent", "net-eicmp", "net-eicmp6", "net-eip", "net-eip6", "net-etcp", "net-icmp", "net-icmp6", "net-ip", "net-ip6",
	"net-nfs", "net-nfsd", "net-sock", "net-sock6", "net-tcp", "net-udp", "net-udp6", "network", "percent-in", "pgtbl",
	"power-management", "pty-nr", "release", "restarts", "rtsig-sz", "rtsig-sz-percent", "serial", "slab", "softnet", "statistics",
	"super-sz", "super-sz-percent", "swpcad-percent", "swpused", "swpused-percent", "sysdata-version", "sysname", "sysstat",
	"temp", "temperature", "tps", "tty", "usb", "usb-devices", "vmused", "voltage-input",
}
