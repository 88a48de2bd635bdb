package cli

import (
	"bytes"
	"testing"
	"time"
)

func TestProgress(t *testing.T) {
	var out bytes.Buffer
	getenv := func(term string) func(string) string {
		return func(name string) string { return map[string]string{"TERM": term}[name] }
	}
	terminal := func() bool { return true }
	env := &Env{Stderr: &out, ErrTerminal: terminal, Getenv: getenv("xterm")}
	p := NewProgress(env, "pmx", 1000)
	due := func() { p.next = time.Time{} }
	p.next = time.Now().Add(time.Hour)
	p.Add(100)
	p.Clear()
	if out.Len() > 0 {
		t.Errorf("before its time it says %q", out.String())
	}
	due()
	p.Add(155)
	due()
	p.Set(3000, 2000)
	p.Set(4000, 2000) // again too early
	p.Clear()
	p.Clear()
	if got, want := out.String(), "\rpmx:  25%\rpmx: 100%\r\x1b[K"; got != want {
		t.Errorf("%q, want %q", got, want)
	}

	for _, env := range []*Env{
		{Stderr: &out},
		{Stderr: &out, ErrTerminal: func() bool { return false }, Getenv: getenv("xterm")},
		{Stderr: &out, ErrTerminal: terminal, Getenv: getenv("dumb")},
	} {
		p := NewProgress(env, "pmx", 1000)
		if p != nil {
			t.Error("without a terminal there is one")
		}
		p.Add(1) // does nothing
		p.Set(1, 2)
		p.Clear()
	}
}
