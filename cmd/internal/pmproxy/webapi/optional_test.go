package webapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/archive/importer"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/pmapi"
)

// TestOptionalLabels shows optional labels if it is configured, with the same identifiers of series.
func TestOptionalLabels(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	base := filepath.Join(t.TempDir(), "a")
	start := pcp.Timestamp{Sec: 1700000000}
	im, err := importer.Start(base, importer.Options{Host: "cellar", TimeZone: "UTC"})
	must(err)
	indom, id := pcp.NewInDom(245, 1), pcp.NewPMID(245, 0, 1)
	_, err = im.AddMetric("a.size", pcp.Desc{PMID: id, Type: pcp.TypeU32, InDom: indom, Sem: pcp.SemInstant})
	must(err)
	must(im.AddInstance(indom, "red", 0))
	must(im.PutLabel(pcp.LabelContext, uint32(pcp.PMIDNull), pcp.InNull, "hostname", `"cellar"`))
	must(im.PutLabel(pcp.LabelDomain, 245, pcp.InNull, "agent", `"a"`))
	must(im.PutLabel(pcp.LabelInDom|pcp.LabelOptional, uint32(indom), pcp.InNull, "rack", `"7"`))
	must(im.PutLabel(pcp.LabelInstances|pcp.LabelOptional, uint32(indom), 0, "colour", `"red"`))
	for i := range 20 { // each fetch is a second later
		must(im.PutValue("a.size", "red", "5"))
		must(im.Write(start.Add(time.Duration(i) * time.Second).Time()))
	}
	must(im.End())
	ask := func(optional bool, path string) string {
		t.Helper()
		h, err := webapi.New(webapi.Config{OptionalLabels: optional, Open: func(context.Context, string) (*pmapi.Context, error) {
			a, err := pmapi.OpenArchive(base)
			if err != nil {
				return nil, err
			}
			return a.Context, a.SetMode(t.Context(), pmapi.ModeInterp, &start, time.Second)
		}})
		must(err)
		defer h.Close()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, path, nil))
		if rec.Code != http.StatusOK {
			t.Fatalf("%s: %d: %s", path, rec.Code, rec.Body)
		}
		return rec.Body.String()
	}
	series := regexp.MustCompile(`"series":"[0-9a-f]{40}"`)
	metric, all := ask(false, "/pmapi/metric?name=a.size"), ask(true, "/pmapi/metric?name=a.size")
	if want := `"labels":{"agent":"a","hostname":"cellar"}`; !strings.Contains(metric, want) {
		t.Errorf("no %s in %s", want, metric)
	}
	if want := `"labels":{"agent":"a","hostname":"cellar","rack":"7"}`; !strings.Contains(all, want) {
		t.Errorf("no %s in %s", want, all)
	}
	if a, b := series.FindString(metric), series.FindString(all); a != b || a == "" {
		t.Errorf("the identifier is %s, and %s with optional labels", a, b)
	}
	insts, all := ask(false, "/pmapi/indom?name=a.size"), ask(true, "/pmapi/indom?name=a.size")
	if strings.Contains(insts, "rack") || strings.Contains(insts, "colour") {
		t.Errorf("optional labels in %s", insts)
	}
	for _, want := range []string{`"labels":{"agent":"a","hostname":"cellar","rack":"7"}`, `"name":"red","labels":{"agent":"a","colour":"red","hostname":"cellar","rack":"7"}`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in %s", want, all)
		}
	}
}
