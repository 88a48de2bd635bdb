package web

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOfferedMetrics checks that the metrics of the dashboards in agents.ts exist: each has a heading in docs/metrics.
func TestOfferedMetrics(t *testing.T) {
	source, err := os.ReadFile("src/agents.ts")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../../docs/metrics/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages of metrics: %v", err)
	}
	known := make(map[string]bool)
	heading := regexp.MustCompile(`(?m)^## (\S+)$`)
	for _, path := range pages {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range heading.FindAllSubmatch(b, -1) {
			known[strings.ReplaceAll(string(m[1]), `\`, "")] = true
		}
	}
	names := regexp.MustCompile(`\["([a-z]+\.[\w.]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(names) < 50 {
		t.Errorf("%d metrics, want at least 50", len(names))
	}
	for _, m := range names {
		if !known[m[1]] {
			t.Errorf("%s is in no page of docs/metrics", m[1])
		}
	}
}
