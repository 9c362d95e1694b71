// The small parts that all views are made of.

import { html, useEffect, useRef, useState } from "./html.js";
import { ask } from "./rest.js";

/** A state, in a colour that says whether it is well; the word says it too. */
const MOODS = {
  RUNNING: "good", FINISHED: "good", SAVEPOINT_DONE: "good", COMPLETED: "good",
  FAILED: "bad", FAILING: "bad", EXPIRED: "bad",
  PENDING: "waiting", SCHEDULED: "waiting", CREATED: "waiting", INITIALIZING: "waiting", CANCELING: "waiting",
  DOING_SAVEPOINT: "waiting",
};

const WORDS = { SAVEPOINT_DONE: "savepoint done", DOING_SAVEPOINT: "savepoint…", CANCELING: "canceling…" };

export function Pill({ state }) {
  const name = String(state || "unknown");
  const mood = MOODS[name.toUpperCase()] ?? "plain";
  return html`<span class=${`pill ${mood}`}>${WORDS[name] ?? name.toLowerCase().replaceAll("_", " ")}</span>`;
}

export function Tile({ title, value, href, note }) {
  const inside = html`<dt>${title}</dt><dd>${value}${note ? html` <small>${note}</small>` : ""}</dd>`;
  return href
    ? html`<a class="tile" href=${href}><dl>${inside}</dl></a>`
    : html`<div class="tile"><dl>${inside}</dl></div>`;
}

/** A bar with its words beside it; `share` is from 0 to 1. A bar that should not fill up, such as that of memory, warns. */
export function Meter({ share, words, label, warns }) {
  const percent = Math.max(0, Math.min(100, Math.round(100 * share)));
  return html`<div class="meter">
    <div class="bar" role="meter" aria-label=${label} aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100"
      aria-valuetext=${words}><i style=${{ width: `${percent}%` }} class=${warns && percent > 90 ? "full" : ""}></i></div>
    <span>${words}</span>
  </div>`;
}

/**
 * A table that becomes a list of cards on a phone. A column is `{title, cell, number, by, key}`; `cell` makes the content of
 * a row, and of the first column the row's heading; a cell without content is left out on a phone, and a `wide` one has
 * its title above it there. A column with `by`, a
 * function from a row to what it is sorted by, can be sorted here; one with `key` is sorted by whoever gives the rows:
 * `sort` is then `{key, order, choose}`. With `chosen`, `{ids, change}`, rows can be chosen.
 */
export function Table({ label, columns, rows, id, empty, sort, chosen }) {
  const [own, setOwn] = useState(null);
  const order = sort ?? { key: own?.key ?? "", order: own?.order ?? "asc", choose: (key, way) => setOwn(key ? { key, order: way } : null) };
  const name = (column) => column.key ?? (column.by ? column.title : "");
  const sorted = own ? ordered(rows, columns.find((each) => name(each) === own.key), own.order) : rows;
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  return html`<${Sorter} columns=${columns.filter(name)} name=${name} order=${order} label=${label} />
    <div class="table" role="region" aria-label=${label} tabindex="0"><table role="table">
    <thead role="rowgroup"><tr role="row">${chosen && html`<th role="columnheader" scope="col" class="pick"><${Pick} rows=${sorted} id=${id} chosen=${chosen} /></th>`}
      ${columns.map((each) => html`<${Heading} column=${each} name=${name(each)} order=${order} />`)}</tr></thead>
    <tbody role="rowgroup">${sorted.map((row) => html`<${Row} key=${id(row)} row=${row} columns=${columns} id=${id(row)} chosen=${chosen} />`)}</tbody>
  </table></div>`;
}

function ordered(rows, column, order) {
  const value = (row) => column.by(row) ?? -Infinity;
  const compare = (one, other) => (typeof one === "string" || typeof other === "string" ? String(one).localeCompare(String(other)) : one - other);
  const found = [...rows].sort((one, other) => compare(value(one), value(other)) || 0);
  return order === "desc" ? found.reverse() : found;
}

function Heading({ column, name, order }) {
  const kind = column.number ? "number" : "";
  if (!name) return html`<th role="columnheader" scope="col" class=${kind}>${column.title}</th>`;
  const is = order.key === name;
  const next = is && order.order === "asc" ? "desc" : "asc";
  return html`<th role="columnheader" scope="col" class=${kind} aria-sort=${is ? (order.order === "asc" ? "ascending" : "descending") : "none"}>
    <button type="button" class="heading" onClick=${() => order.choose(name, next)}>${column.title}<span aria-hidden="true">${is ? (order.order === "asc" ? " ↑" : " ↓") : ""}</span></button></th>`;
}

