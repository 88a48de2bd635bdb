package cli

import (
	"math"
	"strings"
)

// The weights with which Fill compares ways to break a paragraph into lines. They are
// those of GNU fmt, so that lines break where PCP's scripts break them.
const (
	fillLine     = 70 * 70   // each line costs this
	fillSentence = 50 * 50   // less, at the end of a sentence
	fillAbbrev   = 600 * 600 // more, at a full stop within a sentence
	fillPunct    = 40 * 40   // less, after other punctuation, and before a parenthesis
	fillOrphan   = 150 * 150 // by the length of the last word of a text, alone at a start
	fillWidow    = 200 * 200 // by the length of the first word of a sentence, alone at an end
	fillShort    = 10        // each character that a line is off the goal, squared
)

// A fillWord is a word of a paragraph, with the best layout of the rest if a line
// begins with it.
type fillWord struct {
	text   string
	space  int  // blanks after it
	paren  bool // begins with one
	period bool // ends a sentence, perhaps
	punct  bool
	final  bool // ends a sentence
	cost   int  // of the lines from here on
	next   int  // the word that the line after begins with
	length int  // of the line
}

// Fill breaks a paragraph into lines of less than width characters, as fmt -w of GNU
// does: their lengths are similar, and near 93 % of the width. Blanks between two
// words of a line stay as they are. A text without a newline at its end is one
// sentence, as with fmt.
func Fill(text string, width int) []string {
	return FillGoal(text, width, width*(2*(100-7)+1)/200)
}

// FillGoal is Fill with lengths near goal (fmt -g).
func FillGoal(text string, width, goal int) []string {
	words := fillWords(text)
	n := len(words)
	if n == 0 {
		return nil
	}
	words = append(words, fillWord{})
	square := func(x int) int { return x * x }
	for start := n - 1; start >= 0; start-- {
		best := math.MaxInt
		length := len(words[start].text)
		for next := start + 1; ; next++ {
			cost := 0
			if next < n {
				cost = square((goal - length) * fillShort)
				if words[next].next < n {
					cost += square((length-words[next].length)*fillShort) / 2
				}
				cost += words[next].cost
			}
			if cost < best {
				best = cost
				words[start].next, words[start].length = next, length
			}
			if next == n {
				break
			}
			length += words[next-1].space + len(words[next].text)
			if length >= width {
				break
			}
		}
		words[start].cost = best + fillBase(words, start)
	}
	var lines []string
	for start := 0; start < n; start = words[start].next {
		var b strings.Builder
		for i := start; i < words[start].next; i++ {
			b.WriteString(words[i].text)
			if i+1 < words[start].next {
				b.WriteString(strings.Repeat(" ", words[i].space))
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

// fillBase is the cost of a line that begins with a word, whatever its length.
func fillBase(words []fillWord, i int) int {
	cost := fillLine
	if i > 0 {
		switch last := &words[i-1]; {
		case last.period && last.final:
			cost -= fillSentence
		case last.period:
			cost += fillAbbrev
		case last.punct:
			cost -= fillPunct
		case i > 1 && words[i-2].final:
			cost += fillWidow / (len(last.text) + 2)
		}
	}
	switch w := &words[i]; {
	case w.paren:
		cost -= fillPunct
	case w.final:
		cost += fillOrphan / (len(w.text) + 2)
	}
	return cost
}

// fillWords returns the words of a paragraph.
func fillWords(text string) []fillWord {
	const blanks = " \t\n\r"
	var words []fillWord
	text = strings.TrimLeft(text, blanks)
	for text != "" {
		end := strings.IndexAny(text, blanks)
		if end < 0 {
			end = len(text)
		}
		w := fillWord{text: text[:end]}
		w.paren = strings.ContainsRune("(['`\"", rune(w.text[0]))
		w.punct = strings.ContainsRune("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", rune(w.text[end-1]))
		stem := w.text[:1] + strings.TrimRight(w.text[1:], ")]'\"")
		w.period = strings.ContainsRune(".?!", rune(stem[len(stem)-1]))
		rest := strings.TrimLeft(text[end:], " \t")
		w.space = len(text) - end - len(rest)
		newline := strings.HasPrefix(rest, "\n") || strings.HasPrefix(rest, "\r")
		w.final = rest == "" || w.period && (newline || w.space > 1)
		if rest == "" || newline {
			w.space = 1
			if w.final {
				w.space = 2
			}
		}
		text = strings.TrimLeft(rest, blanks)
		words = append(words, w)
	}
	return words
}
