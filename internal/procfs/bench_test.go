package procfs

import (
	"os"
	"strings"
	"testing"
)

// BenchmarkKeyed parses a file like /proc/vmstat, for a tenth of its keys and for
// all.
func BenchmarkKeyed(b *testing.B) {
	text, err := os.ReadFile("../agent/linux/testdata/vm/proc/vmstat")
	if err != nil {
		b.Fatal(err)
	}
	for name, every := range map[string]int{"tenth": 10, "all": 1} {
		cols := make(map[string]int)
		for i, line := range strings.Split(string(text), "\n") {
			if key, _, ok := strings.Cut(line, " "); ok && i%every == 0 {
				cols[key] = i
			}
		}
		b.Run(name, func(b *testing.B) {
			k := NewKeyed(cols)
			var sum uint64
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				k.Parse(text, nil, func(_ int, v uint64) { sum += v })
			}
		})
	}
}
