package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/go-pcp/pcp"
	"github.com/go-pcp/pcp/cmd/internal/pmproxy/webapi"
	"github.com/go-pcp/pcp/internal/testing/longtest"
	"github.com/go-pcp/pcp/pmapi"
	"github.com/go-pcp/pcp/pmda"
)

// manyQueues is a collector with 5,000 instances. From a time on, one of them grows far faster than all others.
func manyQueues(t *testing.T, spike *atomic.Int64) http.Handler {
	t.Helper()
	const quick = 4321
	domain := &pmda.InDom{Serial: 1}
	for i := range 5000 {
		name := fmt.Sprintf("queue-%04d", i)
		if i == quick {
			name = hostile
		}
		domain.Instances = append(domain.Instances, pcp.Instance{Inst: int32(i), Name: name})
	}
	a, err := pmda.NewTable(pmda.Config{Name: "many", Domain: 399, Metrics: []pmda.Metric{
		{Name: "many.calls", InDom: domain, Type: pcp.TypeU64, Sem: pcp.SemCounter, Units: pcp.Units{DimCount: 1}, OneLine: "many", Value: func(inst int32, _ int) (pcp.Value, error) {
			now := float64(time.Now().UnixMicro()) / 1e6
			n := float64(1+inst%1000) * math.Mod(now, 1e6)
			if at := spike.Load(); inst == quick && at > 0 {
				n += 5e4 * (now - float64(at)/1e6)
			}
			return pcp.Uint64Value(uint64(n)), nil
		}},
		{Name: "many.heat", Item: 1, InDom: domain, Type: pcp.TypeFloat, Sem: pcp.SemInstant, OneLine: "degrees", Value: func(inst int32, _ int) (pcp.Value, error) {
			return pcp.FloatValue(20 + float32(inst%50)), nil
		}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := webapi.New(webapi.Config{Open: func(context.Context, string) (*pmapi.Context, error) {
		return pmapi.OpenLocal(pmapi.LocalAgent{Name: "many", Domain: 399, Agent: a})
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.Handle("/stream", h.Stream())
	return mux
}

// TestManyRecorded draws the largest of 500 instances an hour ago, of an archive.
func TestManyRecorded(t *testing.T) {
	f := newFake(t)
	f.metrics = f.pick("kernel.all.load")
	for i := range 500 {
		f.domains["99.1"] = append(f.domains["99.1"], fmt.Sprintf("queue-%03d", i))
	}
	f.metrics = append(f.metrics, fakeMetric{name: "many.calls", pmid: "99.1.0", indom: "99.1", kind: "u64", sem: "counter", units: "count", value: func(i int, t float64) any {
		return math.Floor(float64(1+i) * math.Mod(t, 1e6))
	}})
	dir, now := t.TempDir(), time.Now()
	f.record(t, filepath.Join(dir, "a"), "fake.example.com", now.Add(-70*time.Minute), now.Add(-59*time.Minute))
	f.real = seriesOf(t, dir)
	p := open(t, f, fmt.Sprintf("#/charts?chart=many.calls&end=%d", now.Add(-time.Hour).Unix()), 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 25 && document.querySelector('.chart').textContent.includes('of 500 lines')")
	p.until("document.querySelector('.chart tbody th').textContent === 'queue-499' && document.querySelector('.chart tbody td').textContent.startsWith('500')")
	// The others are 1 to 476 calls/s.
	p.until("document.querySelector('.chart tbody tr:last-child th').textContent === 'others, sum' && Math.abs(parseFloat(document.querySelector('.chart tbody tr:last-child td').textContent) / 114 - 1) < 0.01")
	p.selects("Lines of many.calls", "100")
	p.until("document.querySelectorAll('.chart tbody tr').length === 101 && document.querySelector('.chart').textContent.includes('400 more lines')")
}

// A counter counts the bytes of a response.
type counter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c counter) Write(b []byte) (int, error) {
	c.n.Add(int64(len(b)))
	return c.ResponseWriter.Write(b)
}

func (c counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// TestManyInstances draws a metric with 5,000 instances, of which the server sends the largest and the sum of the others. An instance that
// becomes the largest is drawn. In its long form, the test reports how fluid the page is.
func TestManyInstances(t *testing.T) {
	f := newFake(t)
	var spike, bytes atomic.Int64
	many := manyQueues(t, &spike)
	f.collector = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { many.ServeHTTP(counter{w, &bytes}, r) })
	f.noSeries = true
	p := open(t, f, "#/charts?chart=many.calls", 1280, 900)
	p.until("document.querySelectorAll('.chart tbody tr').length === 25 && document.querySelector('.chart').textContent.includes('of 5000 lines')")
	row := "[...document.querySelectorAll('.chart tbody tr')].find((r) => r.querySelector('th').textContent === 'others, sum')"
	// The others are 4,976 of 5,000, whose rates are 1 to 1,000 five times. Their sum is drawn only if one asks for it.
	p.until("Math.abs(parseFloat(" + row + ".querySelectorAll('td')[1].textContent) / 2479 - 1) < 0.3 && " + row + ".className === 'off'")
	p.until("document.querySelector('.chart').textContent.includes('4976 more lines are not drawn; “others” is their sum.')")
	p.until("/^queue-\\d9\\d\\d$/.test(document.querySelector('.chart tbody th').textContent)")
	// By the keyboard: rows change their places, and the focus stays on the row that has it.
	focused := row + ".querySelector('button') === document.activeElement"
	p.do(row + ".querySelector('button').focus()")
	p.run(chromedp.KeyEvent(" "))
	p.until(row + ".className === '' && " + focused)
	p.shot("others")
	now := "document.querySelector('.when').textContent"
	began, sent := time.Now(), bytes.Load()
	for range 2 {
		p.until(now + " !== " + quote(eval[string](p, now)))
	}
	// All of them would be 40,000 bytes or more in each sample.
	if n, samples := bytes.Load()-sent, time.Since(began).Seconds()+2; float64(n) > 20000*samples {
		t.Errorf("the server has sent %d bytes in %.0f samples", n, samples)
	}
	p.until(focused)
	p.run(chromedp.KeyEvent(kb.Enter))
	p.until(row + ".className === 'off' && " + focused)
	p.run(chromedp.KeyEvent(kb.Tab))
	p.until("document.activeElement.getAttribute('aria-label') === 'Lines of many.calls'")
	if longtest.Enabled() {
		p.fluid(&bytes)
	}
	// Its first large rate is drawn, since the server sends the value before it too.
	spike.Store(time.Now().UnixMicro())
	p.until(fmt.Sprintf("[...document.querySelectorAll('.chart tbody th')].some((e) => e.textContent === %q)", hostile))
	p.selects("Lines of many.calls", "50")
	p.until("document.querySelectorAll('.chart tbody tr').length === 51 && document.querySelector('.chart').textContent.includes('4950 more lines')")

	// A sum of degrees means nothing.
	p.do("location.hash = '#/charts?chart=many.heat'")
	p.until("[...document.querySelectorAll('.chart tbody tr')].find((r) => r.querySelector('th').textContent === 'others, mean')?.className === ''")
	p.shot("mean")
	if longtest.Enabled() {
		p.accessible(axeScript(t), "the mean of the others")
	}
}

// fluid reports how many frames a second are drawn while the pointer moves over a chart: it depends on the machine.
func (p *tab) fluid(bytes *atomic.Int64) {
	p.t.Helper()
	began, sent := time.Now(), bytes.Load()
	frames := eval[[]float64](p, `new Promise((done) => {
		const began = performance.now();
		const times = [];
		let last = began;
		const frame = (t) => {
			const r = document.querySelector('.u-over').getBoundingClientRect();
			document.querySelector('.u-over').dispatchEvent(new MouseEvent('mousemove', { clientX: r.left + (times.length * 7) % r.width, clientY: r.top + 30, bubbles: true }));
			times.push(t - last);
			last = t;
			if (performance.now() - began < 2000) requestAnimationFrame(frame);
			else done([times.length / (performance.now() - began) * 1000, Math.max(...times)]);
		};
		requestAnimationFrame(frame);
	})`, chromedp.EvalAwaitPromise)
	rate := float64(bytes.Load()-sent) / time.Since(began).Seconds()
	p.t.Logf("5,000 instances: %.0f frames/s while the pointer moves, the longest took %.0f ms; %.0f bytes/s", frames[0], frames[1], rate)
}

// TestManyPanels shows the largest of 5,000 instances in a heat map and in a table, with the number of the others.
func TestManyPanels(t *testing.T) {
	f := newFake(t)
	var spike atomic.Int64
	f.collector = manyQueues(t, &spike)
	f.noSeries = true
	d := `{"format":"go-pcp dashboard 1","title":"Many","panels":[` +
		`{"kind":"heat","title":"Heat","top":10,"plots":[{"metric":"many.calls"}]},` +
		`{"kind":"table","title":"Table","rows":5,"plots":[{"metric":"many.calls"},{"metric":"many.heat"}]}]}`
	p := open(t, f, "#/charts?d="+url.QueryEscape(d), 1280, 900)
	p.until(card("Heat") + ".querySelector('.heatpanel').textContent.includes('4990 more rows are not shown; others, sum: 2')")
	rows := card("Table") + ".querySelectorAll('tbody tr')"
	p.until("/^4[89]\\d\\d others are smaller/.test(" + card("Table") + ".querySelector('.note').textContent) && " + card("Table") + ".querySelector('.more').textContent === '4995 more'")
	p.until(rows + ".length === 5 && [..." + rows + "].every((r) => /^queue-\\d9\\d\\d$/.test(r.querySelector('th').textContent) && [...r.querySelectorAll('td')].every((x) => /\\d/.test(x.textContent)))")
	p.click(".datatable .more")
	p.until(rows + ".length === 55 && " + card("Table") + ".querySelector('.more').textContent === '4945 more'")
	// By their names, all are needed.
	p.click(".datatable thead .sort")
	p.until(rows + "[1].querySelector('th').textContent === 'queue-0000' && " + card("Table") + ".querySelector('.more').textContent === '4945 more' && !" + card("Table") + ".textContent.includes('others are smaller')")
}
