// Metrics writes docs/metrics: a page about each agent, made of its tables.
//
//	go run ./cmd/scripts/metrics            write the pages
//	go run ./cmd/scripts/metrics -n         only list pages that differ from the tables
//
// The agents are opened on an empty directory in place of the machine's files, so that the
// pages are the same on any machine: metrics and instances that come and go are not in them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/agent/builtin"
	"github.com/go-pcp/pcp/cmd/internal/agent"
	"github.com/go-pcp/pcp/config"
	"github.com/go-pcp/pcp/internal/agent/pmcd"
	"github.com/go-pcp/pcp/pmda"
)

// dir is where the pages are, from the root of the module.
const dir = "docs/metrics"

// manyMetrics is the maximum number of metrics of an agent on one page; an agent with
// more gets a page for each subtree of names.
const manyMetrics = 400

func main() {
	dry := flag.Bool("n", false, "only list the pages that are out of date")
	flag.Parse()
	if err := run(".", *dry); err != nil {
		fmt.Fprintln(os.Stderr, "metrics:", err)
		os.Exit(1)
	}
}

// run updates the pages below the root of the module, or lists the differences.
func run(root string, dry bool) error {
	want, err := pages(context.Background())
	if err != nil {
		return err
	}
	stale, err := differences(filepath.Join(root, dir), want)
	if err != nil {
		return err
	}
	if dry {
		if len(stale) > 0 {
			return fmt.Errorf("pages in %s are out of date: %s; run \"make metrics\" and commit them", dir, strings.Join(stale, ", "))
		}
		return nil
	}
	for _, name := range stale {
		path := filepath.Join(root, dir, name)
		text, ok := want[name]
		if !ok {
			err = os.Remove(path)
		} else if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			return err
		}
		fmt.Println(filepath.Join(dir, name))
	}
	return nil
}

// differences returns the names of the pages in dir that are missing, too many or different.
func differences(dir string, want map[string]string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var stale []string
	found := make(map[string]bool)
	for _, e := range entries {
		found[e.Name()] = true
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if text, ok := want[e.Name()]; !ok || text != string(b) {
			stale = append(stale, e.Name())
		}
	}
	for name := range want {
		if !found[name] {
			stale = append(stale, name)
		}
	}
	slices.Sort(stale)
	return stale, nil
}

// A host is a collector that is never asked: the agent of that name only describes its
// metrics.
type host struct{ pmcd.Collector }

// environment is the machine as agents see it: files below root, which is empty, and any
// port that is free.
func environment(root string) func(name string) string {
	return func(name string) string {
		switch {
		case name == "PCP_TRACE_PORT":
			return "0"
		case name == "PCP_STATSD_LISTEN":
			return "127.0.0.1:0"
		case name == "PCP_OTLP_LISTEN":
			return "localhost:0"
		case strings.HasPrefix(name, "PCP_") && strings.HasSuffix(name, "_DIR"), strings.HasSuffix(name, "_STATSPATH"), name == "SYSFS_MOUNT_POINT":
			return root
		case name == "PCP_CONF":
			return filepath.Join(root, "pcp.conf")
		}
		return ""
	}
}

// A metric is the data of a metric on a page.
type metric struct {
	name, oneLine, help, origin string
	desc                        pcp.Desc
}

// A page is about an agent, or a subtree of its names.
type page struct {
	file, title string
	metrics     []metric
}

// pages returns the text of each page by its file name.
func pages(ctx context.Context) (map[string]string, error) {
	root, err := os.MkdirTemp("", "metrics")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	all := make(map[string]string)
	var index strings.Builder
	index.WriteString(`# Metrics

The metrics of the agents in this repository. ` + "`pminfo -dtT NAME`" + ` shows the same for the metrics of
a collector. Each page lists metrics with their number, type, units, semantics, instance domain, meaning,
and the file that they are read from. Metrics and instances that depend on the machine are not listed.
` + "`make metrics`" + ` generates these pages.

| page | of | metrics |
| --- | --- | --- |
`)
	for _, b := range agent.Builtins() {
		if b.Asked && b.File != "" {
			continue // an agent in another's file has the same tables
		}
		a, err := open(b, root)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		metrics, err := describe(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		for _, p := range divide(b.Name, metrics) {
			text, err := p.text(ctx, a)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", b.Name, err)
			}
			all[p.file] = text
			fmt.Fprintf(&index, "| [%s](%s) | agent `%s`, domain %d | %d |\n", p.title, p.file, b.Name, b.Domain, len(p.metrics))
		}
	}
	all["README.md"] = index.String()
	return all, nil
}

// open opens an agent that sees nothing of this machine.
func open(b builtin.Spec, root string) (pmda.Agent, error) {
	e := builtin.Env{Config: config.New(environment(root)), Host: host{}}
	if b.Program.Args != "" {
		e.Args = []string{"first", "second"}
	}
	return b.Open(e)
}

// describe returns the metrics of an agent in the order of its name space.
func describe(ctx context.Context, a pmda.Agent) ([]metric, error) {
	named, err := names(ctx, a)
	if err != nil {
		return nil, err
	}
	texter, _ := a.(pmda.Texter)
	originator, _ := a.(pmda.Originator)
	var all []metric
	for _, n := range named {
		m := metric{name: n.name}
		if m.desc, err = a.Desc(ctx, n.id); err != nil {
			if errors.Is(err, pcp.ErrPMID) {
				continue // a name that is there for tests
			}
			return nil, fmt.Errorf("%s: %w", n.name, err)
		}
		if texter != nil {
			m.oneLine = text(ctx, texter, uint32(n.id), pcp.TextPMID|pcp.TextOneLine)
			m.help = text(ctx, texter, uint32(n.id), pcp.TextPMID|pcp.TextHelp)
		}
		if originator != nil {
			m.origin = originator.Origin(n.id)
		}
		all = append(all, m)
	}
	return all, nil
}

