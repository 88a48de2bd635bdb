package interop

import (
	"encoding/json"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/go-pcp/pcp/internal/testing/oracle"
)

// A metric is a client's view of one metric. Fields are text in pminfo's words,
// for readable differences.
type metric struct {
	PMID, Type, InDom, Sem, Units string
	Insts                         map[string]string // instance number and name → value; "" for a single value
	NoValues                      string            // why there are none
}

// tries is how often two looks at the machine may differ by chance: values,
// and instances, change between the two.
const tries = 5

// settled runs a comparison until it finds nothing, and reports the differences
// that were in the last run and all runs before.
func settled(t *testing.T, compare func(errorf func(format string, args ...any))) {
	t.Helper()
	var always map[string]string // by its beginning, which names what differs
	for i := range tries {
		found := map[string]string{}
		compare(func(format string, args ...any) {
			t.Helper()
			text := fmt.Sprintf(format, args...)
			key, _, _ := strings.Cut(text, ": ")
			if _, before := always[key]; before || i == 0 {
				found[key] = text
			}
		})
		if always = found; len(always) == 0 {
			return
		}
		for _, key := range sortedNames(always) {
			t.Logf("try %d: %s", i+1, always[key])
		}
	}
	for _, key := range sortedNames(always) {
		t.Error(always[key])
	}
}

// see reads all metrics below names through a tool.
func (cl client) see(t *testing.T, c collector, names ...string) map[string]metric {
	t.Helper()
	args := append([]string{"-h", c.unix, "-dmf"}, names...)
	out := cl.run(t, c.env, "pminfo", args...)
	if out.Exit != 0 {
		t.Fatalf("%s, %s: pminfo %v: exit %d: %s", cl.name, c.name, args, out.Exit, out.Stderr)
	}
	return parseInfo(t, out.Stdout)
}

var (
	headLine = regexp.MustCompile(`^(\S+) PMID: (\S+)`)
	typeLine = regexp.MustCompile(`^ {4}Data Type: (.*?)  InDom: (.*)$`)
	semLine  = regexp.MustCompile(`^ {4}Semantics: (\S+)  Units: ?(.*)$`)
	instLine = regexp.MustCompile(`^ {4}inst \[(-?\d+) or "(.*)"\] value (.*)$`)
	oneLine  = regexp.MustCompile(`^ {4}value (.*)$`)
)

// parseInfo parses the output of pminfo -dmf.
func parseInfo(t *testing.T, text string) map[string]metric {
	t.Helper()
	found := map[string]metric{}
	name := ""
	var m metric
	flush := func() {
		if name != "" {
			found[name] = m
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if f := headLine.FindStringSubmatch(line); f != nil {
			flush()
			name, m = f[1], metric{PMID: f[2], Insts: map[string]string{}}
		} else if f := typeLine.FindStringSubmatch(line); f != nil {
			m.Type, m.InDom = f[1], f[2]
		} else if f := semLine.FindStringSubmatch(line); f != nil {
			m.Sem, m.Units = f[1], f[2]
		} else if f := instLine.FindStringSubmatch(line); f != nil {
			m.Insts[f[1]+" "+f[2]] = f[3]
		} else if f := oneLine.FindStringSubmatch(line); f != nil {
			m.Insts[""] = f[1]
		} else if line != "" {
			m.NoValues += strings.TrimSpace(line)
		}
	}
	flush()
	if len(found) == 0 {
		t.Fatalf("no metric in:\n%s", text)
	}
	return found
}

// pythonScript prints the view of the real PCP's Python module, in the words of
// pminfo.
const pythonScript = `
import ctypes, json, sys
from pcp import pmapi
import cpmapi as c
ctx = pmapi.pmContext(c.PM_CONTEXT_HOST, sys.argv[1])
names = []
for prefix in sys.argv[2:]:
    ctx.pmTraversePMNS(prefix, lambda n: names.append(n if isinstance(n, str) else n.decode()))
seen = {}
pmids = ctx.pmLookupName(names)
for name, pmid in zip(names, pmids):
    try:
        desc = ctx.pmLookupDescs(pmid)[0]
    except pmapi.pmErr:
        seen[name] = {"PMID": ctx.pmIDStr(pmid)}
        continue
    m = {"PMID": ctx.pmIDStr(pmid), "Sem": ctx.pmSemStr(desc.contents.sem),
         "Units": ctx.pmUnitsStr(desc.contents.units), "InDom": ctx.pmInDomStr(desc),
         "Type": ctx.pmTypeStr(desc.contents.type), "Insts": {}}
    res = ctx.pmFetch((ctypes.c_uint * 1)(pmid))
    vs = res.contents.get_vset(0).contents
    m["NumVal"] = vs.numval
    for i in range(max(vs.numval, 0)):
        inst = res.contents.get_inst(0, i)
        key = ""
        if desc.contents.indom != c.PM_INDOM_NULL:
            try:
                key = "%d %s" % (inst, ctx.pmNameInDom(desc, inst))
            except pmapi.pmErr:
                key = "%d ?" % inst
        t = desc.contents.type
        if t in (c.PM_TYPE_32, c.PM_TYPE_U32, c.PM_TYPE_64, c.PM_TYPE_U64, c.PM_TYPE_FLOAT, c.PM_TYPE_DOUBLE):
            atom = ctx.pmExtractValue(vs.valfmt, res.contents.get_vlist(0, i), t, c.PM_TYPE_DOUBLE)
            m["Insts"][key] = repr(atom.d)
        elif t == c.PM_TYPE_STRING:
            atom = ctx.pmExtractValue(vs.valfmt, res.contents.get_vlist(0, i), t, c.PM_TYPE_STRING)
            m["Insts"][key] = '"%s"' % atom.cp.decode()
        else:
            m["Insts"][key] = "?"
    ctx.pmFreeResult(res)
    seen[name] = m
json.dump(seen, sys.stdout)
`

// seePython reads metrics through the Python module.
func seePython(t *testing.T, c collector, names ...string) map[string]metric {
	t.Helper()
	out := oracle.Python(t, c.env, pythonScript, append([]string{c.unix}, names...)...)
	if out.Exit != 0 {
		t.Fatalf("python, %s: exit %d: %s", c.name, out.Exit, out.Stderr)
	}
	found := map[string]metric{}
	if err := json.Unmarshal([]byte(out.Stdout), &found); err != nil {
		t.Fatalf("python, %s: %v", c.name, err)
	}
	return found
}

// shortType turns pminfo's words for a type into pmTypeStr's.
func shortType(s string) string {
	switch s {
	case "32-bit int":
		return "32"
	case "32-bit unsigned int":
		return "U32"
	case "64-bit int":
		return "64"
	case "64-bit unsigned int":
		return "U64"
	case "float", "double", "string", "event record array", "highres event record array":
		return map[string]string{
			"float": "FLOAT", "double": "DOUBLE", "string": "STRING",
			"event record array": "EVENT", "highres event record array": "HIGHRES_EVENT",
		}[s]
	case "aggregate":
		return "AGGREGATE"
	case "static aggregate":
		return "AGGREGATE_STATIC"
	case "Not Supported":
		return "NO_SUPPORT"
	}
	return s
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// number reads a value as pminfo or Python prints it.
func number(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}
