package man

import (
	"fmt"
	"strings"

	"github.com/go-pcp/pcp/cmd/internal/tool/cli"
)

// commandPage is the page of one command.
func commandPage(c *cli.Command, version string) []byte {
	called := c.Link
	modern := "pcp " + c.Name
	if called == "" {
		called = modern
	}
	var p page
	p.title(PageName(c), 1, version, c.Summary)
	p.section("SYNOPSIS")
	p.synopsis(called, c.Synopsis)
	if called != modern {
		p.macro("br")
		p.synopsis(modern, c.Synopsis)
	}
	p.section("DESCRIPTION")
	if text := c.Text(); text != "" {
		p.text(text)
	} else {
		p.text(sentence(c.Summary))
	}
	if called != modern {
		p.text(fmt.Sprintf("Called as %s the command takes the same options and prints the same output as the command "+
			"of that name of PCP in C.", called))
	}
	p.options(c.OptionList())
	if len(c.Sub) > 0 {
		p.section("COMMANDS")
		for _, sub := range c.Sub {
			p.item(`\fB`+escape("pcp "+sub.Name)+`\fR `+escape(sub.Synopsis), sentence(sub.Summary))
		}
	}
	if len(c.Examples) > 0 {
		p.section("EXAMPLES")
		for _, e := range c.Examples {
			p.text(sentence(e.Text) + "\n\n    " + e.Line)
		}
	}
	p.section("EXIT STATUS")
	p.text("0 if all went well, another status after a message on standard error.")
	also := c.SeeAlso
	for _, sub := range c.Sub {
		also = append(also[:len(also):len(also)], PageName(sub)+"(1)")
	}
	p.seeAlso(also)
	return []byte(p.b.String())
}

// programPage is the page of the program itself, with the list of commands.
func programPage(commands []*cli.Command, version string) []byte {
	var p page
	p.title("pcp", 1, version, "Performance Co-Pilot in one program")
	p.section("SYNOPSIS")
	p.synopsis("pcp", "command [options] [arguments]")
	p.macro("br")
	p.synopsis("pcp help", "[--all | command]")
	p.section("DESCRIPTION")
	p.text(`Performance Co-Pilot watches the performance of systems and programs: agents
extract metrics, a collector serves them, tools read them live or from archives. This
program is all of these; its first argument chooses the command. Through a link that has
the classic name of a command, such as pminfo, it is that command.

"pcp up" collects from this machine until it is interrupted, and needs no configuration
and no root. "pcp links" makes the links, "pcp help NAME" explains a command.`)
	p.section("COMMANDS")
	in := make(map[string][]*cli.Command)
	for _, c := range commands {
		in[c.Group] = append(in[c.Group], c)
	}
	for _, g := range cli.Groups() {
		p.macro("SS", g)
		for _, c := range in[g] {
			p.item(`\fB`+escape(c.Name)+`\fR, see \fB`+escape(PageName(c))+`\fR(1)`, sentence(c.Summary))
		}
	}
	p.section("EXIT STATUS")
	p.text("That of the command; 1 if there is no such command.")
	var also []string
	for _, topic := range Topics() {
		also = append(also, topic+"(5)")
	}
	p.seeAlso(also)
	return []byte(p.b.String())
}

// topicPage is a page of section 5: a line that is its summary, and text.
func topicPage(topic, version string) []byte {
	text, _ := Topic(topic)
	summary, text, _ := strings.Cut(text, "\n")
	var p page
	p.title(topic, 5, version, summary)
	p.text(text)
	return []byte(p.b.String())
}

// A page is a manual page in the macros of man(7).
type page struct{ b strings.Builder }

// macro writes a request with arguments.
func (p *page) macro(name string, args ...string) {
	p.b.WriteString("." + name)
	for _, a := range args {
		p.b.WriteString(` "` + strings.ReplaceAll(escape(a), `"`, `\(dq`) + `"`)
	}
	p.b.WriteByte('\n')
}

// line writes a line of output that is escaped already.
func (p *page) line(s string) {
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, "'") {
		p.b.WriteString(`\&`)
	}
	p.b.WriteString(s + "\n")
}

func (p *page) title(name string, section int, version, summary string) {
	p.b.WriteString(marker)
	p.macro("TH", strings.ToUpper(name), fmt.Sprint(section), "", "pcp "+version, "Performance Co-Pilot")
	p.section("NAME")
	p.line(`\fB` + escape(name) + `\fR \- ` + escape(summary))
}

func (p *page) section(name string) { p.macro("SH", name) }

func (p *page) synopsis(name, args string) {
	for i, line := range strings.Split(strings.TrimRight(args, "\n"), "\n") {
		if i == 0 {
			p.line(`\fB` + escape(name) + `\fR ` + escape(line))
			continue
		}
		p.macro("br")
		p.line(escape(strings.TrimSpace(line)))
	}
}

