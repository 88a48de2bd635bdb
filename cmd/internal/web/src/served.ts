// Dashboards that the server keeps for its user, so that all browsers have them.

import { access, headers, settled } from "./access";
import { format, readDashboard, type Dashboard } from "./dashboard";
import { ask, Refused } from "./source";

// A Served dashboard has "@" before the identifier that it has on the server.
export interface Served {
  id: string;
  dashboard: Dashboard;
  version: string;
}

const settle = 700; // ms after a change until it is sent
const again = 5000; // ms until what was not accepted is sent again
const beacon = 60_000; // bytes that a browser sends for a page that is closed
const patience = 10_000; // ms

class Shelf {
  list: Served[] = [];
  available = false; // the server keeps dashboards
  problem = "";
  problems: string[] = []; // of files on the server

  private base = "";
  private dirty = new Set<string>();
  private timer = 0;
  private busy = false;
  private listeners = new Set<() => void>();

  // lost is called with a dashboard of which the server has another version, or none any more; it finds a place for it.
  lost: (s: Served, gone: boolean) => void = () => {};

  subscribe(f: () => void): () => void {
    this.listeners.add(f);
    return () => void this.listeners.delete(f);
  }

  private changed(): void {
    for (const f of this.listeners) f();
  }

  // load asks the server for its dashboards. Those with changes that it does not know yet stay as they are.
  async load(base: string): Promise<void> {
    this.base = base;
    await settled;
    if (access.state !== "known") return;
    let v: any;
    try {
      v = await ask(base + "dashboards", {});
    } catch (e) {
      if (!(e instanceof Refused && e.status < 500)) this.problem = e instanceof Error ? e.message : String(e);
      this.changed();
      return;
    }
    const list: Served[] = [];
    this.problems = (Array.isArray(v?.problems) ? v.problems : []).map(String).slice(0, 20);
    for (const k of Array.isArray(v?.dashboards) ? v.dashboards : []) {
      const id = "@" + String(k?.id ?? "");
      const mine = this.dirty.has(id) ? this.get(id) : undefined;
      try {
        list.push(mine ?? { id, dashboard: readDashboard(k.dashboard), version: String(k.version ?? "") });
      } catch (e) {
        this.problems.push(`${id.slice(1, 60)}: ${e instanceof Error ? e.message : e}`);
      }
    }
    this.list = list;
    this.available = true;
    if (!this.dirty.size) this.problem = "";
    this.changed();
  }

  get(id: string): Served | undefined {
    return this.list.find((s) => s.id === id);
  }

  // put changes a dashboard, and has the server know soon.
  put(id: string, d: Dashboard): void {
    const s = this.get(id);
    if (!s) return;
    s.dashboard = d;
    this.dirty.add(id);
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.send(), settle);
  }

  private async request(method: string, id: string, condition: Record<string, string>, d?: Dashboard, keepalive = false): Promise<any> {
    const r = await fetch(`${this.base}dashboards/${encodeURIComponent(id.slice(1))}`, {
      method,
      headers: { ...headers(), ...condition, ...(d ? { "Content-Type": "application/json" } : {}) },
      body: d && JSON.stringify({ format, ...d }),
      signal: keepalive ? undefined : AbortSignal.timeout(patience),
      keepalive,
    });
    const v = await r.json().catch(() => null);
    if (!r.ok) throw new Refused(r.status, String(v?.message ?? `${r.status} ${r.statusText}`));
    return v;
  }

  private async send(): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    clearTimeout(this.timer);
    let failed = "";
    for (const id of [...this.dirty]) {
      const s = this.get(id);
      this.dirty.delete(id);
      if (!s) continue;
      const sent = s.dashboard;
      try {
        const v = await this.request("PUT", id, { "If-Match": `"${s.version}"` }, sent);
        s.version = String(v?.version ?? "");
      } catch (e) {
        if (e instanceof Refused && (e.status === 412 || e.status === 404)) {
          this.dirty.delete(id);
          this.lost({ ...s }, e.status === 404);
          await this.load(this.base);
          continue;
        }
        failed = e instanceof Error ? (e.name === "TimeoutError" ? "no answer in time" : e.message) : String(e);
        this.dirty.add(id);
      }
    }
    this.busy = false;
    this.problem = failed;
    if (this.dirty.size) this.timer = window.setTimeout(() => void this.send(), failed ? again : settle);
    this.changed();
  }

  // flush sends changes at once, since the page may be closed.
  flush(): void {
    for (const id of this.dirty) {
      const s = this.get(id);
      if (!s || JSON.stringify(s.dashboard).length > beacon) continue;
      this.dirty.delete(id);
      this.request("PUT", id, { "If-Match": `"${s.version}"` }, s.dashboard, true).then(
        (v) => void (s.version = String(v?.version ?? "")),
        () => {
          this.dirty.add(id);
          void this.send();
        },
      );
    }
  }

  // add has the server keep a dashboard, and returns its identifier.
  async add(d: Dashboard): Promise<string> {
    const id = "@" + Date.now().toString(36) + Math.random().toString(36).slice(2, 8);
    const v = await this.request("PUT", id, { "If-None-Match": "*" }, d);
    this.list = [...this.list, { id, dashboard: d, version: String(v?.version ?? "") }];
    this.changed();
    return id;
  }

  async remove(id: string): Promise<void> {
    const s = this.get(id);
    this.dirty.delete(id);
    await this.request("DELETE", id, s ? { "If-Match": `"${s.version}"` } : {});
    this.list = this.list.filter((x) => x.id !== id);
    this.changed();
  }
}

export const served = new Shelf();

addEventListener("visibilitychange", () => document.hidden && served.flush());
