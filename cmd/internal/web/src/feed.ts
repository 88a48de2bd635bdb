// The Feed has the values of all metrics that something on the page wants. The server sends them; without streams,
// the Feed polls the collector. The archives have the time before.

import { ask, LiveSource, RecordedSource, Refused, visible, type Meta, type Only, type Span, type Table, type Wish } from "./source";
import { soon } from "./rest";
import { slot } from "./stream";
import { Queries } from "./promql";
import { plain } from "./time";
import { append, fill, join } from "./values";
import type { View } from "./state";

interface Want {
  count: number;
  history: number; // of those, how many draw the past
  rare: number; // of those, how many are content with a value now and then
  part: number; // of those, how many are content with the largest instances
}

interface Past {
  span: Span;
  table: Table;
}

export type Status = "connecting" | "ok" | "lost";

const ringSeconds = 900; // at least this much of what was seen stays
const ringSamples = 4000; // at most
const pointsOfPast = 600; // in a window
const second = 400; // ms until the second sample, so that rates are there at once
const closest = 0.35; // seconds between two samples of a metric, at least
const pastAgain = 5000; // ms until the archives are tried again
const slowest = 10_000; // ms between attempts to reach a lost collector
const share = 20; // a branch waits as many times as long as its answer took
const rarely = 10; // seconds between two samples of what hardly changes
const keptSeconds = 120; // of what a branch sampled
const keptCells = 60_000; // of a metric of a branch
const moment = 400; // seconds before the end of the view in which there is a value of what is recorded each minute, and one before it
const ahead = 60; // seconds after it that are read too, since the view may move on
const maxOthers = 30; // hosts in a dashboard, besides that of the page
const labelsAgain = 20_000; // ms between two requests for the labels of instances
const streamAgain = 10_000; // ms until a stream is tried again
const finest = 0.25; // seconds between samples of a stream, at least
const leastTop = 24; // instances of a metric of which a chart has lines, at least
const mostTop = 1000; // that the server sends
const keeps = [60, 300, 900, 3600]; // seconds for which the server sends what was among the largest
const unwanted = 500; // ms until the values of what nobody wants are forgotten
const clockJump = 40; // seconds by which the clocks of the host and of the browser may differ from one sample to the next; answers may be late
const clockShown = 60_000; // ms
const pause = 90; // seconds without a sample
const growth = 10_000; // ms between two looks for what archives have got

export class Feed {
  readonly live: LiveSource;
  readonly recorded: RecordedSource;
  status: Status = "connecting";
  message = "";
  past = document.documentElement.dataset.past !== undefined; // there are archives and no collector
  hosts: string[] = []; // of the archives, if so
  hasRecorded = false;
  loading = false;
  pastError = "";
  now = 0; // time of the last sample, by the collector's clock
  extent: [number, number] | null = null; // of what is recorded
  metas = new Map<string, Meta>();
  absent = new Set<string>(); // names that neither source knows

  private wants = new Map<string, Want>();
  private ring = new Map<string, Table>();
  private older = new Map<string, Past>();
  private joined = new Map<string, { table: Table; ring: Table | undefined; n: number; past: Past | undefined }>();
  private listeners = new Set<() => void>();
  private view: View;
  private timer = 0;
  private loadTimer = 0;
  private loadAbort: AbortController | null = null;
  private ticks = 0;
  private failures = 0;
  private asking = false;
  private again = false;
  private stopped = false;
  private streaming: AbortController | null = null;
  private streamAt = 0; // when a stream may be tried; Infinity if the server has none
  private branches = new Set<Feed>();
  private large = new Set<string>(); // metrics with more instances than are drawn
  private tops = new Map<object, number>(); // how many instances each chart draws
  private sampled: { t: number; at: number } | null = null; // the last sample, by both clocks
  private clockBy = 0;
  private clockUntil = 0;
  private paces = new Map<object, number>(); // seconds between the samples that those who look need
  private rareAt = -Infinity; // when what is wanted rarely was asked for

