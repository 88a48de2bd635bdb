package engine

import (
	"strings"
	"testing"

	"github.com/go-pcp/pcp/cmd/internal/prom/names"
)

// answers are answers of servers, good and bad.
func answers() []string {
	return []string{
		`{"status":"success","data":[]}`,
		`{"status":"success","data":["a","b"]}`,
		`{"status":"success","isPartial":true,"data":["a"]}`,
		`{"status":"success","data":[{"__name__":"a","b":"c"}]}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":[1700000000.123,"1.5"]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1700000000.123,"1.5"],[1700000001,"NaN"],[2e9,"+Inf"]]}]}}`,
		`{"status":"success","data":{"result":[{"values":[[1,"1"]],"metric":{}}],"resultType":"matrix"}}`,
		`{"status":"error","errorType":"bad_data","error":"no"}`,
		`{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1e300,"1"]]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,1]]}]}}`,
		`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"1"`,
		`{"status":"success","data":null}`,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"b"},"value":["1",1]}]}}`,
		`[]`, ``, `null`, `{`, `<html>`,
		`{"metric":{"__name__":"a"},"values":[1,null,3.5,"Infinity"],"timestamps":[1,2,3,4]}` + "\n" + `{"metric":{"__name__":"a"},"values":[1],"timestamps":[9]}`,
		`{"metric":{"__name__":"a"},"values":[1,2],"timestamps":[1]}`,
		`{"metric":{"__name__":"a"},"values":[1],"timestamps":[99999999999999999]}`,
		`{"metric":{"__name__":"a"},"values":["x"],"timestamps":[1]}`,
		`{"metric":null,"values":[1],"timestamps":[1]}`,
	}
}

// check fails if tracks are not in order.
func check(t *testing.T, list []track) {
	for _, one := range list {
		if len(one.times) != len(one.values) {
			t.Fatalf("%d times, %d values", len(one.times), len(one.values))
		}
		for i := 1; i < len(one.times); i++ {
			if one.times[i] <= one.times[i-1] {
				t.Fatalf("times %v", one.times)
			}
		}
	}
}

// FuzzAnswer decodes any bytes as each kind of answer.
func FuzzAnswer(f *testing.F) {
	for _, s := range answers() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		decodeStrings(strings.NewReader(text))
		decodePoints(strings.NewReader(text))
		decodeLabels(strings.NewReader(text))
		if list, err := decodeSeries(strings.NewReader(text)); err == nil {
			for _, of := range list {
				parseMetric(of)
			}
		}
		if list, err := decodeMatrix(strings.NewReader(text)); err == nil {
			check(t, list)
		}
		reasonOf("500 x", []byte(text))
	})
}

// FuzzExport decodes any bytes as an answer of /api/v1/export.
func FuzzExport(f *testing.F) {
	for _, s := range answers() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if list, err := decodeExport(strings.NewReader(text)); err == nil {
			check(t, list)
		}
	})
}

// FuzzDescription parses the labels of a description. An accepted one has a selector and instances.
func FuzzDescription(f *testing.F) {
	f.Add("a.b", "1.2.3", "1.2", "U64", "counter", "count", `{"hostname":"h"}`, "01", `{}`)
	f.Add("a", "512.1.1", "", "DOUBLE", "instant", "", "", "", "")
	f.Add("a", "1.1.1", "x", "STRING", "x", "bytes", `{"a":1,"b":"c"}`, "0180", "null")
	f.Add("a", "1.1.1", "1.1", "32", "discrete", "Kbyte / sec", `{"a":1,"b":"c"}`, "01", "null")
	f.Fuzz(func(t *testing.T, name, pmid, indom, kind, sem, units, labels, flags, within string) {
		id := strings.Repeat("0a", 20)
		m := parseMetric(map[string]string{
			names.SeriesID: id, names.SeriesSource: id, names.SeriesMetric: name, names.SeriesPMID: pmid, names.SeriesInDom: indom, names.SeriesType: kind,
			names.SeriesSem: sem, names.SeriesUnits: units, names.SeriesLabels: labels, names.SeriesFlags: flags, names.SeriesWithin: within,
		})
		if m == nil {
			return
		}
		if m.Desc.PMID.String() != pmid && !strings.HasPrefix(pmid, "0") && !strings.Contains(pmid, ".0") {
			t.Errorf("%q became %v", pmid, m.Desc.PMID)
		}
		if m.Desc.Type.String() != kind || m.Desc.Sem.String() != sem || m.Desc.Units.String() != units {
			t.Errorf("%+v", m.Desc)
		}
		m.selector()
		m.instance(map[string]string{names.InstanceName: name, names.InstanceNumber: pmid, "x": labels})
	})
}
