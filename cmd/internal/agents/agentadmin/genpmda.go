package agentadmin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
	"github.com/go-pcp/pcp/getopt"
	"github.com/go-pcp/pcp/internal/stdpmid"
	"github.com/go-pcp/pcp/pmns"
)

// GenerateCommand is genpmda.
var GenerateCommand = &cli.Command{
	Name:     "agent generate",
	Link:     "genpmda",
	Group:    cli.WriteAgent,
	Summary:  "generate a new agent in Go from a name space with descriptions",
	Synopsis: "[-dv] [-D domain] [-n pmns] [-o dir] [-s stdpmid] [-t topdir] -c config -i IAM",
	Options: func() []cli.Option {
		return []cli.Option{
			cli.Heading("Options"),
			{Short: 'c', Arg: "CONFIG", Help: "name space in which comments describe the metrics"},
			{Short: 'i', Arg: "IAM", Help: "name of the agent, and of its domain in stdpmid"},
			{Short: 'd', Help: "have a program of its own, which it is without -d too: no agent is a DSO here"},
			{Short: 'D', Arg: "DOMAIN", Help: "domain of the agent [that of IAM in stdpmid]"},
			{Short: 'n', Arg: "PMNS", Help: "root of the names [the agent's name]"},
			{Short: 'o', Arg: "DIR", Help: "where it is written [./generated]"},
			{Short: 's', Arg: "STDPMID", Help: "file with the numbers of domains [$PCP_VAR_DIR/pmns/stdpmid]"},
			{Short: 't', Arg: "TOPDIR", Help: "build with the checkout of this software in TOPDIR"},
			{Short: 'v', Help: "print the names of written files"},
			{Short: '?', Long: "help", Help: "show this usage message and exit"},
		}
	},
	Doc: `The configuration is as for genpmda of the C implementation: groups of names as in a name space, and
for each metric comments that begin with ##:

    example.metric {
        ##  metric         string
        ##  pmid           EXAMPLE:CLUSTER:0
        ##  indom          PM_INDOM_NULL
        ##  type           PM_TYPE_STRING
        ##  units          PMDA_PMUNITS(0,0,0,0,0,0)
        ##  semantics      PM_SEM_DISCRETE
        ##  briefhelptext  one line of help
        ##  helptext       more help, also in several lines
        ##  code           atom->cp = "hello world";
        ##  endmetric
    }

The output is Go, as from "pcp agent new": a table of metrics in main.go, and a function for each in
values.go. Code that sets the value to a constant is translated; other code becomes a comment, and
the metric has no value until it is written in Go. Named clusters are numbered in their order.`,
	Examples:    []cli.Example{{Line: "pcp agent generate -D 400 -i EXAMPLE -c example.conf", Text: "write the agent example to ./generated"}},
	DieOnSignal: true,
	Run:         runGenerate,
}

