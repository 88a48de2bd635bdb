package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/diagnosis"
	"github.com/go-pcp/pcp/pcpjson"
)

// serveDiagnoses answers requests with a diagnosis of the last minute, which has a hostile process.
func (f *fake) serveDiagnoses(failing *atomic.Bool) {
	f.diagnose = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failing.Load() {
			reply(w, 503, map[string]any{"message": "cannot connect to the collector " + hostile, "success": false})
			return
		}
		end := time.Now()
		if text := r.URL.Query().Get("end"); text != "" {
			var sec float64
			fmt.Sscan(text, &sec)
			end = time.Unix(int64(sec), 0)
		}
		at := func(ago time.Duration) string { return pcpjson.Time(pcp.TimestampOf(end.Add(-ago))) }
		v, before, after := 99.5, 3e3, 4e6
		type finding struct {
			*diagnosis.Object
			Metrics []string `json:"metrics"`
		}
		reply(w, 200, map[string]any{
			"findings": []finding{
				{&diagnosis.Object{
					ID: "cpu.busy", Severity: "error", Text: "all processors are busy " + hostile, Value: &v, Units: "%", Time: at(20 * time.Second), Since: at(40 * time.Second), Samples: 4,
					Limit: "> 95", Takers: []diagnosis.Taking{{Kind: "process", Instance: "python3 " + hostile, PID: 1102, User: "ann", Value: 1.5, Units: "processors", Rank: "mean", Expression: "rate(proc.psinfo.utime) + rate(proc.psinfo.stime)"}},
					Evidence: []diagnosis.Evidence{{Expression: "100 * (1 - rate(kernel.all.cpu.idle) / hinv.ncpu)", Value: v, Units: "%", Time: at(20 * time.Second), Command: "pcp -h 'a b' rep " + strings.Repeat("kernel.all.cpu.idle ", 20)}},
					Effects:  []string{"cpu.queue"}, Command: "pcp top",
				}, []string{"kernel.all.cpu.idle", "hinv.ncpu"}},
				{&diagnosis.Object{ID: "cpu.queue", Severity: "warning", Text: "5 tasks wait", Value: &v, Units: "tasks", Since: at(40 * time.Second), Until: at(10 * time.Second), Samples: 3, Cause: "cpu.busy"}, []string{"kernel.all.load"}},
			},
			"changes":   []*diagnosis.Object{{Metric: "disk.all.read_bytes", Before: &before, After: &after, Units: "Kbyte / sec", More: 2}},
			"compared":  map[string]any{"start": at(time.Minute), "end": at(0), "before_start": at(24*time.Hour + time.Minute), "before_end": at(24 * time.Hour), "values": 1234},
			"unchecked": []diagnosis.Object{{ID: "cpu.steal", Reason: "no metric kernel.all.cpu.steal"}},
			"verdict":   diagnosis.Verdict{Host: "fake.example.com", Start: at(time.Minute), End: at(0), Interval: 1, Samples: 6, Errors: 1, Warnings: 1, Checked: 30},
			"success":   true,
		})
	})
}

// TestDiagnose diagnoses now and a time of the past, and follows links to a chart and a process.
func TestDiagnose(t *testing.T) {
	f := newFake(t)
	var failing atomic.Bool
	f.serveDiagnoses(&failing)
	for _, size := range [][2]int{{1440, 1000}, {390, 844}} {
		t.Run(fmt.Sprint(size[0]), func(t *testing.T) {
			p := open(t, f, "", size[0], size[1])
			p.until(drawn)
			p.key("x")
			p.until("document.querySelectorAll('.finding').length === 2 && document.querySelectorAll('.changes tbody tr').length === 1")
			p.shot("findings")
			text := eval[string](p, "document.querySelector('.finding').innerText")
			for _, want := range []string{"Error", "all processors are busy <img", "process 1102 python3 <img", "user ann", "1.50 processors on average", "99.5 %", "the limit is > 95", "pcp top"} {
				if !strings.Contains(text, want) {
					t.Errorf("the first finding lacks %q:\n%s", want, text)
				}
			}
			if text := eval[string](p, "document.querySelector('.changes tbody').innerText"); !strings.Contains(text, "2.93 MiB/s") || !strings.Contains(text, "3.81 GiB/s") || !strings.Contains(text, "and 2 more") {
				t.Errorf("the change is %q", text)
			}
			if w := eval[int](p, "document.documentElement.scrollWidth"); w > size[0] {
				t.Errorf("the page is %d pixels wide on a screen of %d", w, size[0])
			}
			// The process, and back.
			p.click(".finding dd a")
			p.until("location.hash.includes('pid=1102')")
			p.do("history.back()")
			p.until("document.querySelectorAll('.finding').length === 2")
			// A chart of the metrics at the time of the finding.
			p.click(".finding a.button")
			p.until("location.hash.startsWith('#/charts') && location.hash.includes('kernel.all.cpu.idle') && location.hash.includes('end=') && !location.hash.includes('hinv.ncpu') && document.querySelectorAll('.uplot canvas').length >= 1")
			p.shot("chart")
			p.do("history.back()")
			p.until("document.querySelectorAll('.finding').length === 2")
			// A time of the past is asked for with its start and end.
			p.do("location.hash = '#/overview'")
			p.until(drawn)
			p.key(" ")
			p.until("location.hash.includes('end=')")
			p.key("x")
			p.until("document.querySelectorAll('.finding').length === 2 && !document.querySelector('.diagnose .primary').disabled")
			if !f.asked("/diagnose?host=fake.example.com&start=") {
				t.Error("the window was not asked for")
			}
			// Another time is not diagnosed before one asks for it.
			p.key(kb.ArrowLeft)
			p.until("document.querySelector('.diagnose').innerText.includes('of another time')")
			failing.Store(true)
			p.click(".diagnose .primary")
			p.until("document.querySelector('.diagnose [role=alert]')?.innerText.includes('cannot connect to the collector <img')")
			failing.Store(false)
			p.click(".diagnose .primary")
			p.until("document.querySelectorAll('.finding').length === 2 && !document.querySelector('.diagnose [role=alert]') && !document.querySelector('.diagnose').innerText.includes('of another time')")
		})
	}
}
