//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/bench/archive"
	"github.com/go-pcp/pcp/cmd/bench/harness"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(replayEnv); path != "" {
		fmt.Fprintln(os.Stderr, replayMain(path))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// greeter is a server that greets, and answers each two bytes with the number of the answer.
func greeter(t *testing.T) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			io.WriteString(conn, "hello\n")
			for i, b := 0, make([]byte, 2); ; i++ {
				if _, err := io.ReadFull(conn, b); err != nil {
					break
				}
				fmt.Fprintf(conn, "%03d\n", i)
			}
			conn.Close()
		}
	}()
	return ln.Addr().String()
}

// talk asks so many times and returns the bytes that it has read.
func talk(addr string, times int) (string, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	text := make([]byte, len("hello\n"))
	if _, err := io.ReadFull(conn, text); err != nil {
		return "", err
	}
	for range times {
		answer := make([]byte, 4)
		if _, err := io.WriteString(conn, "ab"); err != nil {
			return "", err
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return "", err
		}
		text = append(text, answer...)
	}
	return string(text), nil
}

// The floor of a server serves the recorded bytes of one, on any number of connections, and repeats the last answer.
func TestReplay(t *testing.T) {
	c := compare{dir: t.TempDir()}
	session := func(addr string) error {
		_, err := talk(addr, 2)
		return err
	}
	list, err := record(greeter(t), session)
	if err != nil {
		t.Fatal(err)
	}
	want := []exchange{{0, []byte("hello\n")}, {2, []byte("000\n")}, {2, []byte("001\n")}}
	if fmt.Sprint(list) != fmt.Sprint(want) {
		t.Errorf("recorded %v, want %v", list, want)
	}
	floor, err := c.replay(t.Context(), greeter(t), session)
	if err != nil {
		t.Fatal(err)
	}
	defer floor.stop()
	for range 2 {
		if got, err := talk(floor.tcp, 4); err != nil || got != "hello\n000\n001\n001\n001\n" {
			t.Errorf("the floor answers %q, %v", got, err)
		}
	}
	if _, err := c.replay(t.Context(), "127.0.0.1:1", session); err == nil || !strings.Contains(err.Error(), "record a session") {
		t.Errorf("a server that is not there: %v", err)
	}
}

// script writes a program, which sees the name that it is called by.
func script(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "pcp")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestCommandSides(t *testing.T) {
	const print = "echo ${0##*/} $*\n"
	f := func(before, now, wantNote string, want ...string) {
		t.Helper()
		c := compare{dir: t.TempDir(), pcp: script(t, now), check: true, time: time.Millisecond}
		if before != "" {
			c.before = script(t, before)
		}
		rows, err := harness.Run(t.Context(), io.Discard, 2, []harness.Workload{{
			Name: "fake", Open: c.command(command{tool: "pmnosuchtool", args: []string{"-a"}}, doNothing),
		}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range rows[0].Results {
			if r.Failed != "" || len(r.Samples) != 2 {
				t.Errorf("%s: %d samples, %s", r.Side, len(r.Samples), r.Failed)
			}
			got = append(got, r.Side)
		}
		if !slices.Equal(got, want) || rows[0].Note != wantNote {
			t.Errorf("sides %v, note %q; want %v, %q", got, rows[0].Note, want, wantNote)
		}
	}
	f("", print, "", "now", "floor")
	f(print, print, "", "before", "now", "floor")
	f("echo other\n", print, "the output of before differs", "before", "now", "floor")
}

// An older commit that lacks an option, or this one, which is then not measured at all.
func TestCommandFails(t *testing.T) {
	c := compare{dir: t.TempDir(), pcp: script(t, "echo yes\n"), before: script(t, "echo 'no such option' >&2; exit 1\n"), check: true}
	open := c.command(command{tool: "pmnosuchtool"}, nil)
	rows, err := harness.Run(t.Context(), io.Discard, 2, []harness.Workload{{Name: "fake", Open: open}})
	if err != nil {
		t.Fatal(err)
	}
	if res := rows[0].Results[0]; res.Side != harness.Before || !strings.HasSuffix(res.Failed, "no such option") {
		t.Errorf("the older commit: %+v", res)
	}
	if res := rows[0].Side(harness.Now); res == nil || len(res.Samples) != 2 {
		t.Errorf("this commit: %+v", res)
	}
	c = compare{dir: t.TempDir(), pcp: script(t, "exit 1\n"), check: true}
	if _, _, _, err := c.command(command{tool: "pmnosuchtool"}, nil)(t.Context()); err == nil {
		t.Error("a command that fails is measured")
	}
}

// The table has the rows that are documented, each once, and each archive that is not there is named.
func TestWorkloadTable(t *testing.T) {
	c := compare{set: archive.Set{Data: t.TempDir()}, generated: true}
	seen := map[string]bool{}
	var all []string
	for _, w := range c.workloads() {
		if seen[w.Name] || w.Unit == "" || w.Open == nil {
			t.Errorf("%s is there twice, or has no unit", w.Name)
		}
		seen[w.Name] = true
		all = append(all, w.Name)
		if strings.HasPrefix(w.Name, "archive.v3.dump") {
			if _, _, _, err := w.Open(t.Context()); err == nil || !strings.Contains(err.Error(), c.set.Data) {
				t.Errorf("%s without archives: %v", w.Name, err)
			}
		}
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "| workload | an operation | floor |\n")
	if !ok {
		t.Fatal("README.md has no table of workloads")
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)`").FindAllStringSubmatch(table, -1) {
		re := regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(m[1]), `\*`, ".*") + "$")
		before := len(all)
		all = slices.DeleteFunc(all, re.MatchString)
		if len(all) == before {
			t.Errorf("README.md: no workload is %s", m[1])
		}
	}
	if len(all) > 0 {
		t.Errorf("README.md lacks the workloads %v", all)
	}
}

func TestCommands(t *testing.T) {
	f := func(want string, args ...string) {
		t.Helper()
		if err := dispatch(context.Background(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", args, err, want)
		}
	}
	f("the path of one result", "table")
	f("none.json", "table", "none.json")
	f("the path of one page", "write", "a", "b")
	f("none.md", "write", "none.md")
	f("no workload is selected", "compare", "-only", "^none$")
	f("missing closing", "compare", "-only", "(")
	f(`"x" is not an option`, "compare", "x")

	page := filepath.Join(t.TempDir(), "page.md")
	result, err := filepath.Abs("harness/testdata/result.json")
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(filepath.Dir(page), result)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("# Page\n\n<!-- measured: "+rel+" -->\n<!-- end of measured -->\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := dispatch(context.Background(), []string{"write", page}); err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "| `trip.own`, a fetch |") {
		t.Errorf("the page is %s, %v", b, err)
	}
}
