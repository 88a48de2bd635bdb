package sample

import "strings"

// textWidth is the maximum length of a line of help text, in bytes.
const textWidth = 79

// fold breaks the lines of a help text that are too long: texts are composed of
// pieces. It does not change paragraphs without such lines.
func fold(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		long := false
		for line := range strings.SplitSeq(p, "\n") {
			long = long || len(line) > textWidth
		}
		if !long {
			continue
		}
		var b strings.Builder
		width := 0
		for word := range strings.FieldsSeq(p) {
			switch {
			case width == 0:
			case width+1+len(word) > textWidth:
				b.WriteByte('\n')
				width = 0
			default:
				b.WriteByte(' ')
				width++
			}
			b.WriteString(word)
			width += len(word)
		}
		paragraphs[i] = b.String()
	}
	return strings.Join(paragraphs, "\n\n")
}
