package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"syscall"
	"testing"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/pmda"
)

// fakeDelays answers with numbers made of the process's, or with errors.
type fakeDelays struct {
	asked  []int32
	errs   map[int32]error
	closed int
}

func (f *fakeDelays) delays(pid int32) (delays, error) {
	f.asked = append(f.asked, pid)
	n := uint64(pid)
	return delays{n*10 + 1, n*10 + 2, 1<<63 + n}, f.errs[pid]
}

func (f *fakeDelays) close() { f.closed++ }

// withDelays returns an agent for the tree of processes with faked delays.
func withDelays(t *testing.T, f *fakeDelays, log *bytes.Buffer) *Agent {
	cfg := Config{Root: newTree(t).dir, Log: slog.New(slog.NewTextHandler(log, nil))}
	a := New(cfg)
	if a.machine.delays != nil {
		t.Fatal("processes of a copy of /proc have delays")
	}
	if got := get(t, a, root, "proc.delayacct.cpu_time"); len(got) > 0 {
		t.Errorf("without delays: %v", got)
	}
	a.machine.delays = &accountedDelays{source: f, log: a.cfg.Log, euid: syscall.Geteuid(), logged: make(map[string]struct{})}
	return a
}

func TestDelays(t *testing.T) {
	// The last process ends while it is asked for.
	f := &fakeDelays{errs: map[int32]error{1234567: fmt.Errorf("taskstats: %w", syscall.ESRCH)}}
	var log bytes.Buffer
	a := withDelays(t, f, &log)
	for name, want := range map[string]func(pid uint64) uint64{
		"proc.delayacct.cpu_time":    func(pid uint64) uint64 { return pid*10 + 1 },
		"proc.delayacct.blkio_time":  func(pid uint64) uint64 { return pid*10 + 2 },
		"proc.delayacct.swapin_time": func(pid uint64) uint64 { return 1<<63 + pid },
	} {
		wanted := make(map[int32]string)
		for _, pid := range []int32{1, 2, 77, 500, 600, 700} {
			wanted[pid] = fmt.Sprint(want(uint64(pid)))
		}
		if got := get(t, a, root, name); !maps.Equal(got, wanted) {
			t.Errorf("%s is %v, want %v", name, got, wanted)
		}
	}
	// The kernel is asked about the wanted instances only, once for all metrics.
	f.asked = nil
	p := new(pcp.Profile)
	if err := p.Add(pcp.NewInDom(Domain, serial), 77); err != nil {
		t.Fatal(err)
	}
	req := &pmda.FetchRequest{
		Client: root, Profile: p, Result: new(pcp.Result),
		PMIDs: []pcp.PMID{pcp.NewPMID(Domain, 79, 0), pcp.NewPMID(Domain, 79, 1), pcp.NewPMID(Domain, 79, 2)},
	}
	values(t, a, req)
	if fmt.Sprint(f.asked) != "[77]" {
		t.Errorf("asked about %v, want 77 once", f.asked)
	}
	// Nothing is asked for other metrics.
	f.asked = nil
	if get(t, a, root, "proc.schedstat.run_delay"); len(f.asked) > 0 {
		t.Errorf("asked about %v for another metric", f.asked)
	}
	if err := store(t, a, root, "hotproc.control.config", pcp.StringValue("virtualsize >= 4000")); err != nil {
		t.Fatal(err)
	}
	if got := get(t, a, root, "hotproc.delayacct.cpu_time"); len(got) != 1 || got[77] != "771" {
		t.Errorf("hot processes: %v", got)
	}
	if a.EndContext(root); f.closed != 1 || log.Len() > 0 {
		t.Errorf("closed %d times, log %q", f.closed, log.String())
	}
}

