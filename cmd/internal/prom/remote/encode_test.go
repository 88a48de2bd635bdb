package remote

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

func example() []Series {
	f := &Family{Name: "disk_read", Counter: true, Help: "reads", Unit: "count"}
	return []Series{
		{Labels: []Label{{"__name__", "disk_read"}, {"instname", "sda"}}, Family: f, Samples: []Sample{{1000, Number(1.5)}, {2000, Stale}}},
		{Labels: []Label{{"__name__", "disk_read"}, {"instname", "sdb"}}, Family: f, Samples: []Sample{{-1, Number(0)}}},
	}
}

// TestGolden compares requests with the bytes of the format, field by field.
func TestGolden(t *testing.T) {
	f := func(v Version, lines ...string) {
		t.Helper()
		want := ""
		for _, l := range lines {
			l, _, _ = strings.Cut(l, "|")
			want += strings.ReplaceAll(l, " ", "")
		}
		if got := hex.EncodeToString(new(Encoder).Encode(v, example())); got != want {
			t.Errorf("version %d:\n%s\nwant\n%s", v, got, want)
		}
	}
	f(V2,
		"22 00                      | symbol 0",
		"22 08 5f5f6e616d655f5f     | 1 __name__",
		"22 09 6469736b5f72656164   | 2 disk_read",
		"22 08 696e73746e616d65     | 3 instname",
		"22 03 736461               | 4 sda",
		"22 05 7265616473           | 5 reads",
		"22 05 636f756e74           | 6 count",
		"22 03 736462               | 7 sdb",
		"2a 2a                      | series",
		" 0a 04 01020304            | labels",
		" 12 0c 09000000000000f83f 10e807 | 1.5 at 1000",
		" 12 0c 09020000000000f07f 10d00f | the stale marker at 2000",
		" 2a 06 0801 1805 2006      | counter, help, unit",
		"2a 24                      | series",
		" 0a 04 01020307",
		" 12 14 090000000000000000 10ffffffffffffffffff01 | 0 at -1",
		" 2a 06 0801 1805 2006",
	)
	f(V1,
		"0a 44 | series",
		" 0a 15 0a085f5f6e616d655f5f 12096469736b5f72656164",
		" 0a 0f 0a08696e73746e616d65 1203736461",
		" 12 0c 09000000000000f83f 10e807",
		" 12 0c 09020000000000f07f 10d00f",
		"0a 3e | series",
		" 0a 15 0a085f5f6e616d655f5f 12096469736b5f72656164",
		" 0a 0f 0a08696e73746e616d65 1203736462",
		" 12 14 090000000000000000 10ffffffffffffffffff01",
		"1a 1b 0801 12096469736b5f72656164 22057265616473 2a05636f756e74 | metadata",
	)
}

// TestMetadataOnce checks that requests of version 1.0 describe a metric once.
func TestMetadataOnce(t *testing.T) {
	var e Encoder
	list := example()
	first, second := len(e.Encode(V1, list)), len(e.Encode(V1, list))
	if first-second != 29 {
		t.Errorf("%d bytes, then %d", first, second)
	}
}