  // A Feed with a trunk is a branch of it: it has a context of its own, so that what is slow does not keep
  // the rest waiting, or the values of one instance only. It asks while something is wanted and the present is seen.
  constructor(
    base: string,
    host: string,
    view: View,
    private trunk?: Feed,
    readonly only?: Only,
    private from: "" | "any" | "archives" = "", // where the values of the host come from
  ) {
    this.live = new LiveSource(base, host, trunk?.live, only);
    if (from === "archives" || trunk?.past) this.past = true;
    this.recorded = trunk?.recorded ?? new RecordedSource(base, "");
    this.view = view;
    if (trunk) {
      this.metas = trunk.metas;
      this.absent = trunk.absent;
    }
  }

  // branch makes a branch; stop ends it.
  branch(only?: Only): Feed {
    const b = new Feed(this.live.base, this.live.host, this.view, this, only);
    this.branches.add(b);
    b.start();
    return b;
  }

  private shared: Feed | null = null;

  // busy is the branch for what is busy: processes, and the like. There is one, which is idle while nobody looks.
  get busy(): Feed {
    return (this.shared ??= this.branch());
  }

  start(): void {
    document.addEventListener("visibilitychange", this.wake);
    if (this.trunk) {
      this.leave = this.trunk.subscribe(() => this.follow());
      this.follow();
    } else if (this.past) void this.open();
    else void this.tick();
  }

  private leave = () => {};
  private wake = () => {
    if (document.hidden) this.streaming?.abort();
    else if (!this.past && !this.asking && !this.streaming) this.tickIn(0);
  };