// TestDelaysRefused checks that an error of all processes costs one question for each reading, reaches the client and is logged once.
func TestDelaysRefused(t *testing.T) {
	for _, test := range []struct {
		err  error
		want pcp.Error
	}{
		{fmt.Errorf("the kernel requires the capability NET_ADMIN: %w", syscall.EPERM), pcp.ErrPermission},
		{errNoTaskstats, pcp.ErrAppVersion},
		{fmt.Errorf("receive: %w", syscall.EAGAIN), pcp.Code(syscall.EAGAIN)},
		{errShortReply, pcp.ErrGeneric},
	} {
		f := &fakeDelays{errs: map[int32]error{1: test.err}}
		var log bytes.Buffer
		a := withDelays(t, f, &log)
		for range 2 {
			for _, name := range []string{"cpu_time", "blkio_time", "swapin_time"} {
				f.asked = nil
				got := get(t, a, root, "proc.delayacct."+name)
				if len(got) != 1 || got[-1] != "error: "+test.want.Error() || len(f.asked) != 1 {
					t.Errorf("%v: %s is %v, asked about %v", test.err, name, got, f.asked)
				}
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), test.err.Error()) {
			t.Errorf("%v: log %q", test.err, log.String())
		}
		delete(f.errs, 1)
		if got := get(t, a, root, "proc.delayacct.cpu_time"); len(got) != 7 {
			t.Errorf("%v: when it is over, values are %v", test.err, got)
		}
	}
	f := &fakeDelays{}
	a := withDelays(t, f, new(bytes.Buffer))
	private := a.viewOn(viewKey{}, true)
	req := &pmda.FetchRequest{Client: root, PMIDs: []pcp.PMID{pcp.NewPMID(Domain, 79, 0)}, Result: new(pcp.Result)}
	if err := errors.Join(private.engine.Refresh(t.Context(), req.PMIDs), private.engine.Fetch(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if set := req.Result.Sets[0]; set.Err != pcp.ErrPermission || len(set.Values) > 0 || len(f.asked) > 0 {
		t.Errorf("another user gets %+v, asked about %v", set, f.asked)
	}
}

// message makes a message of netlink.
func message(kind uint16, seq uint32, body []byte) []byte {
	ne := binary.NativeEndian
	b := ne.AppendUint32(nil, uint32(nlHeader+len(body)))
	b = ne.AppendUint16(b, kind)
	b = ne.AppendUint16(b, 0)
	b = ne.AppendUint32(b, seq)
	b = append(ne.AppendUint32(b, 0), body...)
	return append(b, make([]byte, -len(body)&3)...)
}

// attr makes an attribute.
func attr(kind uint16, data []byte) []byte {
	ne := binary.NativeEndian
	b := ne.AppendUint16(nil, uint16(attrHeader+len(data)))
	b = append(ne.AppendUint16(b, kind), data...)
	return append(b, make([]byte, -len(data)&3)...)
}

// errorBody is the body of a message of type nlError.
func errorBody(code int32) []byte {
	return append(binary.NativeEndian.AppendUint32(nil, uint32(code)), make([]byte, nlHeader)...)
}

// answer makes the attributes of an answer about a process, with stats of size bytes that count up.
func answer(pid uint32, size int) []byte {
	stats := make([]byte, size)
	for i := range size / 8 {
		binary.NativeEndian.PutUint64(stats[8*i:], uint64(i))
	}
	id := attr(attrPID, binary.NativeEndian.AppendUint32(nil, pid))
	// Some machines have an empty attribute first, to align the numbers.
	return append(append([]byte{1, 2, 0, 0}, attr(6, nil)...), attr(attrOfPID|0x8000, append(id, attr(attrStats, stats)...))...)
}

func TestParseDelays(t *testing.T) {
	const family = 31
	good := message(family, 7, answer(42, 560))
	for name, test := range map[string]struct {
		b   []byte
		ok  bool
		err string
	}{
		"good":                 {good, true, ""},
		"after a late one":     {append(message(family, 6, answer(41, 560)), good...), true, ""},
		"after an acknowledge": {append(message(nlError, 7, errorBody(0)), good...), true, ""},
		"oldest kernel":        {message(family, 7, answer(42, 64)), true, ""},
		"late one alone":       {message(family, 6, answer(42, 560)), false, ""},
		"late error":           {message(nlError, 6, errorBody(-1)), false, ""},
		"empty":                {nil, false, ""},
		"refused":              {message(nlError, 7, errorBody(-1)), false, syscall.EPERM.Error()},
		"ended":                {message(nlError, 7, errorBody(-3)), false, syscall.ESRCH.Error()},
		"short error":          {message(nlError, 7, []byte{1, 2, 3}), false, "cut off"},
		"another process":      {message(family, 7, answer(43, 560)), false, "not about process 42"},
		"short stats":          {message(family, 7, answer(42, 56)), false, "56 bytes"},
		"another type":         {message(family+1, 7, answer(42, 560)), false, "type 32"},
		"no attributes":        {message(family, 7, []byte{1, 2, 0, 0}), false, "not about process 42"},
		"no header":            {message(family, 7, []byte{1, 2}), false, "cut off"},
		"long attribute":       {message(family, 7, []byte{1, 2, 0, 0, 255, 255, 4, 0}), false, "cut off"},
		"short attribute":      {message(family, 7, []byte{1, 2, 0, 0, 3, 0, 4, 0}), false, "cut off"},
		"half":                 {good[:len(good)/2], false, "cut off"},
		"header only":          {good[:15], false, "cut off"},
		"length 0":             {make([]byte, 32), false, "cut off"},
	} {
		d, ok, err := parseDelays(test.b, family, 7, 42)
		if ok != test.ok || test.ok && d != (delays{3, 5, 7}) || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v, %t, %v", name, d, ok, err)
		}
	}
	for name, test := range map[string]struct {
		b    []byte
		want uint16
		err  string
	}{
		"good":      {message(controller, 1, append([]byte{1, 2, 0, 0}, append(attr(attrFamilyName, []byte(taskstatsName)), attr(attrFamilyID, []byte{31, 31})...)...)), 31<<8 + 31, ""},
		"none":      {message(nlError, 1, errorBody(-2)), 0, syscall.ENOENT.Error()},
		"no number": {message(controller, 1, []byte{1, 2, 0, 0}), 0, "no number"},
		"reserved":  {message(controller, 1, append([]byte{1, 2, 0, 0}, attr(attrFamilyID, []byte{0, 0})...)), 0, "no number"},
		"late":      {message(controller, 2, []byte{1, 2, 0, 0}), 0, ""},
	} {
		id, err := parseFamily(test.b, 1)
		if id != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("family, %s: %d, %v", name, id, err)
		}
	}
	if req := appendRequest(nil, 16, 1, 3, 1, 2, []byte("abcde")); len(req) != 32 || binary.NativeEndian.Uint32(req) != 32 {
		t.Errorf("a request of %d bytes: %x", len(req), req)
	}
}

// FuzzDelays gives answers of the kernel any contents.
func FuzzDelays(f *testing.F) {
	f.Add(message(31, 7, answer(42, 560)))
	f.Add(append(message(31, 6, answer(42, 64)), message(nlError, 7, errorBody(-3))...))
	f.Add(message(31, 7, []byte{1, 2, 0, 0, 3, 0, 4, 0}))
	f.Add(message(31, 7, []byte{1, 2, 0, 0, 255, 255, 4, 0}))
	f.Add(message(controller, 7, append([]byte{1, 2, 0, 0}, attr(attrFamilyID, []byte{31, 0})...)))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, ok, err := parseDelays(b, 31, 7, 42)
		if ok && err != nil || !ok && d != (delays{}) || ok && len(b) < nlHeader+genlHeader+3*attrHeader+64 {
			t.Errorf("%v, %t, %v of %d bytes", d, ok, err, len(b))
		}
		if id, err := parseFamily(b, 7); err != nil && id != 0 || id > 0 && id <= controller {
			t.Errorf("family %d, %v", id, err)
		}
	})
}
