package jbd2

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name, "info")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// info returns the file of a journal: of a kernel of version 2, of 3 and later, or of a
// journal that has not committed yet. Each number is different.
func info(kernel, seed int) string {
	var b strings.Builder
	n := func() int { seed += 1 + seed%5; return seed }
	switch kernel {
	case 0:
		return fmt.Sprintf("0 transactions (0 requested), each up to %d blocks\n", n())
	case 2:
		fmt.Fprintf(&b, "%d transaction, each up to %d blocks\naverage: \n", n(), n())
	default:
		fmt.Fprintf(&b, "%d transactions (%d requested), each up to %d blocks\naverage: \n", n(), n(), n())
	}
	fmt.Fprintf(&b, "  %dms waiting for transaction\n", n())
	if kernel > 2 {
		fmt.Fprintf(&b, "  %dms request delay\n", n())
	}
	fmt.Fprintf(&b, "  %dms running transaction\n  %dms transaction was being locked\n  %dms flushing data (in ordered mode)\n  %dms logging transaction\n", n(), n(), n(), n())
	fmt.Fprintf(&b, "  %dus average transaction commit time\n  %d handles per transaction\n  %d blocks per transaction\n  %d logged blocks per transaction\n", n(), n(), n(), n())
	return b.String()
}

// oddFiles have texts that no kernel writes.
var oddFiles = map[string]string{
	"empty": "", "nul": "\x00", "no-average": info(3, 1)[:60],
	"head-late":   "x\n\n1 transaction\n" + info(3, 2),
	"head-twice":  info(2, 3) + info(3, 4),
	"spaces":      " \t7 \ttransactions( 8requested),each up to\v9\naverage: 5\n+1ms waiting for transaction\n-2ms running transaction\n",
	"large":       "18446744073709551616 transactions (18446744073709551615 requested), each up to 4294967297 blocks\naverage:\n99999999999999999999999ms request delay\n4294967296ms waiting for transaction\n18446744073709551615us average transaction commit time\n",
	"no-newline":  "1 transactions (2 requested), each up to 3 blocks\naverage: \n  4ms waiting for transaction\n  5ms running transaction",
	"other-lines": "1 transactions (2 requested), each up to 3 blocks\naverage: \n  4ms waiting\nms running transaction\n  5ms running transaction \n  6 ms logging transaction\n7ms logging transaction\x00\n8\n\n9 handles per transaction\n",
	"long":        "1 transactions (2 requested), each up to 3 blocks\n" + strings.Repeat("x", 4095) + "average: \n" + strings.Repeat(" ", 4090) + "4ms request delay\n",
	"half":        "5 transactions (x requested), each up to 3 blocks\n6 transaction, each up to y blocks\naverage: \n  4ms waiting for transaction\n",
	"caf\xe9\n":   info(3, 9),
	".hidden":     info(3, 9),
}
