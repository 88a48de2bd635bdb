package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed c/mmvbench.c
var source string

// libpcp is the compiled program that times libpcp_mmv.
type libpcp string

// newLibpcp compiles it.
func newLibpcp(dir string) (*libpcp, error) {
	path := libpcp(filepath.Join(dir, "mmvbench"))
	cmd := exec.Command("cc", "-O2", "-x", "c", "-o", string(path), "-", "-lpcp_mmv", "-lpcp", "-lpthread")
	cmd.Stdin = strings.NewReader(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, out)
	}
	return &path, nil
}

type line struct {
	group, name string
	threads     int
	ns, lost    float64
}

// round measures everything once.
func (p libpcp) round(n int) ([]line, error) {
	group := map[string]string{
		"mmv_inc_value": counter, "mmv_inc": counter, "mmv_set_value": gauge,
		"mmv_inc of an instance": instance, "mmv_stats_inc": lookup,
	}
	var lines []line
	for _, args := range [][]string{{"update", strconv.Itoa(n)}, {"create"}} {
		out, err := exec.Command(string(p), args...).Output()
		if err != nil {
			return nil, fmt.Errorf("%s %v: %w", p, args, err)
		}
		for text := range bytes.Lines(out) {
			f := strings.Split(strings.TrimSpace(string(text)), "\t")
			if len(f) != 4 {
				return nil, fmt.Errorf("%s says %q", p, text)
			}
			l := line{name: "libpcp_mmv, " + f[0], group: group[f[0]]}
			if l.group == "" {
				l.group = create
			}
			for i, x := range []*float64{&l.ns, &l.lost} {
				if *x, err = strconv.ParseFloat(f[2+i], 64); err != nil {
					return nil, err
				}
			}
			l.threads, err = strconv.Atoi(f[1])
			if err != nil {
				return nil, err
			}
			lines = append(lines, l)
		}
	}
	return lines, nil
}