func runGenerate(_ context.Context, env *cli.Env) int {
	var config, iam, root, checkout string
	given := false
	dir, table := "generated", filepath.Join(env.Config().Get("PCP_VAR_DIR"), "pmns", "stdpmid")
	domain, verbose, bad := 0, false, false
	p := getopt.New(env.Command.OptionList(), env.Args)
	p.POSIX = true
	for opt, arg := range p.All() {
		if opt == nil {
			fmt.Fprintf(env.Stderr, "%s: %s\n", env.ProgName(), p.Problem())
			bad = true
			continue
		}
		switch opt.Short {
		case 'c':
			config = arg
		case 'i':
			iam = strings.ToLower(arg)
		case 'D':
			n, err := strconv.Atoi(arg)
			if err != nil || n < 1 {
				return env.Fatalf("-D %s: not the number of a domain", arg)
			}
			domain = n
		case 'n':
			root = arg
		case 'o':
			dir = arg
		case 's':
			table, given = arg, true
		case 't':
			checkout = arg
		case 'v':
			verbose = true
		case '?':
			if !env.Classic() {
				env.Help(env.Command)
				return 0
			}
			bad = true
		}
	}
	if bad || iam == "" || config == "" || len(p.Args()) > 0 {
		fmt.Fprintf(env.Stdout, "Usage: %s %s\n", env.ProgName(), env.Command.Synopsis)
		return 1
	}
	if root == "" {
		root = iam
	}
	g := newGenerator(config, iam, root)
	err := g.readFile()
	if err == nil && domain == 0 {
		domain, err = domainIn(table, given, strings.ToUpper(iam))
	}
	if err == nil {
		err = checkNew(iam, "pmda"+iam, domain)
	}
	var goMod, goSum string
	if err == nil {
		goMod, goSum, err = modFiles("pmda"+iam, env.Version, checkout)
	}
	if err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	files := []newFile{{"go.mod", goMod}}
	for _, f := range newFiles(iam, domain, true) {
		if f.name == "main.go" {
			f.text = g.mainText(domain)
		}
		files = append(files, f)
	}
	files = append(files, newFile{"values.go", g.valuesText()})
	if goSum != "" {
		files = append(files, newFile{"go.sum", goSum})
	}
	if err := writeNew(dir, files); err != nil {
		return env.Fatalf("%s", cli.FileErrText(err))
	}
	if verbose || !env.Classic() {
		for _, f := range files {
			fmt.Fprintf(env.Stdout, "Wrote %s\n", filepath.Join(dir, f.name))
		}
	}
	return 0
}

// domainIn returns the number of a domain in a file like stdpmid. If the file does not exist and is
// the machine's default, it returns the number that PCP assigns.
func domainIn(path string, given bool, name string) (int, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !given {
		if n, ok := stdpmid.Number(name); ok {
			return n, nil
		}
		return 0, fmt.Errorf("there is no domain %s; set it with -D", name)
	}
	if err != nil {
		return 0, fmt.Errorf("%w; set the domain with -D", err)
	}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) >= 3 && w[0] == "#define" && w[1] == name {
			return strconv.Atoi(w[2])
		}
	}
	return 0, fmt.Errorf("%s: there is no domain %s; set it with -D", path, name)
}

// A generator generates an agent from a configuration.
type generator struct {
	file, iam, root string
	metrics         []*genMetric
	inDoms          []string
	clusters        map[string]int
	lines           map[string]int    // of metrics, by their unique keys
	lists           map[string]string // instance domains, by the functions that list them
}

func newGenerator(file, iam, root string) *generator {
	return &generator{file: file, iam: iam, root: root, clusters: make(map[string]int), lines: make(map[string]int), lists: make(map[string]string)}
}

// A genMetric is a metric as described by comments.
type genMetric struct {
	line                                int
	name, pmid, indom, typ, units, sem  string
	cluster, item                       int
	oneLine, fetch                      string
	help, code                          []string
	goType, goUnits, goSem, value, conv string
}

// maxConfig is the maximum size of a configuration.
const maxConfig = 8 << 20

func (g *generator) readFile() error {
	f, err := os.Open(g.file)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(text) > maxConfig {
		err = fmt.Errorf("%s: more than %d bytes", g.file, maxConfig)
	}
	if err != nil {
		return err
	}
	return g.read(text)
}

