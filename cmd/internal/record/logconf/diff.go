package logconf

import (
	"bytes"
	"fmt"
	"os"
	"time"
)

// around is the number of context lines before and after a difference.
const around = 3

// showDifferences prints how a new configuration differs from the old one, as diff -c does.
func (t *tool) showDifferences(old, text []byte) error {
	info, err := os.Stat(t.path)
	if err != nil {
		return err
	}
	const layout = "2006-01-02 15:04:05.000000000 -0700"
	loc := t.env.Local()
	var b bytes.Buffer
	fmt.Fprintf(&b, "*** %s\t%s\n", t.path, info.ModTime().In(loc).Format(layout))
	fmt.Fprintf(&b, "--- %s.new\t%s\n", t.path, time.Now().In(loc).Format(layout))
	writeDiff(&b, splitLines(old), splitLines(text))
	_, err = t.env.Stdout.Write(b.Bytes())
	return err
}

// splitLines returns the lines of b with their newlines.
func splitLines(b []byte) []string {
	var lines []string
	for len(b) > 0 {
		n := bytes.IndexByte(b, '\n') + 1
		if n == 0 {
			n = len(b)
		}
		lines = append(lines, string(b[:n]))
		b = b[n:]
	}
	return lines
}

// A change replaces lines a[from:to] by b[with:until].
type change struct{ from, to, with, until int }

// changes returns the changes that turn a into b, by the algorithm of Myers: as few lines as possible.
func changes(a, b []string) []change {
	// Most equal lines are at both ends.
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	changedA, changedB := make([]bool, len(a)+1), make([]bool, len(b)+1)
	mark(a[start:endA], b[start:endB], changedA[start:], changedB[start:])
	slide(a, changedA, changedB)
	slide(b, changedB, changedA)
	var list []change
	for i, k := 0, 0; i < len(a) || k < len(b); {
		c := change{from: i, with: k}
		for i < len(a) && changedA[i] {
			i++
		}
		for k < len(b) && changedB[k] {
			k++
		}
		if c.to, c.until = i, k; c.to > c.from || c.until > c.with {
			list = append(list, c)
			continue
		}
		i++
		k++
	}
	return list
}

// maxTrace bounds the work of mark; with more differences, all lines count as changed.
const maxTrace = 2000

// mark marks the lines that are only in a or only in b.
func mark(a, b []string, changedA, changedB []bool) {
	n, m := len(a), len(b)
	most := min(n+m, maxTrace)
	// far[k] is the furthest line of a reached on diagonal k with the differences so far.
	far := make([]int, 2*most+3)
	var trace [][]int
	for d := 0; d <= most; d++ {
		for k := -d; k <= d; k += 2 {
			at := most + 1 + k
			x := far[at-1] + 1 // a line of a is dropped
			if k == -d || k != d && far[at-1] < far[at+1] {
				x = far[at+1] // a line of b is added
			}
			y := x - k
			for x < n && y < m && x >= 0 && y >= 0 && a[x] == b[y] {
				x++
				y++
			}
			far[at] = x
			if x >= n && y >= m {
				walkBack(trace, n, m, changedA, changedB)
				return
			}
		}
		step := make([]int, 2*d+3) // diagonals -d-1 to d+1
		copy(step, far[most-d:most+d+3])
		trace = append(trace, step)
	}
	for i := range n {
		changedA[i] = true
	}
	for i := range m {
		changedB[i] = true
	}
}

// walkBack marks the lines on the path that trace found, from its end.
func walkBack(trace [][]int, x, y int, changedA, changedB []bool) {
	for d := len(trace); d > 0; d-- {
		step := trace[d-1] // diagonal k is at d+k
		k := x - y
		down := k == -d || k != d && step[d+k-1] < step[d+k+1]
		prev := k - 1
		if down {
			prev = k + 1
		}
		px := step[d+prev]
		py := px - prev
		if down {
			changedB[py] = true
		} else {
			changedA[px] = true
		}
		x, y = px, py
	}
}

// slide moves runs of changed lines down as far as equal lines allow, and joins those that meet. A run that
// can be next to a change of the other file stays there. The result is the same as that of diff.
func slide(lines []string, changed, other []bool) {
	own, others := gaps(changed[:len(lines)]), gaps(other[:len(other)-1])
	start := 0 // of the run in the gap u
	for u := 0; u < len(own); u++ {
		for own[u] > 0 {
			length := own[u]
			for start > 0 && lines[start-1] == lines[start+own[u]-1] {
				start -= 1 + own[u-1]
				own[u-1] += own[u]
				own[u] = 0
				u--
			}
			beside := -1
			if others[u] > 0 {
				beside = u
			}
			for start+own[u] < len(lines) && lines[start] == lines[start+own[u]] {
				start++
				own[u+1] += own[u]
				own[u] = 0
				if u++; others[u] > 0 {
					beside = u
				}
			}
			if own[u] > length {
				continue // it joined another run
			}
			for beside >= 0 && u > beside {
				start--
				own[u-1], own[u] = own[u], 0
				u--
			}
			break
		}
		start += own[u] + 1
	}
	i := 0
	for _, n := range own {
		for range n {
			changed[i] = true
			i++
		}
		changed[i] = false // the last is beyond the lines
		i++
	}
}

// gaps returns the number of changed lines before each unchanged line, and after the last.
func gaps(changed []bool) []int {
	list, n := []int(nil), 0
	for _, c := range changed {
		if c {
			n++
			continue
		}
		list = append(list, n)
		n = 0
	}
	return append(list, n)
}

// writeDiff appends the context format of diff, without its first two lines.
func writeDiff(out *bytes.Buffer, a, b []string) {
	list := changes(a, b)
	for len(list) > 0 {
		n := 1
		for n < len(list) && list[n].from-list[n-1].to <= 2*around {
			n++
		}
		writeHunk(out, a, b, list[:n])
		list = list[n:]
	}
}

func writeHunk(out *bytes.Buffer, a, b []string, list []change) {
	first, last := list[0], list[len(list)-1]
	before := min(first.from, around)
	after := min(len(a)-last.to, around)
	out.WriteString("***************\n")
	part(out, "*** %s ****\n", a, first.from-before, last.to+after, func(c change) (int, int, bool) {
		return c.from, c.to, c.until > c.with
	}, "- ", list)
	part(out, "--- %s ----\n", b, first.with-before, last.until+after, func(c change) (int, int, bool) {
		return c.with, c.until, c.to > c.from
	}, "+ ", list)
}

// part appends the lines of one file in a hunk, if any of them changed.
func part(out *bytes.Buffer, head string, lines []string, from, to int, of func(change) (from, to int, both bool), mark string, list []change) {
	span := fmt.Sprint(to)
	switch {
	case to-from > 1:
		span = fmt.Sprintf("%d,%d", from+1, to)
	case to == from:
		span = fmt.Sprint(from)
	}
	fmt.Fprintf(out, head, span)
	any := false
	for _, c := range list {
		f, t, _ := of(c)
		any = any || t > f
	}
	if !any {
		return
	}
	at := from
	for _, c := range list {
		f, t, both := of(c)
		for ; at < f; at++ {
			line(out, "  ", lines[at])
		}
		sign := mark
		if both {
			sign = "! "
		}
		for ; at < t; at++ {
			line(out, sign, lines[at])
		}
	}
	for ; at < to; at++ {
		line(out, "  ", lines[at])
	}
}

func line(out *bytes.Buffer, mark, text string) {
	out.WriteString(mark + text)
	if text == "" || text[len(text)-1] != '\n' {
		out.WriteString("\n\\ No newline at end of file\n")
	}
}
