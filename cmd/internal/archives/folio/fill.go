package folio

import "strings"

// fill breaks words into lines as fmt(1) does by default: of at most 75 columns, as
// close to 70 and as even as possible.
func fill(words []string) []string {
	const (
		most     = 75
		goal     = most * (2*(100-7) + 1) / 200
		lineCost = 70 * 70
		never    = int64(1) << 62
	)
	square := func(n int64) int64 { return n * n }
	n := len(words)
	best := make([]int64, n+1) // of the words from one on
	next := make([]int, n+1)   // end of the line that starts there
	size := make([]int, n+1)   // and its length
	for i := n - 1; i >= 0; i-- {
		best[i] = never
		length := len(words[i])
		for k := i + 1; ; k++ {
			cost := best[k]
			if k < n {
				cost += square(int64(goal-length) * 10)
				if next[k] != n {
					cost += square(int64(length-size[k])*10) / 2
				}
			}
			if cost < best[i] {
				best[i], next[i], size[i] = cost, k, length
			}
			if k == n {
				break
			}
			if length += 1 + len(words[k]); length >= most {
				break
			}
		}
		best[i] += lineCost
		if i == n-1 {
			best[i] += 150 * 150 / int64(max(len(words[i]), 1)) // a last line of one short word
		}
	}
	var lines []string
	for i := 0; i < n; i = next[i] {
		lines = append(lines, strings.Join(words[i:next[i]], " "))
	}
	return lines
}
