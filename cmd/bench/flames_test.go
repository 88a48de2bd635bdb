//go:build linux

package main

import (
	"bytes"
	"strings"
	"testing"
)

// perfScript is the output of perf script -F ip,sym,dso: two samples of a program, one of it in the kernel, and one of another program.
const perfScript = `
	          40c3a1 archive.(*Reader).next (/tmp/b/pcp)
	          40c3b2 main.run (/tmp/b/pcp)
	          40c3c3 runtime.goexit.abi0 (/tmp/b/pcp)

	ffffffff812345 read_iter ([kernel.kallsyms])
	          40c3a9 archive.(*Reader).next (/tmp/b/pcp)
	          40c3b2 main.run (/tmp/b/pcp)
	          40c3c3 runtime.goexit.abi0 (/tmp/b/pcp)

	          40c3d4 github.com/go-pcp/pcp/wire.Append (/tmp/b/pcp)
	          40c3b7 main.run (/tmp/b/pcp)
	          40c3c3 runtime.goexit.abi0 (/tmp/b/pcp)

	    7f0123456789 [unknown] (/usr/bin/other)
`

func TestFlames(t *testing.T) {
	root, err := readStacks(strings.NewReader(perfScript), "/tmp/b/pcp")
	if err != nil {
		t.Fatal(err)
	}
	if root.samples != 3 {
		t.Errorf("%d samples are of the program, want 3", root.samples)
	}
	var out bytes.Buffer
	root.write(&out, 0, float64(root.samples))
	const want = `100.0 runtime.goexit.abi0 > main.run
   66.7 archive.(*Reader).next
     33.3 read_iter
   33.3 pcp/wire.Append
`
	if out.String() != want {
		t.Errorf("the graph is\n%s, want\n%s", out.String(), want)
	}
	if _, err := readStacks(strings.NewReader("nothing like a frame\n"), "/tmp/b/pcp"); err == nil {
		t.Error("a line that is not a frame is taken")
	}
}
