package event_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/internal/testing/oracle"
	"github.com/go-pcp/pcp/pmda"
	"github.com/go-pcp/pcp/pmda/event"
)

// theirs runs a script with the C library.
func theirs(t *testing.T, drive, script string) string {
	t.Helper()
	cmd := exec.Command(drive)
	cmd.Env = oracle.Env()
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("driver: %v\n%s", err, out)
	}
	return string(out)
}

func driver(t *testing.T) string {
	t.Helper()
	oracle.Require(t)
	path := filepath.Join(t.TempDir(), "drive")
	if out, err := exec.Command("cc", "-o", path, "testdata/drive.c", "-lpcp_pmda", "-lpcp").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: no C compiler, or no headers of PCP: %v\n%s", err, out)
	}
	return path
}

// onWire turns the array that a C program has in memory into the bytes on the
// wire, and clears the padding.
func onWire(t *testing.T, line string) []byte {
	t.Helper()
	host, err := hex.DecodeString(line)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	word := func() uint32 {
		v := binary.NativeEndian.Uint32(host)
		host = host[4:]
		out = binary.BigEndian.AppendUint32(out, v)
		return v
	}
	long := func() {
		out = binary.BigEndian.AppendUint64(out, binary.NativeEndian.Uint64(host))
		host = host[8:]
	}
	highRes := binary.NativeEndian.Uint32(host)>>24 == uint32(pcp.TypeHighResEvent)
	host = host[4:]
	for n := word(); n > 0; n-- {
		if highRes {
			long()
			long()
		} else {
			word()
			word()
		}
		flags := pcp.EventFlags(word())
		params := word()
		if flags == pcp.EventMissed {
			continue
		}
		for ; params > 0; params-- {
			word()
			head := word()
			switch size := int(head&0xffffff) - 4; pcp.Type(head >> 24) {
			case pcp.TypeString, pcp.TypeAggregate:
				out = append(out, host[:size]...)
				out = append(out, make([]byte, -size&3)...)
				host = host[(size+3)&^3:]
			case pcp.Type64, pcp.TypeU64, pcp.TypeDouble:
				long()
			default:
				word()
			}
		}
	}
	if len(host) > 0 {
		t.Errorf("%d bytes are left of %s", len(host), line)
	}
	return out
}

