package cli

import (
	"fmt"
	"strings"
)

// Find returns the command with a name or classic name, or nil. The name of a
// subcommand has two words: "archive ls".
func Find(commands []*Command, name string) *Command {
	for _, c := range commands {
		if c.Name == name || c.Link != "" && c.Link == name {
			return c
		}
		if strings.HasPrefix(name, c.Name+" ") {
			return Find(c.Sub, name)
		}
	}
	return nil
}

// Unknown returns the message for a command that does not exist. If the name is
// known from elsewhere, the message names the command to use instead; otherwise
// it lists the names nearest to it.
func Unknown(commands []*Command, name string) string { return unknown(commands, name, "pcp help") }

func unknown(commands []*Command, name, list string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pcp: unknown command %q\n", name)
	if text := foreign(name); text != "" {
		b.WriteString(text)
	} else if near := nearest(commands, name); len(near) > 0 {
		fmt.Fprintf(&b, "Did you mean %s?\n", strings.Join(near, " or "))
	}
	fmt.Fprintf(&b, "\"%s\" lists the commands.\n", list)
	return b.String()
}

// nearest returns the names at the smallest edit distance from name, if that is
// small for its length, and those that start with name.
func nearest(commands []*Command, name string) []string {
	limit := max(1, len(name)/3)
	best := limit + 1
	var near []string
	try := func(candidate string) {
		if candidate == "" {
			return
		}
		d := distance(name, candidate)
		if len(name) >= 3 && strings.HasPrefix(candidate, name) {
			d = min(d, limit)
		}
		switch {
		case d < best:
			best, near = d, []string{candidate}
		case d == best && d <= limit:
			near = append(near, candidate)
		}
	}
	for _, c := range commands {
		try(c.Name)
		if c.Link != c.Name {
			try(c.Link)
		}
	}
	return near
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