func TestRoundTrip(t *testing.T) {
	want := example()
	for i := range 300 {
		s := Series{Labels: []Label{{"__name__", fmt.Sprint("m", i)}, {"x", strings.Repeat("é", i)}}}
		for j := range i % 31 {
			s.Samples = append(s.Samples, Sample{int64(j) << (i % 50), Number(float64(i) / float64(j+1))})
		}
		if i%2 == 0 {
			s.Family = &Family{Name: s.Labels[0].Value, Help: "x" + strings.Repeat("y", i)}
		}
		want = append(want, s)
	}
	var e Encoder
	for _, v := range []Version{V1, V2, V2} {
		got, err := decode(v, e.Encode(v, want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("version %d: %v\nwant %v", v, got, want)
		}
	}
}

// decode is the inverse of Encoder.Encode.
func decode(v Version, b []byte) ([]Series, error) {
	var list []Series
	var symbols []string
	families := make(map[string]*Family)
	type described struct {
		name string
		f    Family
	}
	var about []described
	err := fields(b, func(field int, n uint64, p []byte) {
		switch {
		case v == V2 && field == 4:
			symbols = append(symbols, string(p))
		case v == V2 && field == 5, v == V1 && field == 1:
			s := Series{}
			fields(p, func(field int, _ uint64, p []byte) {
				switch {
				case field == 2:
					var one Sample
					fields(p, func(field int, n uint64, _ []byte) {
						if field == 1 {
							one.Bits = n
						} else {
							one.Time = int64(n)
						}
					})
					s.Samples = append(s.Samples, one)
				case v == V1:
					var l Label
					fields(p, func(field int, _ uint64, p []byte) {
						if field == 1 {
							l.Name = string(p)
						} else {
							l.Value = string(p)
						}
					})
					s.Labels = append(s.Labels, l)
				case field == 1:
					for len(p) > 0 {
						a, n := binary.Uvarint(p)
						b, k := binary.Uvarint(p[n:])
						p = p[n+k:]
						s.Labels = append(s.Labels, Label{symbols[a], symbols[b]})
					}
				case field == 5:
					f := &Family{}
					fields(p, func(field int, n uint64, _ []byte) {
						switch field {
						case 1:
							f.Counter = n == 1
						case 3:
							f.Help = symbols[n]
						case 4:
							f.Unit = symbols[n]
						}
					})
					s.Family = f
				}
			})
			list = append(list, s)
		case v == V1 && field == 3:
			var d described
			fields(p, func(field int, n uint64, p []byte) {
				switch field {
				case 1:
					d.f.Counter = n == 1
				case 2:
					d.name = string(p)
				case 4:
					d.f.Help = string(p)
				case 5:
					d.f.Unit = string(p)
				}
			})
			about = append(about, d)
		}
	})
	for _, d := range about {
		families[d.name] = &d.f
	}
	for i := range list {
		s := &list[i]
		if v == V1 {
			s.Family = families[s.Labels[0].Value]
		}
		if s.Family != nil {
			s.Family.Name = s.Labels[0].Value
		}
	}
	return list, err
}

// fields calls f for each field of a message.
func fields(b []byte, f func(field int, n uint64, p []byte)) error {
	for len(b) > 0 {
		head, n := binary.Uvarint(b)
		if n <= 0 {
			return fmt.Errorf("a tag is cut: %x", b)
		}
		b = b[n:]
		switch head & 7 {
		case varint:
			v, n := binary.Uvarint(b)
			if n <= 0 {
				return fmt.Errorf("a number is cut: %x", b)
			}
			f(int(head>>3), v, nil)
			b = b[n:]
		case fixed8:
			f(int(head>>3), binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
		case length:
			l, n := binary.Uvarint(b)
			if n <= 0 || l > uint64(len(b)-n) {
				return fmt.Errorf("a field is cut: %x", b)
			}
			f(int(head>>3), 0, b[n:n+int(l)])
			b = b[n+int(l):]
		default:
			return fmt.Errorf("wire type %d", head&7)
		}
	}
	return nil
}

func BenchmarkEncode(b *testing.B) {
	var list []Series
	for i := range 1000 {
		s := Series{Labels: []Label{{"__name__", "kernel_percpu_cpu_user"}, {"hostname", "www.example.com"}, {"instid", fmt.Sprint(i)}, {"instname", fmt.Sprint("cpu", i)}}}
		for j := range 30 {
			s.Samples = append(s.Samples, Sample{1764163200000 + int64(j)*10000, Number(float64(i * j))})
		}
		list = append(list, s)
	}
	var e Encoder
	b.ReportAllocs()
	for b.Loop() {
		e.Encode(V2, list)
	}
	b.ReportMetric(float64(b.N)*30000/b.Elapsed().Seconds(), "samples/s")
}
