// The events of a stream: the first one has all values, later ones what changed.

import type { Cell, Meta, Only, Table } from "./source";

type Held = Cell | Map<number, Cell>; // the value of a metric, or those of its instances by their numbers

export function cell(v: unknown): Cell {
  return typeof v === "number" || typeof v === "string" ? v : null;
}

// pairs calls a function with the number and the value of each instance in a list of both in turn.
function pairs(list: unknown[], f: (inst: number, v: unknown) => void): void {
  for (let i = 0; i + 1 < list.length; i += 2) f(Number(list[i]), list[i + 1]);
}

function heldOf(v: unknown): Held {
  if (!Array.isArray(v)) return cell(v);
  const values = new Map<number, Cell>();
  pairs(v, (inst, x) => values.set(inst, cell(x)));
  return values;
}

const sum = (a: Cell | undefined, b: unknown): Cell => (typeof a === "number" && typeof b === "number" ? a + b : null);

// Samples keeps what the events of a stream are the changes of.
export class Samples {
  private known = new Map<string, Map<number, string>>(); // names of instances by domain
  private held = new Map<string, Held>();
  private often: string[] = [];
  private all: string[] = []; // and those that are sent rarely

  constructor(
    private metas: Map<string, Meta>,
    private only?: Only,
  ) {}

  // take returns the sample of an event.
  take(m: any): Map<string, Table> {
    for (const d in m.instances ?? {}) {
      let names = this.known.get(d);
      if (!names) this.known.set(d, (names = new Map()));
      if ("" in m.instances[d]) names.clear();
      for (const k in m.instances[d]) if (k) names.set(Number(k), String(m.instances[d][k]));
    }
    let sent: string[];
    if (m.values) {
      sent = Object.keys(m.values);
      if (m.metrics) {
        this.held.clear();
        this.often = (m.metrics.often ?? []).map(String);
        this.all = [...this.often, ...(m.metrics.rare ?? []).map(String)];
      }
      for (const name of sent) this.held.set(name, heldOf(m.values[name]));
    } else {
      this.change(m);
      sent = m.rare ? this.all : this.often;
    }
    const out = new Map<string, Table>();
    for (const name of sent) {
      const v = this.held.get(name);
      if (v === undefined) continue; // there is no such metric
      const table: Table = { t: [Number(m.timestamp)], series: new Map() };
      this.name(name, v, (inst, x) => table.series.set(inst, [x]));
      const others = m.others?.[name];
      if (Array.isArray(others)) table.rest = { count: [cell(others[0])], sum: [cell(others[1])] };
      if (m.before?.[name]) {
        const values = new Map<string, Cell>();
        this.name(name, heldOf(m.before[name]), (inst, x) => values.set(inst, x));
        table.before = { t: Number(m.since), values };
      }
      out.set(name, table);
    }
    return out;
  }

  // change applies the changes of an event. The number of a metric is its index in the first one.
  private change(m: any): void {
    const each = (part: any, f: (name: string, v: any, held: Held | undefined) => void) => {
      for (const k in part ?? {}) {
        const name = this.all[Number(k)];
        if (name !== undefined) f(name, part[k], this.held.get(name));
      }
    };
    each(m.add, (name, v, held) => {
      if (held instanceof Map) pairs(v, (inst, x) => held.set(inst, sum(held.get(inst), x)));
      else this.held.set(name, sum(held, v));
    });
    each(m.set, (name, v, held) => {
      if (held instanceof Map) pairs(v, (inst, x) => held.set(inst, cell(x)));
      else this.held.set(name, cell(v));
    });
    each(m.gone, (_, v, held) => {
      if (held instanceof Map) for (const inst of v) held.delete(Number(inst));
    });
  }

  // name calls a function with each value and the name of its instance.
  private name(metric: string, v: Held, f: (inst: string, x: Cell) => void): void {
    if (!(v instanceof Map)) return f("", v);
    const names = this.known.get(this.metas.get(metric)?.indom ?? "");
    for (const [n, x] of v) {
      const inst = !this.only ? names?.get(n) : n === this.only.instance ? "" : undefined;
      if (inst !== undefined) f(inst, x);
    }
  }
}