// text returns a help text, "" if there is none.
func text(ctx context.Context, t pmda.Texter, ident uint32, kind pcp.TextKind) string {
	s, err := t.Text(ctx, ident, kind)
	if err != nil {
		return ""
	}
	return s
}

type named struct {
	name string
	id   pcp.PMID
}

// names returns the names of an agent, those it answers for itself included.
func names(ctx context.Context, a pmda.Agent) ([]named, error) {
	s, ok := a.(pmda.NameSpacer)
	if !ok {
		return nil, nil
	}
	dynamic, _ := a.(pmda.DynamicNamer)
	var all []named
	for name, id := range s.NameSpace().All() {
		if !strings.Contains(id.String(), "*") {
			all = append(all, named{name, id})
			continue
		}
		if dynamic == nil {
			continue
		}
		below, err := dynamic.Children(ctx, name, true)
		if errors.Is(err, pcp.ErrName) {
			continue // there is nothing now
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, c := range below {
			id, err := dynamic.LookupName(ctx, c.Name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			all = append(all, named{c.Name, id})
		}
	}
	return all, nil
}

// divide returns the pages of an agent.
func divide(name string, metrics []metric) []page {
	trees := make(map[string][]metric)
	for _, m := range metrics {
		tree, _, _ := strings.Cut(m.name, ".")
		trees[tree] = append(trees[tree], m)
	}
	if len(metrics) <= manyMetrics || len(trees) == 1 {
		return []page{{name + ".md", name, metrics}}
	}
	var all []page
	for _, tree := range slices.Sorted(maps.Keys(trees)) {
		all = append(all, page{name + "-" + tree + ".md", name + ": " + tree, trees[tree]})
	}
	return all
}

// text returns the page in Markdown.
func (p *page) text(ctx context.Context, a pmda.Agent) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# Metrics of %s\n\n", p.title)
	if len(p.metrics) == 0 {
		b.WriteString("All metrics of this agent depend on the programs that run on the machine.\n")
		return b.String(), nil
	}
	b.WriteString("[All agents](README.md). Generated by `make metrics`: change the tables of the agent, not this page.\n")
	indoms := make(map[pcp.InDom][]string)
	for i := range p.metrics {
		m := &p.metrics[i]
		fmt.Fprintf(&b, "\n## %s\n\n", escape(m.name))
		facts := []string{"`" + m.desc.PMID.String() + "`", m.desc.Type.String()}
		if units := m.desc.Units.String(); units != "" {
			facts = append(facts, units)
		} else {
			facts = append(facts, "no units")
		}
		facts = append(facts, m.desc.Sem.String())
		if m.desc.InDom == pcp.InDomNull {
			facts = append(facts, "one value")
		} else {
			facts = append(facts, fmt.Sprintf("[instances %v](#instance-domain-%s)", m.desc.InDom, anchor(m.desc.InDom)))
			indoms[m.desc.InDom] = append(indoms[m.desc.InDom], m.name)
		}
		fmt.Fprintf(&b, "%s\n", strings.Join(facts, " · "))
		prose(&b, m.oneLine)
		source := "Source: " + m.origin
		help := m.help
		if m.origin != "" {
			help = withoutLast(help, source)
		}
		if help != m.oneLine {
			prose(&b, help)
		}
		if m.origin != "" {
			fmt.Fprintf(&b, "\nSource: %s\n", escape(m.origin))
		}
	}
	texter, _ := a.(pmda.Texter)
	for _, indom := range slices.Sorted(maps.Keys(indoms)) {
		fmt.Fprintf(&b, "\n## Instance domain %v\n", indom)
		if texter != nil {
			line := text(ctx, texter, uint32(indom), pcp.TextInDom|pcp.TextOneLine)
			prose(&b, line)
			if help := text(ctx, texter, uint32(indom), pcp.TextInDom|pcp.TextHelp); help != line {
				prose(&b, help)
			}
		}
		fmt.Fprintf(&b, "\nOf %s on this page.\n", plural(len(indoms[indom]), "metric"))
	}
	return b.String(), nil
}

// withoutLast returns help without its last paragraph, if that is last, except for line breaks.
func withoutLast(help, last string) string {
	i := strings.LastIndex(help, "\n\n")
	if i >= 0 && strings.Join(strings.Fields(help[i:]), " ") == last {
		return help[:i]
	}
	return help
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// anchor returns what follows #instance-domain- in a link to a domain: Markdown drops the dot.
func anchor(indom pcp.InDom) string { return strings.ReplaceAll(indom.String(), ".", "") }

// prose writes paragraphs. One with a line that begins with a blank stays as it is.
func prose(b *strings.Builder, text string) {
	if text == "" {
		return
	}
	for p := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteByte('\n')
		asIs := strings.HasPrefix(p, " ") || strings.Contains(p, "\n ") || strings.Contains(p, "\n\t")
		for line := range strings.SplitSeq(strings.TrimRight(p, "\n"), "\n") {
			line = strings.TrimRightFunc(line, unicode.IsSpace)
			switch {
			case line == "":
			case asIs:
				b.WriteString("    " + line)
			default:
				b.WriteString(escape(line))
			}
			b.WriteByte('\n')
		}
	}
}

// escape returns s so that Markdown shows it as it is.
func escape(s string) string {
	var b strings.Builder
	for i, c := range s {
		special := strings.ContainsRune("\\`*_[]<>|", c)
		if i == 0 && strings.ContainsRune("#+-=", c) {
			special = true
		}
		if special {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
