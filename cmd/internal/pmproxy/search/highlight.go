package search

import "strings"

// Marks around highlighted words.
const (
	highlightOn  = "<b>"
	highlightOff = "</b>"
)

// A highlighter highlights the words of a query in texts.
type highlighter struct {
	leaves []*node
}

// newHighlighter returns a highlighter for the words that a query wants in a
// document.
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

// document highlights the fields of a document.
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

// text returns s with the words of the query marked.
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

// matches reports whether a word matches the query.
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
