// A field in which one types the name of a metric, with proposals.

import { h } from "preact";
import { useState } from "preact/hooks";
import { find, useAll } from "./browse";
import { plain } from "./time";

const proposals = 12;
let fields = 0;

export function Typeahead(props: { label: string; placeholder: string; id?: string; onPick: (text: string) => boolean }) {
  const [text, setText] = useState("");
  const [focus, setFocus] = useState(false);
  const [used, setUsed] = useState(false);
  const [at, setAt] = useState(-1);
  const [bad, setBad] = useState("");
  const [id] = useState(() => props.id ?? "field" + ++fields);
  const { metas } = useAll(used);
  const list = focus && text.trim() && metas ? find(metas, text.replace(/\[.*$/, "")).slice(0, proposals) : [];
  const pick = (s: string) => {
    if (!s.trim()) return;
    if (props.onPick(s)) {
      setText("");
      setBad("");
    } else setBad(`${s} is not a metric`);
    setAt(-1);
  };
  const enter = () => {
    if (at >= 0 && list[at]) return pick(list[at].name);
    const name = text.trim().replace(/\[.*$/, "");
    if (!metas || metas.some((m) => m.name === name)) return pick(text);
    if (list.length) return pick(list[0].name);
    setBad(`There is no metric ${name}`);
  };
  return (
    <div class="typeahead">
      <input
        id={id}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        aria-label={props.label}
        aria-expanded={list.length > 0}
        aria-controls={id + "-list"}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        placeholder={props.placeholder}
        value={text}
        onFocus={() => {
          setFocus(true);
          setUsed(true);
        }}
        onBlur={() => setFocus(false)}
        onInput={(e) => {
          setText(e.currentTarget.value);
          setBad("");
          setAt(-1);
        }}
        onKeyDown={(e) => {
          if (e.key === "ArrowDown") setAt(Math.min(list.length - 1, at + 1));
          else if (e.key === "ArrowUp") setAt(Math.max(-1, at - 1));
          else if (e.key === "Enter") enter();
          else if (e.key === "Escape" && text) setText("");
          else return;
          e.preventDefault();
          e.stopPropagation();
        }}
      />
      <ul id={id + "-list"} role="listbox" aria-label="Metrics" hidden={!list.length}>
        {list.map((m, k) => (
          <li
            key={m.name}
            id={`${id}-${k}`}
            role="option"
            aria-selected={k === at}
            onMouseDown={(e) => {
              e.preventDefault();
              pick(m.name);
            }}
          >
            <span class="name">{m.name}</span>
            <span class="line1">{plain(m.oneline)}</span>
          </li>
        ))}
      </ul>
      {bad && (
        <p class="bad" role="alert">
          {bad}
        </p>
      )}
    </div>
  );
}
