package dstat

import (
	"strings"
)

// lineWidth returns the width of the plugin on a line, by which it is left out of a narrow terminal. As in
// the C program it is the width of one instance.
func (p *plugin) lineWidth() int {
	if p.group == onlyTop {
		return p.width
	}
	return len(p.names)*p.width + len(p.names) - 1
}

// groups returns the instances for which the plugin repeats its columns.
func (p *plugin) groups() []instance {
	sum := instance{name: total, named: true}
	switch p.group {
	case withTotal:
		return append(p.shown[:len(p.shown):len(p.shown)], sum)
	case onlyTotal:
		return []instance{sum}
	}
	return p.shown
}

// grouped reports whether the plugin repeats its columns for instances.
func (p *plugin) grouped() bool { return p.group != ungrouped && p.group != onlyTop }

// title returns the label between dashes.
func (r *report) title(p *plugin) string {
	t, width := r.theme, p.lineWidth()
	rule := func(label string) string {
		return strings.ReplaceAll(center(cut(label, width), width), " ", "-")
	}
	if !p.grouped() {
		return t.title + rule(p.label) + t.ground
	}
	var b strings.Builder
	groups := p.groups()
	for i, in := range groups {
		if !in.named {
			continue
		}
		b.WriteString(t.title + rule(strings.ReplaceAll(p.label, "%I", in.name)))
		switch {
		case i == len(groups)-1:
		case r.colors:
			b.WriteString(t.frame + "-" + t.title)
		default:
			b.WriteString(" ")
		}
	}
	b.WriteString(t.ground)
	return b.String()
}

// subtitle returns the names of the columns.
func (r *report) subtitle(p *plugin) string {
	t := r.theme
	var b strings.Builder
	names := func() {
		for i, name := range p.names {
			b.WriteString(t.subtitle + center(cut(name, p.width), p.width) + t.ground)
			if p.group == onlyTop {
				return
			}
			if i < len(p.names)-1 {
				b.WriteString(" ")
			}
		}
	}
	if !p.grouped() {
		names()
		return b.String()
	}
	groups := p.groups()
	for i := range groups {
		names()
		if i < len(groups)-1 {
			b.WriteString(t.frame + ":")
		}
	}
	return b.String()
}

// header returns the two lines above the figures.
func (r *report) header() string {
	t := r.theme
	var b strings.Builder
	line := func(part func(*plugin) string, between string) {
		for i, p := range r.visible {
			b.WriteString(part(p))
			switch {
			case i < len(r.visible)-1:
				b.WriteString(t.frame + between)
			case len(r.visible) < len(r.plugins):
				b.WriteString(t.title + ">")
			}
		}
		b.WriteString("\n")
	}
	line(r.title, " ")
	line(r.subtitle, "|")
	return b.String()
}

// csvTitle returns the label, over all columns of the plugin.
func (p *plugin) csvTitle() string {
	commas := func(n int) string { return strings.Repeat(",", max(0, n)) }
	switch p.group {
	case ungrouped:
		return `"` + p.label + `"` + commas(len(p.names)-1)
	case onlyTop:
		name := ""
		if len(p.names) > 0 {
			name = " " + p.names[0]
		}
		return `"` + p.label + name + `"` + commas(len(p.names)-2)
	}
	var b strings.Builder
	for i, in := range p.groups() {
		if !in.named {
			continue
		}
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(`"` + strings.ReplaceAll(p.label, "%I", in.name) + `"` + commas(len(p.names)-1))
	}
	return b.String()
}

// csvSubtitle returns the names of the columns.
func (p *plugin) csvSubtitle() string {
	var b strings.Builder
	write := func(text string) {
		if b.Len() > 1 {
			b.WriteString(",")
		}
		b.WriteString(`"` + text + `"`)
	}
	switch p.group {
	case ungrouped:
		for _, name := range p.names {
			write(name)
		}
	case onlyTop:
		for _, name := range p.names[min(1, len(p.names)):] { // the first one is only a sort key
			write(name)
		}
	default:
		for i, in := range p.groups() {
			if !in.named {
				continue
			}
			if i > 0 && b.Len() == 0 { // as in the C program, an instance without a name leaves a comma
				b.WriteString(",")
			}
			for _, name := range p.names {
				write(strings.ReplaceAll(p.label, "%I", in.name) + ":" + name)
			}
		}
	}
	return b.String()
}