/** On a phone a table has no headings to press. */
function Sorter({ columns, name, order, label }) {
  if (!columns.length) return null;
  const change = (event) => {
    const [key, way] = event.target.value.split(" ");
    order.choose(key, way ?? "asc");
  };
  const value = order.key ? `${order.key} ${order.order}` : "";
  return html`<label class="choice sorter">Sort <select value=${value} onChange=${change} aria-label=${`Sort ${label}`}>
    <option value="" selected=${!value}>as usual</option>
    ${columns.flatMap((each) => [["asc", "↑"], ["desc", "↓"]].map(([way, sign]) => {
      const own = `${name(each)} ${way}`;
      return html`<option value=${own} selected=${own === value}>${each.title} ${sign}</option>`;
    }))}</select></label>`;
}

function Row({ row, columns, id, chosen }) {
  return html`<tr role="row">${chosen && html`<td role="cell" class="pick"><${PickOne} id=${id} chosen=${chosen} /></td>`}
    ${columns.map((each, index) => {
      const content = each.cell(row);
      if (index === 0) return html`<th role="rowheader" scope="row">${content}</th>`;
      const kinds = [each.number && "number", each.wide && "wide", (content === "" || content === null || content === undefined) && "empty"].filter(Boolean).join(" ");
      return html`<td role="cell" data-title=${each.title} class=${kinds}>${content}</td>`;
    })}</tr>`;
}

function PickOne({ id, chosen }) {
  return html`<label class="pick"><input type="checkbox" checked=${chosen.ids.has(id)} aria-label=${`Choose ${id}`} onChange=${(event) => {
    const ids = new Set(chosen.ids);
    if (event.target.checked) ids.add(id);
    else ids.delete(id);
    chosen.change(ids);
  }} /></label>`;
}

function Pick({ rows, id, chosen }) {
  const all = rows.map(id);
  const has = all.every((each) => chosen.ids.has(each));
  return html`<label class="pick"><input type="checkbox" checked=${has} aria-label="Choose all on this page" onChange=${() => chosen.change(new Set(has ? [] : all))} /></label>`;
}

/** Placeholder for a missing response: pending, rejected, or not supported by this node. */
export function Instead({ of: { value, error }, what }) {
  if (value !== undefined) return null;
  if (!error) return html`<p class="quiet" aria-busy="true">Loading ${what}…</p>`;
  return html`<p class="quiet">No ${what}: <${Said} text=${error.message} /></p>`;
}

const COMMAND = /(`?seatunnel help [A-Za-z][\w-]*`?)/;

/** Text of the engine, with links to the help pages it names. */
export function Said({ text }) {
  return html`${String(text ?? "").split(COMMAND).map((part, index) =>
    index % 2 ? html`<${Help} name=${part.replaceAll("`", "").slice("seatunnel help ".length)} />` : part)}`;
}

/** The page of `seatunnel help CODE`, in a separate window. */
export function Help({ name }) {
  const [open, setOpen] = useState(false);
  return html`<button type="button" class="link" onClick=${() => setOpen(true)}>seatunnel help ${name}</button>
    ${open && html`<${Window} title=${name} onClose=${() => setOpen(false)}><${HelpPage} name=${name} /><//>`}`;
}

function HelpPage({ name }) {
  const [found, setFound] = useState({});
  useEffect(() => {
    ask(`/help/${encodeURIComponent(name)}`).then((value) => setFound({ value }), (error) => setFound({ error }));
  }, [name]);
  if (!found.value) return html`<${Instead} of=${found} what=${`help on ${name}`} />`;
  const page = found.value;
  if (page.text) return html`<pre class="text" tabindex="0">${page.text}</pre>`;
  return html`<p>${inBackquotes(page.meaning)}</p>
    ${Object.entries(page.parts ?? {}).map(([heading, text]) => html`<h3>${heading}</h3><p class="lines">${inBackquotes(text)}</p>`)}`;
}

const inBackquotes = (text) =>
  String(text).split("`").map((part, index) => (index % 2 ? html`<code>${part}</code>` : part));

/** A window before the page: the browser keeps the focus inside, and Escape closes it. */
export function Window({ title, onClose, children }) {
  const dialog = useRef(null);
  useEffect(() => {
    const element = dialog.current;
    element.showModal();
    return () => element.open && element.close();
  }, []);
  const outside = (event) => event.target === dialog.current && onClose();
  return html`<dialog ref=${dialog} onClose=${onClose} onClick=${outside} aria-label=${title}>
    <div class="window">
      <header><h2>${title}</h2><button type="button" class="plain" onClick=${onClose} aria-label="Close">✕</button></header>
      ${children}
    </div>
  </dialog>`;
}
