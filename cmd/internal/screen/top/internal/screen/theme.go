package screen

import (
	"image/color"
	"strings"

	"charm.land/lipgloss/v2"
)

// A Theme defines the look of styles.
type Theme struct {
	Name  string
	open  [numStyles]string // escape sequences before and after
	close [numStyles]string
	fills [numStyles]bool // spaces show
}

// palettes are the colours of the themes. "terminal" uses the colours that the user has set for the
// terminal.
var palettes = []struct {
	name                                                                         string
	dim, title, border, accent, good, warn, bad, user, system, nice, wait, cache string
	head, headText, selected, selectedText, key, keyText                         string
	in, out                                                                      string
	levels                                                                       [4]string
	lines                                                                        [lines]string
}{
	{
		name: "terminal", dim: "8", title: "14", border: "8", accent: "12", good: "10", warn: "11", bad: "9",
		user: "10", system: "9", nice: "12", wait: "13", cache: "11",
		head: "2", headText: "0", selected: "6", selectedText: "0", key: "0", keyText: "6",
		in: "10", out: "12",
		levels: [4]string{"2", "10", "11", "9"},
		lines:  [lines]string{"10", "12", "11", "13", "14", "9", "2", "4"},
	},
	{
		name: "night", dim: "#6c7086", title: "#89dceb", border: "#45475a", accent: "#89b4fa", good: "#a6e3a1", warn: "#f9e2af", bad: "#f38ba8",
		user: "#a6e3a1", system: "#f38ba8", nice: "#89b4fa", wait: "#cba6f7", cache: "#f9e2af",
		head: "#313244", headText: "#cdd6f4", selected: "#45598a", selectedText: "#ffffff", key: "#89b4fa", keyText: "#313244",
		in: "#94e2d5", out: "#fab387",
		levels: [4]string{"#74c7ec", "#a6e3a1", "#f9e2af", "#f38ba8"},
		lines:  [lines]string{"#a6e3a1", "#89b4fa", "#f9e2af", "#cba6f7", "#94e2d5", "#f38ba8", "#fab387", "#74c7ec"},
	},
	{
		name: "day", dim: "#6c6f85", title: "#005f87", border: "#9ca0b0", accent: "#1e66f5", good: "#2e7d1f", warn: "#a85f00", bad: "#c0102f",
		user: "#2e7d1f", system: "#c0102f", nice: "#1e66f5", wait: "#7a2fd0", cache: "#a85f00",
		head: "#ccd0da", headText: "#1f2233", selected: "#1e66f5", selectedText: "#ffffff", key: "#1e66f5", keyText: "#ccd0da",
		in: "#0f7a7f", out: "#c44a00",
		levels: [4]string{"#1e66f5", "#2e7d1f", "#a85f00", "#c0102f"},
		lines:  [lines]string{"#2e7d1f", "#1e66f5", "#a85f00", "#7a2fd0", "#0f7a7f", "#c0102f", "#c44a00", "#04738f"},
	},
	{name: "mono"},
}

// Themes returns the names of the themes; the first is the default.
func Themes() []string {
	list := make([]string, len(palettes))
	for i := range palettes {
		list[i] = palettes[i].name
	}
	return list
}

// NewTheme returns the theme of a name, and reports whether there is one.
func NewTheme(name string) (*Theme, bool) {
	for i := range palettes {
		p := &palettes[i]
		if p.name != name {
			continue
		}
		t := &Theme{Name: name}
		fg := func(s Style, c string) { t.set(s, lipgloss.NewStyle().Foreground(colorOf(c)), false) }
		bold := func(s Style, c string) { t.set(s, lipgloss.NewStyle().Bold(true).Foreground(colorOf(c)), false) }
		block := func(s Style, text, back string) {
			st := lipgloss.NewStyle().Foreground(colorOf(text)).Background(colorOf(back))
			if back == "" {
				st = lipgloss.NewStyle().Reverse(true)
			}
			t.set(s, st, true)
		}
		fg(Dim, p.dim)
		bold(Bold, "")
		bold(Title, p.title)
		fg(Border, p.border)
		fg(Accent, p.accent)
		fg(Good, p.good)
		fg(Warn, p.warn)
		bold(Bad, p.bad)
		fg(User, p.user)
		fg(System, p.system)
		fg(Nice, p.nice)
		fg(Wait, p.wait)
		fg(Cache, p.cache)
		block(Head, p.headText, p.head)
		block(HeadSort, p.selectedText, p.selected)
		block(Selected, p.selectedText, p.selected)
		bold(Key, "")
		block(KeyText, p.key, p.keyText)
		fg(Tab, p.dim)
		block(TabOn, p.selectedText, p.selected)
		bold(Live, p.good)
		bold(Replay, p.accent)
		bold(Paused, p.warn)
		t.set(Input, lipgloss.NewStyle().Reverse(true), true)
		fg(In, p.in)
		fg(Out, p.out)
		for i, c := range p.levels {
			fg(Level0+Style(i), c)
		}
		for i, c := range p.lines {
			fg(Line0+Style(i), c)
		}
		if name == "mono" {
			t.set(HeadSort, lipgloss.NewStyle().Reverse(true).Bold(true).Underline(true), true)
			t.set(TabOn, lipgloss.NewStyle().Reverse(true).Bold(true), true)
		}
		return t, true
	}
	return nil, false
}

func colorOf(c string) color.Color {
	if c == "" {
		return lipgloss.NoColor{}
	}
	return lipgloss.Color(c)
}

// set takes the escape sequences of a style from a rendered character.
func (t *Theme) set(s Style, st lipgloss.Style, fills bool) {
	t.open[s], t.close[s], _ = strings.Cut(st.Render("x"), "x")
	t.fills[s] = fills
}