func TestOracleArray(t *testing.T) {
	drive := driver(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	var script strings.Builder
	var want [][]byte
	results := ""
	for i := range 60 {
		a := &event.Array{}
		if i%2 == 1 {
			a = event.NewHighResArray()
		}
		line := func(err error, format string, args ...any) {
			fmt.Fprintf(&script, format+"\n", args...)
			results += fmt.Sprintf("%s %d\n", strings.Fields(format)[0], pcp.Code(err))
		}
		line(nil, "array %d", i%2)
		for range rnd.IntN(20) {
			at := pcp.Timestamp{Sec: rnd.Int64N(1 << 31), Nsec: rnd.Int32N(1e9)}
			if rnd.IntN(6) == 0 {
				n := rnd.Uint32()
				line(a.AddMissed(at, n), "missed %d %d %d", at.Sec, at.Nsec, n)
				continue
			}
			flags := pcp.EventFlags(rnd.Uint32N(32))
			line(a.Add(at, flags), "record %d %d %d", at.Sec, at.Nsec, flags)
			line(a.Add(at, flags|pcp.EventMissed), "record %d %d %d", at.Sec, at.Nsec, flags|pcp.EventMissed)
			for range rnd.IntN(8) {
				id := pcp.NewPMID(29, rnd.IntN(4), rnd.IntN(100))
				text := strconv.Itoa(rnd.IntN(1 << 30))
				n, _ := strconv.ParseInt(text, 10, 64)
				var v pcp.Value
				switch typ := pcp.Type(rnd.Int32N(10)); typ {
				case pcp.TypeFloat:
					v = pcp.FloatValue(float32(n))
				case pcp.TypeDouble:
					v = pcp.DoubleValue(float64(n))
				case pcp.TypeString:
					text = strings.Repeat("s", 1+rnd.IntN(40))
					v = pcp.StringValue(text)
				case pcp.TypeAggregate:
					v = pcp.BytesValue(typ, []byte(text))
				case pcp.TypeAggregateStatic, pcp.TypeEvent:
					v = pcp.BytesValue(typ, nil)
				default:
					v = pcp.RawValue(typ, uint64(n))
				}
				line(a.Param(id, v), "param %d %d 0 %s", uint32(id), v.Type(), text)
			}
		}
		script.WriteString("show\n")
		results += "show\n"
		want = append(want, a.Value().Bytes())
		if _, err := a.Value().EventRecords(); err != nil {
			t.Error(err)
		}
	}
	i := 0
	shown := ""
	for line := range strings.Lines(theirs(t, drive, script.String())) {
		if strings.Contains(line, " ") {
			shown += line
			continue
		}
		shown += "show\n"
		if theirs := onWire(t, strings.TrimSpace(line)); !bytes.Equal(theirs, want[i]) {
			t.Errorf("array %d\n%x, theirs is\n%x", i, want[i], theirs)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d arrays, want %d", i, len(want))
	}
	if diff := cmp.Diff(shown, results); diff != "" {
		t.Errorf("results (-theirs +ours):\n%s", diff)
	}
}

// TestOracleQueue runs queues side by side. The C library repeats events to a
// client that comes back too soon, and never counts missed ones. So the clients
// take turns here, and TestMissed looks at missed records.
func TestOracleQueue(t *testing.T) {
	drive := driver(t)
	for round := range 30 {
		rnd := rand.New(rand.NewPCG(7, uint64(round)))
		size := 100 + rnd.IntN(400)
		queues := event.NewQueues(nil)
		q, err := queues.New("q", size)
		if err != nil {
			t.Fatal(err)
		}
		q.Restrict()
		clients := []*pmda.Client{{ID: 1}, {ID: 2}, {ID: 3}}[:1+rnd.IntN(3)]
		var script, got strings.Builder
		line := func(format string, args ...any) { fmt.Fprintf(&script, format+"\n", args...) }
		line("queue %d", size)
		got.WriteString("queue 0\n")
		for _, c := range clients {
			line("client %d", c.ID)
			q.SetAccess(c, true)
		}
		if round%3 == 0 {
			line("filter 1")
			got.WriteString("filter 0\n")
			q.SetFilter(clients[0], func(data []byte) bool { return len(data)%2 == 0 })
		}
		fetch := func(c *pmda.Client) {
			line("fetch %d", c.ID)
			got.WriteString("fetch")
			v, err := q.Records(c, func(a *event.Array, data []byte, at pcp.Timestamp) error {
				fmt.Fprintf(&got, " %d@%d.%06d", len(data), at.Sec, at.Nsec/1000)
				return errors.Join(a.Add(at, pcp.EventPoint), a.Param(42, pcp.Uint32Value(uint32(len(data)))))
			})
			n := 0
			if err == nil {
				records, err := v.EventRecords()
				if err != nil {
					t.Fatal(err)
				}
				for _, r := range records {
					if r.Missed == 0 {
						n++
					}
				}
			} else if err != pmda.ErrNoValue {
				t.Fatal(err)
			}
			fmt.Fprintf(&got, " ->fetch %d\n", min(n, 1))
		}
		for range 40 {
			for range rnd.IntN(12) {
				n := rnd.IntN(size / 3)
				if rnd.IntN(20) == 0 {
					n = size + 1
				}
				at := pcp.Timestamp{Sec: rnd.Int64N(1 << 31), Nsec: rnd.Int32N(1e6) * 1000}
				line("append %d %d %d", at.Sec, at.Nsec, n)
				fmt.Fprintf(&got, "append %d\n", pcp.Code(q.Append(make([]byte, n), at)))
			}
			for _, c := range clients {
				fetch(c)
			}
			line("stats")
			s := q.Stats()
			fmt.Fprintf(&got, "%d %d %d %d\n", s.Clients, s.Count, s.Bytes, s.Memory)
		}
		for _, c := range clients {
			line("end %d", c.ID)
			queues.EndContext(c)
			line("stats")
			s := q.Stats()
			fmt.Fprintf(&got, "end 0\n%d %d %d %d\n", s.Clients, s.Count, s.Bytes, s.Memory)
		}
		want := theirs(t, drive, script.String())
		if diff := cmp.Diff(want, got.String()); diff != "" {
			t.Fatalf("round %d (-theirs +ours):\n%s", round, diff)
		}
	}
}