// read reads a configuration.
func (g *generator) read(text []byte) error {
	group, n := "", 0
	var m *genMetric
	for line := range bytes.Lines(text) {
		n++
		fail := func(format string, args ...any) error {
			return fmt.Errorf("%s:%d: %s", g.file, n, fmt.Sprintf(format, args...))
		}
		if !isText(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))) {
			return fail("there is something else than text")
		}
		words := strings.Fields(string(line))
		switch {
		case len(words) >= 2 && words[len(words)-1] == "{":
			group = words[0]
			continue
		case len(words) < 2 || words[0] != "##":
			continue
		}
		_, rest, _ := strings.Cut(string(line), words[1])
		rest = strings.TrimSpace(rest)
		key := words[1]
		switch {
		case key == "metric" && m != nil:
			return fail("metric %s has no endmetric", m.name)
		case key == "metric":
			m = &genMetric{line: n, name: group + "." + rest}
			if group == "" || !pmns.ValidName(m.name) || !strings.HasPrefix(m.name, g.root+".") {
				return fail("%q is not the name of a metric below %s", m.name, g.root)
			}
			continue
		case m == nil:
			return fail("%s does not belong to a metric", key)
		}
		switch key {
		case "pmid":
			m.pmid = rest
		case "indom":
			m.indom = rest
		case "type":
			m.typ = rest
		case "units":
			m.units = rest
		case "semantics":
			m.sem = rest
		case "briefhelptext":
			m.oneLine = rest
		case "helptext":
			m.help = append(m.help, rest)
		case "fetch":
			m.fetch = rest
		case "code":
			m.code = append(m.code, rest)
		case "endmetric":
			if err := g.add(m); err != nil {
				return fail("metric %s: %v", m.name, err)
			}
			m = nil
		default:
			return fail("%s is not known", key)
		}
	}
	if m != nil {
		return fmt.Errorf("%s:%d: metric %s has no endmetric", g.file, m.line, m.name)
	}
	if len(g.metrics) == 0 {
		return fmt.Errorf("%s: no metrics are defined", g.file)
	}
	return nil
}

// isText reports whether a line is valid in a Go comment.
func isText(line []byte) bool {
	return utf8.Valid(line) && bytes.IndexFunc(line, func(r rune) bool { return r != '\t' && unicode.IsControl(r) || r == '\ufeff' }) < 0
}

// genTypes are the Go names for types: the constant, the constructor of a value, and
// the field of pmAtomValue.
func genTypes() map[string]struct{ typ, value, field string } {
	return map[string]struct{ typ, value, field string }{
		"PM_TYPE_32": {"pcp.Type32", "pcp.Int32Value", "l"}, "PM_TYPE_U32": {"pcp.TypeU32", "pcp.Uint32Value", "ul"},
		"PM_TYPE_64": {"pcp.Type64", "pcp.Int64Value", "ll"}, "PM_TYPE_U64": {"pcp.TypeU64", "pcp.Uint64Value", "ull"},
		"PM_TYPE_FLOAT": {"pcp.TypeFloat", "pcp.FloatValue", "f"}, "PM_TYPE_DOUBLE": {"pcp.TypeDouble", "pcp.DoubleValue", "d"},
		"PM_TYPE_STRING": {"pcp.TypeString", "pcp.StringValue", "cp"},
	}
}

func genSems() map[string]string {
	return map[string]string{"PM_SEM_COUNTER": "pcp.SemCounter", "PM_SEM_INSTANT": "pcp.SemInstant", "PM_SEM_DISCRETE": "pcp.SemDiscrete"}
}

func genScales() map[string]string {
	return map[string]string{
		"PM_SPACE_BYTE": "pcp.SpaceByte", "PM_SPACE_KBYTE": "pcp.SpaceKByte", "PM_SPACE_MBYTE": "pcp.SpaceMByte", "PM_SPACE_GBYTE": "pcp.SpaceGByte",
		"PM_SPACE_TBYTE": "pcp.SpaceTByte", "PM_TIME_NSEC": "pcp.TimeNsec", "PM_TIME_USEC": "pcp.TimeUsec", "PM_TIME_MSEC": "pcp.TimeMsec",
		"PM_TIME_SEC": "pcp.TimeSec", "PM_TIME_MIN": "pcp.TimeMin", "PM_TIME_HOUR": "pcp.TimeHour", "PM_COUNT_ONE": "pcp.CountOne",
	}
}

