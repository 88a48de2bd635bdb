package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestWorkflows checks that the files for continuous integration are YAML and call targets of the Makefile.
func TestWorkflows(t *testing.T) {
	atRoot(t)
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 2 {
		t.Fatalf("there are the workflows %q, %v", files, err)
	}
	for _, file := range append(files, ".gitlab-ci.yml") {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := yaml.Unmarshal(b, &doc); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		calls := regexp.MustCompile(`(?m)^\s+- (?:run: )?make ([a-z-]+)`).FindAllSubmatch(b, -1)
		if len(calls) == 0 {
			t.Errorf("%s calls no target of the Makefile", file)
		}
		for _, c := range calls {
			if !regexp.MustCompile(`(?m)^` + string(c[1]) + `:`).Match(makefile) {
				t.Errorf("%s: make %s: there is no such target", file, c[1])
			}
		}
	}
}
