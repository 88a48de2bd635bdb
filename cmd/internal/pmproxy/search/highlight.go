package search

import "strings"

// What highlighted words lie between.
const (
	highlightOn  = "<b>"
	highlightOff = "</b>"
)

// A highlighter finds the words of a query in texts.
type highlighter struct {
	leaves []*node
}

// newHighlighter returns a highlighter for the words of a query that a document
// should have.
func newHighlighter(q *node) *highlighter {
	h := new(highlighter)
	h.collect(q)
	return h
}

func (h *highlighter) collect(n *node) {
	if n.op <= opFuzzy {
		h.leaves = append(h.leaves, n)
	}
	if n.op != opNot {
		for _, k := range n.kids {
			h.collect(k)
		}
	}
}

// document highlights fields of a document.
func (h *highlighter) document(d *Document, fields Field) {
	if fields&FieldName != 0 {
		d.Name = h.text(d.Name)
	}
	if fields&FieldOneLine != 0 {
		d.OneLine = h.text(d.OneLine)
	}
	if fields&FieldHelp != 0 {
		d.Help = h.text(d.Help)
	}
}

// text returns s with the words of the query between marks.
func (h *highlighter) text(s string) string {
	var out strings.Builder
	done := 0
	splitWords(s, 0, func(w string, start, end, _ int) {
		if start < done || !h.matches(w) {
			return
		}
		out.WriteString(s[done:start])
		out.WriteString(highlightOn)
		out.WriteString(s[start:end])
		out.WriteString(highlightOff)
		done = end
	})
	if done == 0 {
		return s
	}
	out.WriteString(s[done:])
	return out.String()
}

// matches reports whether the query looks for a word.
func (h *highlighter) matches(w string) bool {
	for _, n := range h.leaves {
		switch n.op {
		case opPrefix:
			if strings.HasPrefix(w, n.word) {
				return true
			}
		case opFuzzy:
			if within(w, n.word) {
				return true
			}
		default:
			if w == n.word || stem(w) == stem(n.word) {
				return true
			}
		}
	}
	return false
}