  private tickIn(wait: number): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.tick(), wait);
  }

  // follow takes over what the trunk knows of archives.
  private follow(): void {
    const t = this.trunk!;
    if (this.past && (this.now !== t.now || this.status !== t.status)) {
      this.now = t.now;
      this.status = t.status;
      this.changed();
    }
    if (!this.now) this.now = t.now;
    if (this.hasRecorded !== t.hasRecorded || this.extent !== t.extent) {
      this.hasRecorded = t.hasRecorded;
      this.extent = t.extent;
      this.load();
    }
  }

  // rests reports whether nothing need be asked of the collector.
  private get rests(): boolean {
    return document.hidden || (!!this.trunk && (!this.wants.size || !this.view.live));
  }

  // seed gives a branch for one instance what another has seen of it.
  seed(from: Feed, name: string, inst: string): void {
    const t = from.ring.get(name);
    const cells = t?.series.get(inst);
    if (t && cells) this.ring.set(name, { t: [...t.t], series: new Map([["", [...cells]]]) });
  }

  // follows reports whether the present can be shown.
  get follows(): boolean {
    return !this.past && this.status === "ok";
  }

  // open looks at archives that have no collector, and again, as they may grow.
  private async open(): Promise<void> {
    let wait = growth;
    await visible();
    if (this.stopped) return;
    try {
      if (this.status !== "ok") {
        if (!(await this.recorded.available())) throw new Error("no archives are served here");
        const names = (await ask(this.live.base + "series/labels", { names: "hostname" }))?.hostname;
        const all = Array.isArray(names) ? names.map(String).sort() : [];
        if (this.from && !all.includes(this.live.host)) throw new Error(`nothing is recorded of ${plain(this.live.host)}`);
        if (!this.from) this.hosts = all; // else there may be thousands, which the fleet shows
        this.recorded.hostname = all.includes(this.live.host) ? this.live.host : (all[0] ?? "");
        this.hasRecorded = true;
      }
      await this.findExtent();
      if (this.extent && this.extent[1] !== this.now) {
        this.now = this.extent[1];
        this.load();
      }
      this.status = "ok";
      this.message = "";
      this.failures = 0;
    } catch (e) {
      this.failures++;
      wait = Math.min(slowest, 1000 * 2 ** (this.failures - 1));
      this.status = "lost";
      this.message = e instanceof Error ? e.message : String(e);
    }
    if (this.stopped) return;
    this.changed();
    this.timer = window.setTimeout(() => void this.open(), wait);
  }

  // findExtent finds from when to when archives have values, by metrics that most have, or by any.
  private async findExtent(): Promise<void> {
    let names = ["kernel.all.load", "hinv.ncpu", "pmcd.pid"];
    for (let more = this.past; ; more = false) {
      for (const name of names) {
        try {
          const e = await this.recorded.extent(name);
          if (e) {
            this.extent = e;
            return;
          }
        } catch (e) {
          if (this.past) throw e;
        }
      }
      if (!more) return;
      names = (await this.recorded.all()).map((m) => m.name).slice(0, 50);
    }
  }

  stop(): void {
    this.stopped = true;
    for (const b of this.branches) b.stop();
    for (const o of this.others.values()) o.stop();
    this.leave();
    this.streaming?.abort();
    this.trunk?.branches.delete(this);
    document.removeEventListener("visibilitychange", this.wake);
    clearTimeout(this.timer);
    clearTimeout(this.loadTimer);
    this.loadAbort?.abort();
  }

  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => void this.listeners.delete(f);
  }

  private changed = (): void => {
    for (const f of this.listeners) f();
  };

  // draws has the server send so many of the largest instances, until the returned function is called.
  draws(n: number): () => void {
    const key = {};
    const before = this.top;
    this.tops.set(key, n);
    if (this.top > before) {
      if (this.large.size) this.streaming?.abort();
      for (const [name, p] of this.older) if (p.table.rest) this.older.delete(name);
      this.load();
    }
    return () => void this.tops.delete(key);
  }

  // pace has a branch sampled so seldom, unless another one needs it more often, until the returned function is called.
  pace(seconds: number): () => void {
    const key = {};
    const before = this.step;
    this.paces.set(key, seconds);
    if (this.step < before) this.hurry();
    return () => void this.paces.delete(key);
  }

  private get step(): number {
    return Math.max(this.view.step, this.paces.size ? Math.min(...this.paces.values()) : 0);
  }

  private get top(): number {
    return Math.min(mostTop, Math.max(leastTop, ...this.tops.values()));
  }

  // want keeps metrics fetched until the returned function is called. With part, the largest instances suffice.
  want(names: string[], history: boolean, rare = false, part = false): () => void {
    let fresh = false;
    for (const n of names) {
      const w = this.wants.get(n) ?? { count: 0, history: 0, rare: 0, part: 0 };
      if (w.count === 0) fresh = true;
      w.count++;
      if (history) w.history++;
      if (rare) w.rare++;
      if (part) w.part++;
      this.wants.set(n, w);
    }
    if (rare) this.rareAt = -Infinity;
    if (fresh) this.hurry();
    this.load();
    return () => {
      for (const n of names) {
        const w = this.wants.get(n)!;
        w.count--;
        if (history) w.history--;
        if (rare) w.rare--;
        if (part) w.part--;
        if (w.count === 0) {
          this.large.delete(n);
          this.wants.delete(n);
          // A chart that takes the place of another one finds the values.
          window.setTimeout(() => {
            if (this.wants.has(n)) return;
            if (this !== this.trunk?.shared) this.ring.delete(n); // one who looks again finds it
            this.older.delete(n);
            this.joined.delete(n);
          }, unwanted);
        }
      }
    };
  }

  // wanted returns the metrics of the collector that the page shows, and of those the numbers whose past is drawn.
  wanted(): { metrics: string[]; charts: string[] } {
    const metrics = new Set<string>();
    const charts = new Set<string>();
    for (const f of [this as Feed, ...this.branches]) {
      for (const [n, w] of f.wants) {
        const m = this.metas.get(n);
        if (!m || this.absent.has(n)) continue;
        metrics.add(n);
        if (w.history && m.type !== "string") charts.add(n);
      }
    }
    return { metrics: [...metrics].sort(), charts: [...charts].sort() };
  }

  // setView is told what is looked at.
  setView(v: View): void {
    const faster = v.step < this.view.step || (v.live && !this.view.live && !!this.trunk);
    this.view = v;
    if (faster) this.hurry();
    this.load();
    for (const b of this.branches) b.setView(v);
    for (const o of this.others.values()) o.setView(v);
  }

  readonly queries = new Queries(() => this.live.base, () => this.view, () => this.changed());

  private others = new Map<string, Feed>();

  // of is the feed of another host, which lasts as long as this one; null if there are too many.
  of(host: string | undefined): Feed | null {
    if (host === undefined || host === "" || host === "*" || host === this.host || host === this.live.host) return this;
    let f = this.others.get(host);
    if (!f) {
      if (this.others.size >= maxOthers) return null;
      f = new Feed(this.live.base, host, this.view, undefined, undefined, "any");
      f.subscribe(() => this.changed());
      this.others.set(host, f);
      f.start();
    }
    return f;
  }

  private labelled = new Map<string, { asked: number; by: Map<string, Record<string, string>> }>();

  // labelsOf returns the labels of the instances of a metric, as far as they are known. It asks for them now and then.
  labelsOf(name: string): Map<string, Record<string, string>> | undefined {
    let l = this.labelled.get(name);
    if (!l) this.labelled.set(name, (l = { asked: 0, by: new Map() }));
    const now = performance.now();
    if (l.asked && now - l.asked < labelsAgain) return l.by;
    l.asked = now || 1;
    const known = l;
    const source = this.past ? this.recorded : this.live;
    source.labelsOf(name).then(
      (by) => {
        known.by = by;
        this.changed();
      },
      () => {}, // it is asked for again
    );
    return l.by;
  }

  // hurry samples now, since something new is wanted.
  private hurry(): void {
    if (this.past || (this.status === "lost" && !this.trunk)) return;
    if (this.asking) {
      this.again = true;
      return;
    }
    this.ticks = Math.min(this.ticks, 1);
    if (this.streaming) this.streaming.abort();
    else this.tickIn(0);
  }

  // retry reaches for the collector at once.
  retry(): void {
    if (this.asking || this.streaming) return;
    clearTimeout(this.timer);
    this.start();
  }

  private async tick(): Promise<void> {
    if (this.stopped || this.rests) return;
    this.asking = true;
    this.again = false;
    const began = performance.now();
    try {
      if (this.ticks === 0) await this.live.connect();
      const names = [...this.wants.keys()].filter((n) => !this.absent.has(n));
      const unknown = names.filter((n) => !this.metas.has(n));
      if (unknown.length) {
        for (const m of await this.live.describe(unknown)) this.metas.set(m.name, m);
        for (const n of unknown) if (!this.metas.has(n)) this.absent.add(n);
      }
      const rare = this.now - this.rareAt >= rarely;
      const known = names.filter((n) => this.metas.has(n) && !(this.couldStream && this.isLarge(n)) && (rare || this.wants.get(n)?.rare !== this.wants.get(n)?.count));
      // A stream follows, which sends the largest; until then, these suffice too.
      const some = this.couldStream ? known.filter((n) => this.wants.get(n)?.part === this.wants.get(n)?.count) : [];
      const whole = known.filter((n) => !some.includes(n));
      if (whole.length) this.take(await this.live.read(whole, null));
      if (some.length) this.take(await this.live.read(some, null, undefined, this.top));
      if (rare) this.rareAt = this.now;
      else if (!this.now) this.now = Date.now() / 1000;
      if (this.status !== "ok") {
        this.status = "ok";
        this.message = "";
        if (!this.trunk) void this.findRecorded();
      }
      this.failures = 0;
      this.ticks++;
    } catch (e) {
      if (this.from === "any" && !this.trunk && this.status === "connecting" && e instanceof Refused) {
        // The server does not reach this collector: what was recorded of the host is shown.
        this.asking = false;
        this.past = true;
        for (const b of this.branches) b.past = true;
        if (!this.stopped) void this.open();
        return;
      }
      this.failures++;
      this.ticks = 0;
      this.message = e instanceof Error ? (e.name === "TimeoutError" ? "no answer in time" : e.message) : String(e);
      if (this.status !== "lost") {
        this.status = "lost";
        if (!this.trunk) void this.findRecorded();
      }
    }
    this.asking = false;
    if (this.stopped) return;
    this.changed();
    const spent = performance.now() - began;
    let wait = Math.max(this.step * 1000 - spent, 50);
    if (this.trunk) wait = Math.max(wait, Math.min(share * spent, slowest));
    if (this.failures) wait = Math.min(slowest, 1000 * 2 ** (this.failures - 1));
    else if (this.again) wait = 0;
    else if (this.ticks >= 2 && this.mayStream) return void this.receive();
    else if (this.ticks <= 2) wait = Math.min(wait, second);
    this.tickIn(wait);
  }

  private get couldStream(): boolean {
    return this.view.step >= finest && performance.now() >= this.streamAt;
  }

  private get mayStream(): boolean {
    const w = this.wish();
    return this.couldStream && !this.rests && w.often.length + w.rare.length + w.largest.length > 0;
  }

  // isLarge reports whether the largest instances of a metric suffice.
  private isLarge(name: string): boolean {
    const w = this.wants.get(name);
    return this.large.has(name) && !!w && w.part === w.count;
  }

  // wish returns what a stream is to send.
  private wish(): Wish {
    const often: string[] = [];
    const rare: string[] = [];
    const largest: string[] = [];
    for (const [n, w] of this.wants) if (this.metas.has(n) && !this.absent.has(n)) (w.rare === w.count ? rare : this.isLarge(n) ? largest : often).push(n);
    const { top } = this;
    const { window } = this.view;
    return { often: often.sort(), rare: rare.sort(), largest: largest.sort(), top: largest.length ? top : 0, keep: largest.length ? (keeps.find((k) => k >= window) ?? keeps[keeps.length - 1]) : 0 };
  }

  // receive has the server send samples, until other metrics are wanted or the stream ends; polling follows.
  private async receive(): Promise<void> {
    const abort = (this.streaming = new AbortController());
    const { step } = this;
    const wish = this.wish();
    const key = JSON.stringify(wish);
    const leave = await slot();
    let wait = streamAgain;
    try {
      if (leave && !abort.signal.aborted) {
        await this.live.stream(wish, step, this.trunk ? share : 0, abort.signal, (read) => {
          wait = 0;
          this.take(read);
          soon(this.changed);
          if (JSON.stringify(this.wish()) !== key || this.step !== step || this.rests) abort.abort();
        });
      }
    } catch (e) {
      if (e instanceof Refused && e.status === 404) wait = Infinity;
    }
    leave?.();
    this.streaming = null;
    if (this.stopped) return;
    if (!abort.signal.aborted) this.streamAt = performance.now() + wait;
    this.tickIn(0);
  }

  // clock says by how much the clock of the host was set lately, in seconds; 0 if it was not.
  get clock(): number {
    return performance.now() < this.clockUntil ? this.clockBy : 0;
  }

  // watch compares the time of a sample with that of the one before. What was seen before the clock was set is forgotten, as is what was seen
  // before a pause of which the archives may have more.
  private watch(t: number): void {
    const at = performance.now() / 1000;
    const before = this.sampled;
    this.sampled = { t, at };
    const by = before ? t - before.t - (at - before.at) : 0;
    const set = Math.abs(by) >= clockJump;
    if (!set && !(before && this.hasRecorded && t - before.t >= Math.max(pause, 4 * this.step))) {
      this.now = Math.max(this.now, t);
      return;
    }
    if (set) {
      this.clockBy = by;
      this.clockUntil = performance.now() + clockShown;
    }
    this.rareAt = -Infinity;
    this.ring.clear();
    this.older.clear();
    this.joined.clear();
    this.now = t;
    this.load();
  }

  private take(read: Map<string, Table>): void {
    let last = 0;
    for (const t of read.values()) if (t.t.length) last = Math.max(last, t.t[t.t.length - 1]);
    if (last) this.watch(last);
    const window = this.view.kept ? this.view.kept * this.view.step : Math.min(Math.max(ringSeconds, this.view.window * 1.25), ringSamples * this.view.step);
    for (const [name, table] of read) {
      const w = this.wants.get(name);
      if (!w) continue; // nobody wants it any more
      if (table.rest || table.series.size > this.top) this.large.add(name);
      let ring = this.ring.get(name);
      if (table.rest && ring && !ring.rest && ring.series.size > table.series.size) ring = undefined; // of what was seen, most is not sent any more
      if (!ring) this.ring.set(name, (ring = { t: [], series: new Map() }));
      // Rates over an instant would be those of single ticks of the kernel's clock.
      if (ring.t.length && table.t.length && table.t[0] - ring.t[ring.t.length - 1] < Math.min(closest, this.view.step / 2)) continue;
      let kept = w.history ? window : Math.max(3 * this.view.step, 5);
      if (this.trunk && !w.history && !w.rare) kept = Math.max(kept, Math.min(keptSeconds, (keptCells / (table.series.size || 1)) * this.view.step));
      fill(ring, table.before);
      append(ring, table, this.now - kept);
      const p = this.older.get(name);
      if (p && this.view.live && ring.t[0] < this.now - this.view.window) this.older.delete(name);
    }
  }

  // findRecorded looks whether archives are served, and from when.
  private async findRecorded(): Promise<void> {
    const hostname = this.live.labels.hostname;
    this.recorded.hostname = typeof hostname === "string" ? hostname : "";
    this.hasRecorded = await this.recorded.available();
    if (this.hasRecorded) {
      await this.findExtent();
      if (!this.now && this.extent) this.now = this.extent[1];
      this.load();
    }
    this.changed();
  }

  // load asks the archives for what the view shows and is not there.
  private load(): void {
    if (!this.hasRecorded || this.stopped || !this.now) return;
    clearTimeout(this.loadTimer);
    this.loadTimer = window.setTimeout(() => void this.loadNow(), 60);
  }

  private async loadNow(): Promise<void> {
    const v = this.view;
    const end = v.live ? this.now : v.end;
    const from = end - v.window;
    const step = Math.max(v.step, Math.ceil(v.window / pointsOfPast));
    const span: Span = { from: from - Math.max(2 * step, v.window / 4), to: v.live ? end : end + v.window / 4, step };
    // Of what only the moment counts, little is read.
    const instant: Span = { from: end - moment, to: end + ahead, step: rarely };
    const names: string[] = [];
    const moments: string[] = [];
    for (const [name, w] of this.wants) {
      const ring = this.ring.get(name);
      const seen = ring?.t.length ? ring.t[0] : Infinity;
      if ((w.history && seen <= from) || (this.metas.size && this.absent.has(name) && !this.metas.has(name) && this.status === "ok" && v.live)) continue;
      if (!w.history && v.live) continue;
      const p = this.older.get(name);
      if (w.history) {
        if (p && p.span.step === step && p.span.from <= from && p.span.to >= Math.min(end, seen)) continue;
        names.push(name);
      } else {
        if (p && p.span.from <= end - moment + ahead && p.span.to >= end) continue;
        moments.push(name);
      }
    }
    this.loadAbort?.abort();
    if (!names.length && !moments.length) {
      if (this.loading) {
        this.loading = false;
        this.changed();
      }
      return;
    }
    const abort = (this.loadAbort = new AbortController());
    this.loading = true;
    this.changed();
    try {
      const all = [...names, ...moments];
      for (const m of await this.recorded.describe(all)) {
        if (!this.metas.has(m.name)) this.metas.set(m.name, m);
      }
      if (this.past) for (const n of all) if (!this.metas.has(n)) this.absent.add(n);
      const isPart = (n: string) => this.wants.get(n)?.part === this.wants.get(n)?.count;
      const { top } = this;
      for (const [list, s, most] of [[names.filter(isPart), span, top], [names.filter((n) => !isPart(n)), span], [moments, instant]] as [string[], Span, number?][]) {
        if (!list.length) continue;
        const read = await this.recorded.read(list, s, abort.signal, this.only, most);
        if (abort.signal.aborted) return;
        for (const name of list) {
          if (this.wants.has(name)) this.older.set(name, { span: s, table: read.get(name) ?? { t: [], series: new Map() } });
        }
      }
      this.pastError = "";
    } catch (e) {
      if (abort.signal.aborted) return;
      this.pastError = e instanceof Error ? e.message : String(e);
      this.loadTimer = window.setTimeout(() => void this.loadNow(), pastAgain);
    }
    this.loading = false;
    this.changed();
  }

  // table returns what there is of a metric, from the archives and of what was seen.
  table(name: string): Table | undefined {
    const ring = this.ring.get(name);
    const past = this.older.get(name);
    if (!past) return ring;
    const c = this.joined.get(name);
    const n = ring?.t.length ? ring.t[ring.t.length - 1] : 0;
    if (c && c.ring === ring && c.n === n && c.past === past) return c.table;
    const table = join(past.table, ring);
    this.joined.set(name, { table, ring, n, past });
    return table;
  }

  // seen returns what was seen of a metric.
  seen(name: string): Table | undefined {
    return this.ring.get(name);
  }

  // lacks has what is wanted rarely asked for with the next sample, since there are instances of which it is not known.
  lacks(): void {
    this.rareAt = -Infinity;
  }

  get host(): string {
    if (this.trunk) return this.trunk.host;
    if (this.past) return this.recorded.hostname;
    const h = this.live.labels.hostname;
    return typeof h === "string" ? h : this.live.hostspec || this.live.host || "";
  }
}