// add checks a metric and keeps it.
func (g *generator) add(m *genMetric) error {
	typ, ok := genTypes()[m.typ]
	if !ok {
		return fmt.Errorf("type %q is not known", m.typ)
	}
	m.goType, m.value = typ.typ, typ.value
	if m.goSem = genSems()[m.sem]; m.goSem == "" {
		return fmt.Errorf("semantics %q are not known", m.sem)
	}
	list, ok := strings.CutPrefix(strings.ReplaceAll(m.units, " ", ""), "PMDA_PMUNITS(")
	parts := strings.Split(strings.TrimSuffix(list, ")"), ",")
	if !ok || len(parts) != 6 {
		return fmt.Errorf("units %q are not PMDA_PMUNITS() of six", m.units)
	}
	for i, part := range parts {
		if n, err := strconv.Atoi(part); err == nil && n >= -8 && n <= 7 {
			continue
		}
		if parts[i] = genScales()[part]; parts[i] == "" {
			return fmt.Errorf("units %q: %q is not known", m.units, part)
		}
	}
	m.goUnits = "pcp.NewUnits(" + strings.Join(parts, ", ") + ")"
	id := strings.Split(m.pmid, ":")
	if len(id) != 3 || !strings.EqualFold(id[0], g.iam) {
		return fmt.Errorf("pmid %q is not %s:CLUSTER:ITEM", m.pmid, strings.ToUpper(g.iam))
	}
	var err error
	if m.item, err = strconv.Atoi(id[2]); err != nil || m.item < 0 || m.item >= 1<<10 {
		return fmt.Errorf("pmid %q: %q is not the number of an item", m.pmid, id[2])
	}
	if m.cluster, err = strconv.Atoi(id[1]); err != nil {
		if m.cluster, ok = g.clusters[id[1]]; !ok {
			m.cluster = len(g.clusters)
			g.clusters[id[1]] = m.cluster
		}
	}
	if m.cluster < 0 || m.cluster >= 1<<12 {
		return fmt.Errorf("pmid %q: the cluster is too large", m.pmid)
	}
	if m.indom == "PM_INDOM_NULL" || m.indom == "" {
		m.indom = ""
	} else if !regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(m.indom) {
		return fmt.Errorf("indom %q is not a name", m.indom)
	}
	// Unique keys: names, numbers, and the functions named after them.
	for _, key := range []string{"name " + m.name, fmt.Sprintf("pmid %d.%d", m.cluster, m.item), "function " + method("value", m.name)} {
		if line, ok := g.lines[key]; ok {
			return fmt.Errorf("the metric of line %d has the same %s", line, key)
		}
		g.lines[key] = m.line
	}
	if m.indom != "" {
		key := method("list", m.indom)
		if other, ok := g.lists[key]; ok && other != m.indom {
			return fmt.Errorf("indom %s and %s are too alike", other, m.indom)
		}
		g.lists[key] = m.indom
	}
	if m.oneLine == "" {
		m.oneLine = m.name
	}
	m.conv = constant(m.code, typ.field, typ.value)
	g.metrics = append(g.metrics, m)
	return nil
}

// constant returns Go for C that only sets a field of the value to a constant, else "".
func constant(code []string, field, value string) string {
	text := strings.Join(code, " ")
	m := regexp.MustCompile(`^(?:/\*[^*]*\*/\s*)?atom->(\w+)\s*=\s*("[^"\\]*"|-?[0-9]+(?:\.[0-9]+)?)\s*;\s*(?:return\s+1\s*;)?\s*$`).FindStringSubmatch(text)
	if m == nil || m[1] != field {
		return ""
	}
	literal := m[2]
	var err error
	switch field {
	case "cp":
		if literal[0] != '"' {
			return ""
		}
	case "l":
		_, err = strconv.ParseInt(literal, 10, 32)
	case "ul":
		_, err = strconv.ParseUint(literal, 10, 32)
	case "ll":
		_, err = strconv.ParseInt(literal, 10, 64)
	case "ull":
		_, err = strconv.ParseUint(literal, 10, 64)
	default:
		_, err = strconv.ParseFloat(literal, 32)
	}
	if err != nil {
		return ""
	}
	if field != "cp" && len(literal) > 1 && strings.HasPrefix(strings.TrimPrefix(literal, "-"), "0") && !strings.Contains(literal, ".") {
		return "" // octal in C
	}
	return value + "(" + literal + ")"
}

// method returns the name of the function that returns the value of a metric, or lists
// the instances of a domain.
func method(prefix, name string) string {
	var b strings.Builder
	b.WriteString(prefix)
	for part := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '.' }) {
		b.WriteString(strings.ToUpper(part[:1]) + part[1:] + "_")
	}
	return strings.TrimSuffix(b.String(), "_")
}

