package share

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp/cmd/internal/objects"
)

// dated is a memory whose files have times.
type dated struct {
	*memory
	times map[string]time.Time
}

func (d dated) List(ctx context.Context, dir string) ([]objects.Entry, error) {
	list, err := d.memory.List(ctx, dir)
	for i := range list {
		list[i].Time = d.times[list[i].Name]
	}
	return list, err
}

var began = time.Date(2026, 11, 27, 10, 0, 0, 0, time.UTC)

func sample(id string, hosts ...string) *Status {
	s := &Status{ID: id, Time: began.Add(time.Hour), Start: began, Version: "1.0", Members: []string{"a", "b"}, Listed: 3, Hosts: []Host{}}
	for _, name := range hosts {
		s.Hosts = append(s.Hosts, Host{
			Name: name, Spec: name, State: "recording", Archive: "/data/" + name + "/20261127.10.00-a", Last: began, Samples: 7, Lag: 0.25, Bytes: 1000,
			Err: "connection refused\nagain", ErrTime: began,
		})
	}
	return s
}

func TestStatus(t *testing.T) {
	s := dated{newMemory(), map[string]time.Time{"a.json": began, "b.json": began.Add(-time.Hour), "c.json": began.Add(-20 * time.Second)}}
	a, b, c := sample("a", "alpha", "beta"), sample("b", "beta", "gamma"), sample("c")
	for _, x := range []*Status{a, b, c} {
		if err := WriteStatus(t.Context(), s, x); err != nil {
			t.Fatal(err)
		}
	}
	b.Gone, b.Hosts = true, b.Hosts[1:] // beta has another owner
	got, err := ReadStatus(t.Context(), s)
	if want := []Status{*a, *b, *c}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	for name, data := range map[string]string{"d.json": "{", "e.json": `{"recorder":"f"}`, "ignored": "{", "-.json": "{"} {
		if err := s.Put(t.Context(), statuses+"/"+name, []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	got, err = ReadStatus(t.Context(), s)
	e, ok := errors.AsType[*StatusError](err)
	if len(got) != 3 || !ok || e.ID != "d" || !strings.Contains(err.Error(), `recorder e: it is that of recorder "f"`) {
		t.Errorf("%d statuses, %v", len(got), err)
	}
	if err := RemoveStatus(t.Context(), s, "b"); err != nil || s.files[statuses+"/b.json"] != nil {
		t.Errorf("%v", err)
	}
	s.fail = errors.New("503")
	if _, err := ReadStatus(t.Context(), s); err == nil {
		t.Error("no error")
	}
}

// TestStatusSize writes a status with too many hosts, and too long errors.
func TestStatusSize(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprint("host", i))
	}
	s := sample("a", names...)
	for i := range s.Hosts {
		s.Hosts[i].Err = "\x1b[2J\xff" + strings.Repeat("é", 1000)
	}
	b, err := s.encode(100_000)
	if err != nil || len(b) > 100_000 {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	got, err := decodeStatus(b, "a")
	if err != nil || len(got.Hosts) < 100 || len(got.Hosts)+got.More != 1000 || len(got.Hosts[0].Err) > maxErr || len(s.Hosts[0].Err) != 2005 {
		t.Errorf("%d hosts, %d more, %v", len(got.Hosts), got.More, err)
	}
	if _, err := s.encode(10); err == nil {
		t.Error("10 bytes are enough")
	}
	if b, err = s.encode(maxStatus); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes for each host with a long error", len(b)/1000)
}

func TestDecodeStatus(t *testing.T) {
	for data, want := range map[string]string{
		``:                               "unexpected end",
		`[]`:                             "cannot unmarshal",
		`{"recorder":"b"}`:               "that of recorder",
		`{"format":2,"recorder":{}}`:     "the file has version 2, and this release reads versions up to 1",
		`{"recorder":"a","listed":-1}`:   "negative",
		`{"recorder":"a","moved":-1}`:    "negative",
		`{"recorder":"a","hosts":[{}]}`:  "no name",
		`{"recorder":"a","hosts":7}`:     "cannot unmarshal",
		`{"recorder":"a","time":"soon"}`: "pars",
		`{"recorder":"a","hosts":[{"name":"h","bytes":-1}]}`:                                  "negative",
		`{"recorder":"a","hosts":[{"name":"h","error":"\u001b[2J"}]}`:                         "control",
		`{"recorder":"a","hosts":[{"name":"` + strings.Repeat("x", maxText+1) + `"}]}`:        "too long",
		`{"recorder":"a","members":[` + strings.Repeat(`"",`, maxHosts) + `""]}`:              "more than",
		`{"recorder":"a"}` + strings.Repeat(" ", maxStatus):                                   "more than",
		`{"recorder":"a","hosts":[` + strings.Repeat(`{"name":"h"},`, maxHosts) + `{}` + `]}`: "more than",
	} {
		if s, err := decodeStatus([]byte(data), "a"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v, %v, want %q", data, s, err, want)
		}
	}
}

// TestFormat reads a status with a version, and one without, as the first releases wrote it.
func TestFormat(t *testing.T) {
	b, err := sample("a").encode(maxStatus)
	if err != nil || !bytes.Contains(b, []byte(`"format":1`)) {
		t.Fatalf("%s, %v", b, err)
	}
	for _, data := range [][]byte{b, bytes.Replace(b, []byte(`"format":1,`), nil, 1)} {
		if s, err := decodeStatus(data, "a"); err != nil || s.ID != "a" {
			t.Errorf("%s: %+v, %v", data, s, err)
		}
	}
}

func FuzzDecodeStatus(f *testing.F) {
	b, err := sample("a", "alpha", "beta").encode(maxStatus)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"recorder":"a","hosts":[{"name":"h","lag":1e999}]}`))
	f.Add([]byte(`{"recorder":"a","more":1,"hosts":[{"name":"h"},{"name":"h"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeStatus(data, "a")
		if err != nil {
			return
		}
		b, err := s.encode(maxStatus)
		if err != nil {
			return // a year beyond 9999
		}
		again, err := decodeStatus(b, "a")
		if err != nil || len(again.Hosts) != len(s.Hosts) || again.More != s.More {
			t.Errorf("%s: %v", b, err)
		}
	})
}
