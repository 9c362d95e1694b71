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

/** A bar with its words beside it; `share` is from 0 to 1. */
export function Meter({ share, words, label }) {
  const percent = Math.max(0, Math.min(100, Math.round(100 * share)));
  return html`<div class="meter">
    <div class="bar" role="meter" aria-label=${label} aria-valuenow=${percent} aria-valuemin="0" aria-valuemax="100"
      aria-valuetext=${words}><i style=${{ width: `${percent}%` }} class=${percent > 90 ? "full" : ""}></i></div>
    <span>${words}</span>
  </div>`;
}

/**
 * A table that becomes a list of cards on a phone. A column is `{title, cell, number}`; `cell` makes the content of a row,
 * and of the first column the row's heading.
 */
export function Table({ label, columns, rows, id, empty }) {
  if (!rows.length) return html`<p class="quiet">${empty}</p>`;
  return html`<div class="table" role="region" aria-label=${label} tabindex="0"><table role="table">
    <thead role="rowgroup"><tr role="row">${columns.map((each) => html`<th role="columnheader" scope="col" class=${each.number ? "number" : ""}>${each.title}</th>`)}</tr></thead>
    <tbody role="rowgroup">${rows.map((row) => html`<tr role="row" key=${id(row)}>${columns.map((each, index) =>
      index === 0
        ? html`<th role="rowheader" scope="row">${each.cell(row)}</th>`
        : html`<td role="cell" data-title=${each.title} class=${each.number ? "number" : ""}>${each.cell(row)}</td>`)}</tr>`)}</tbody>
  </table></div>`;
}

/** What is shown in the place of an answer that there is not: it comes, it is refused, or this node does not know it. */
export function Instead({ of: { value, error }, what }) {
  if (value !== undefined) return null;
  if (!error) return html`<p class="quiet" aria-busy="true">Asking for ${what}…</p>`;
  return html`<p class="quiet">No ${what}: <${Said} text=${error.message} /></p>`;
}

const COMMAND = /(`?seatunnel help [A-Za-z][\w-]*`?)/;

/** A text of the engine. Where it names a page of help, that page opens. */
export function Said({ text }) {
  return html`${String(text ?? "").split(COMMAND).map((part, index) =>
    index % 2 ? html`<${Help} name=${part.replaceAll("`", "").slice("seatunnel help ".length)} />` : part)}`;
}

/** The page behind `seatunnel help CODE`, in a window of its own. */
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