// mainText returns the program.
func (g *generator) mainText(domain int) string {
	var b strings.Builder
	typ := g.iam + "Agent"
	fmt.Fprintf(&b, "// Command pmda%s gives a collector the metrics of %s.\npackage main\n\nimport (\n\t\"log/slog\"\n\n\t\"github.com/go-pcp/pcp\"\n\t\"github.com/go-pcp/pcp/pmda\"\n)\n\n", g.iam, g.root)
	fmt.Fprintf(&b, "func main() { (&pmda.Daemon{Name: \"pmda%s\", Domain: %d, New: newAgent}).Main() }\n\n", g.iam, domain)
	fmt.Fprintf(&b, "// %s is what the agent knows.\ntype %s struct {\n\tlog *slog.Logger\n}\n\n", typ, typ)
	fmt.Fprintf(&b, "func newAgent(domain int, log *slog.Logger) (pmda.Agent, error) {\n\ta := &%s{log: log}\n", typ)
	inDoms := map[string]bool{}
	for _, m := range g.metrics {
		if m.indom != "" && !inDoms[m.indom] {
			fmt.Fprintf(&b, "\t%s := &pmda.InDom{Serial: %d, OneLine: %q, List: a.%s}\n", method("indom", m.indom), len(inDoms), m.indom, method("list", m.indom))
			inDoms[m.indom] = true
			g.inDoms = append(g.inDoms, m.indom)
		}
	}
	fmt.Fprintf(&b, "\treturn pmda.NewTable(pmda.Config{Name: %q, Domain: domain, Log: log, Metrics: []pmda.Metric{\n", g.iam)
	for _, m := range g.metrics {
		fmt.Fprintf(&b, "\t\t{Name: %q, Cluster: %d, Item: %d, Type: %s, Sem: %s, Units: %s, ", m.name, m.cluster, m.item, m.goType, m.goSem, m.goUnits)
		if m.indom != "" {
			fmt.Fprintf(&b, "InDom: %s, ", method("indom", m.indom))
		}
		fmt.Fprintf(&b, "OneLine: %q, ", m.oneLine)
		if len(m.help) > 0 {
			fmt.Fprintf(&b, "Help: %q, ", strings.Join(m.help, "\n"))
		}
		fmt.Fprintf(&b, "Value: a.%s},\n", method("value", m.name))
	}
	b.WriteString("\t}})\n}\n")
	return b.String()
}

// valuesText returns the functions of values and instances.
func (g *generator) valuesText() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	if len(g.inDoms) > 0 {
		b.WriteString("\t\"context\"\n\n")
	}
	b.WriteString("\t\"github.com/go-pcp/pcp\"\n")
	missing := false
	for _, m := range g.metrics {
		missing = missing || m.conv == ""
	}
	if missing {
		b.WriteString("\t\"github.com/go-pcp/pcp/pmda\"\n")
	}
	b.WriteString(")\n")
	for _, name := range g.inDoms {
		fmt.Fprintf(&b, "\n// %s lists the instances of %s. A number must always mean the same.\nfunc (a *%sAgent) %s(context.Context) ([]pcp.Instance, error) {\n\treturn nil, nil\n}\n", method("list", name), name, g.iam, method("list", name))
	}
	for _, m := range g.metrics {
		name := method("value", m.name)
		fmt.Fprintf(&b, "\n// %s returns the value of %s.\nfunc (a *%sAgent) %s(inst int32, i int) (pcp.Value, error) {\n", name, m.name, g.iam, name)
		if m.conv != "" {
			fmt.Fprintf(&b, "\treturn %s, nil\n}\n", m.conv)
			continue
		}
		if m.fetch != "" {
			fmt.Fprintf(&b, "\t// To be written: %s\n", m.fetch)
		}
		for _, line := range m.code {
			fmt.Fprintf(&b, "\t// %s\n", strings.TrimRight(line, " "))
		}
		fmt.Fprintf(&b, "\treturn %s, pmda.ErrNoValue\n}\n", "pcp.Value{}")
	}
	return b.String()
}