// item writes an entry of a list: a tag, which is escaped already, and its text.
func (p *page) item(tag, text string) {
	p.macro("TP")
	p.line(tag)
	p.line(escape(text))
}

// options writes the options with their headings.
func (p *page) options(options []cli.Option) {
	p.section("OPTIONS")
	for i := range options {
		o := &options[i]
		switch {
		case o.Help == "":
		case o.Short == 0 && o.Long == "" && o.Arg == "|":
			p.macro("PP")
			p.line(escape(strings.TrimSpace(o.Help)))
		case o.Short == 0 && o.Long == "":
			p.macro("SS", o.Help)
		default:
			help := sentence(o.Help)
			if o.Extra {
				help += " Not in the C command."
			}
			p.item(optionTag(o), help)
		}
	}
}

// optionTag is how an option is written: "-f, --fetch" with its argument.
func optionTag(o *cli.Option) string {
	var forms []string
	if o.Short != 0 {
		s := `\fB\-` + escape(string(o.Short)) + `\fR`
		if o.Arg != "" {
			s += ` \fI` + escape(o.Arg) + `\fR`
		}
		forms = append(forms, s)
	}
	if o.Long != "" {
		s := `\fB\-\-` + escape(o.Long) + `\fR`
		if o.Arg != "" {
			s += `=\fI` + escape(o.Arg) + `\fR`
		}
		forms = append(forms, s)
	}
	return strings.Join(forms, ", ")
}

// text writes plain text: paragraphs with empty lines between, "# " before a
// section's name, "- TAG: " before an entry of a list, and lines that begin with
// white space as they are.
func (p *page) text(text string) {
	for _, block := range blocks(text) {
		switch first := block[0]; {
		case strings.HasPrefix(first, "# "):
			p.section(strings.ToUpper(first[2:]))
		case strings.HasPrefix(first, "- "):
			tag, rest, ok := strings.Cut(strings.Join(block, " ")[2:], ": ")
			if !ok {
				p.macro("IP", "•", "2")
				p.line(escape(tag))
				continue
			}
			p.item(`\fB`+escape(tag)+`\fR`, rest)
		case indented(first):
			p.macro("PP")
			p.macro("RS", "4")
			p.macro("nf")
			for _, line := range block {
				p.line(escape(strings.TrimPrefix(strings.ReplaceAll(line, "\t", "    "), "    ")))
			}
			p.macro("fi")
			p.macro("RE")
		default:
			p.macro("PP")
			p.line(escape(strings.Join(block, " ")))
		}
	}
}

// blocks splits a text at empty lines, before headings and entries, and between
// indented and other lines. No block is empty.
func blocks(text string) [][]string {
	var all [][]string
	var block []string
	end := func() {
		for len(block) > 0 && block[len(block)-1] == "" {
			block = block[:len(block)-1]
		}
		if len(block) > 0 {
			all = append(all, block)
		}
		block = nil
	}
	for line := range strings.SplitSeq(strings.Trim(text, "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		literal := len(block) > 0 && indented(block[0])
		entry := len(block) > 0 && strings.HasPrefix(block[0], "- ")
		switch {
		case line == "" && literal:
			block = append(block, "") // kept between literal lines
			continue
		case line == "":
			end()
			continue
		case entry && indented(line):
			block = append(block, strings.TrimSpace(line)) // the entry continues
			continue
		case indented(line) != literal, strings.HasPrefix(line, "# "), strings.HasPrefix(line, "- "):
			end()
		}
		block = append(block, line)
		if strings.HasPrefix(line, "# ") {
			end()
		}
	}
	end()
	return all
}

func indented(line string) bool {
	return strings.HasPrefix(line, "  ") || strings.HasPrefix(line, "\t")
}

func (p *page) seeAlso(names []string) {
	names = append(names[:len(names):len(names)], "pcp(1)")
	p.section("SEE ALSO")
	for i, name := range names {
		base, section, _ := strings.Cut(name, "(")
		sep := ","
		if i == len(names)-1 {
			sep = ""
		}
		p.line(`\fB` + escape(base) + `\fR(` + escape(section) + sep)
	}
}

// sentence makes a summary a sentence: a capital letter and a full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return s
	}
	if c := s[0]; 'a' <= c && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	if !strings.ContainsAny(s[len(s)-1:], ".:?!") {
		s += "."
	}
	return s
}

// escape keeps text from being taken for requests: a backslash, and a minus that
// is one and not a hyphen.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "•", `\(bu`, "…", "...", "–", `\(en`, "×", `\(mu`).Replace(s)
}
