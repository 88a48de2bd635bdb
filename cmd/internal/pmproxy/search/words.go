package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWord is the maximum length of a word, in bytes. Longer runs of letters are
// not words.
const MaxWord = 128

// isWordRune reports whether a character belongs to a word. All others are
// delimiters.
func isWordRune(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_'
	case r == utf8.RuneError:
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// nextWord returns the start and end of the next word in s at or after i.
func nextWord(s string, i int) (start, end int, ok bool) {
	for i < len(s) {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if isWordRune(r) {
			break
		}
		i += n
	}
	start = i
	for i < len(s) {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if !isWordRune(r) {
			break
		}
		i += n
	}
	return start, i, i > start
}

// lower returns a word in lower case. It does not copy a word already in lower case.
func lower(w string) string {
	for i := 0; i < len(w); i++ {
		if c := w[i]; 'A' <= c && c <= 'Z' || c >= utf8.RuneSelf {
			return strings.ToLower(w)
		}
	}
	return w
}

// isStop reports whether a word in lower case is a common word, which the index
// leaves out. The list is RediSearch's.
func isStop(w string) bool {
	if len(w) > 5 {
		return false
	}
	switch w {
	case "a", "is", "the", "an", "and", "are", "as", "at", "be", "but", "by", "for",
		"if", "in", "into", "it", "no", "not", "of", "on", "or", "such", "that", "their",
		"then", "there", "these", "they", "this", "to", "was", "will", "with":
		return true
	}
	return false
}

// stem removes the plural ending of a word.
func stem(w string) string {
	n := len(w)
	switch {
	case n < 4 || w[n-1] != 's':
		return w
	case strings.HasSuffix(w, "ies") && n > 4:
		return w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "xes"):
		return w[:n-2]
	case w[n-2] == 's' || w[n-2] == 'u' || w[n-2] == 'i':
		return w
	}
	return w[:n-1]
}

// splitWords calls yield for each indexed word of s, with its offsets in s and
// its position among the words. A word with underscores is followed by its
// parts: the whole word has the position of the first part. It returns the
// position after the last word.
func splitWords(s string, pos int, yield func(word string, start, end, pos int)) int {
	for i := 0; ; {
		start, end, ok := nextWord(s, i)
		if !ok {
			return pos
		}
		i = end
		if end-start > MaxWord {
			continue
		}
		w := lower(s[start:end])
		if isStop(w) {
			continue
		}
		yield(w, start, end, pos)
		// Parts of a word are found only if lower case preserves the length.
		if strings.IndexByte(w, '_') < 0 || len(w) != end-start {
			pos++
			continue
		}
		first, parts := pos, 0
		for j := 0; j < len(w); {
			k := strings.IndexByte(w[j:], '_')
			if k < 0 {
				k = len(w) - j
			}
			if part := w[j : j+k]; part != "" && k < len(w) && !isStop(part) {
				yield(part, start+j, start+j+k, first+parts)
				parts++
			}
			j += k + 1
		}
		pos = first + max(parts, 1)
	}
}

// within reports whether a can be made b by changing, deleting or inserting at
// most one letter.
func within(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		// Two swapped letters count as one mistake.
		return i == len(a) || a[i+1:] == b[i+1:] ||
			i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
	}
	return a[i:] == b[i+1:]
}
