// The log of a job, followed live: after the first piece only what is new crosses the network.

import { html, useEffect, useRef, useState } from "./html.js";
import { Instead } from "./parts.js";
import { fetched, usePolled } from "./rest.js";

const FIRST = 128 * 1_024;
const LONGEST = 2 * 1_024 * 1_024;
const AGAIN_MS = 1_500;

export function Log({ id, ended }) {
  const found = usePolled(`/logs/${encodeURIComponent(id)}?format=json`, 10_000);
  const [chosen, setChosen] = useState("");
  const files = (Array.isArray(found.value) ? found.value : []).filter((each) => each.logName);
  if (found.value === undefined) return html`<${Instead} of=${found} what="the log of a job" />`;
  if (!files.length) return html`<p class="quiet">No log of this job here.</p>`;
  const file = files.find((each) => keyOf(each) === chosen) ?? files[0];
  return html`${files.length > 1 && html`<label class="choice">Log <select value=${keyOf(file)} onChange=${(event) => setChosen(event.target.value)}>
      ${files.map((each) => html`<option value=${keyOf(each)}>${keyOf(each)}</option>`)}</select></label>`}
    <${Followed} key=${keyOf(file)} file=${file} ended=${ended} />`;
}

export const keyOf = (file) => [file.logName, file.node].filter(Boolean).join(" on ");

/** The links of the cluster name its nodes; the page asks its own node, which fetches from the others. */
function pathOf(file) {
  const node = file.node ? `?node=${encodeURIComponent(file.node)}` : "";
  return `/logs/${encodeURIComponent(file.logName)}${node}`;
}

export function Followed({ file, ended }) {
  const [text, setText] = useState("");
  const [error, setError] = useState(null);
  const [follows, setFollows] = useState(true);
  const box = useRef(null);
  useEffect(() => {
    const controller = new AbortController();
    let timer = 0;
    let next = null; // the first byte that is not here yet
    async function once() {
      try {
        const piece = await read(file, next, controller.signal);
        if (piece.whole) setText(piece.text);
        else if (piece.text) setText((before) => (before + piece.text).slice(-LONGEST));
        next = piece.next;
        setError(null);
      } catch (problem) {
        if (controller.signal.aborted) return;
        setError(problem);
      }
      if (follows && !ended) timer = setTimeout(once, AGAIN_MS);
    }
    once();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [follows, ended]);
  useEffect(() => {
    if (follows && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, follows]);
  return html`<div class="headed"><label class="choice"><input type="checkbox" checked=${follows} onChange=${(event) => setFollows(event.target.checked)} /> follow</label>
      <a href=${`.${pathOf(file)}`} target="_blank" rel="noopener">The whole file</a></div>
    ${error && html`<p class="refused" role="status">${error.message}</p>`}
    <pre class="log" ref=${box} tabindex="0" role="log" aria-label=${file.logName}>${lines(text)}</pre>`;
}

/** Return a piece from `start` on, or the end of the file; `whole` if it replaces the text shown. */
async function read(file, start, signal) {
  const range = start === null ? `bytes=-${FIRST}` : `bytes=${start}-`;
  const response = await fetched(pathOf(file), { signal, headers: { Range: range }, allowed: [416] });
  if (response.status === 416) {
    const size = Number(/\/(\d+)$/.exec(response.headers.get("Content-Range") ?? "")?.[1] ?? start);
    return { text: "", next: size < start ? 0 : start, whole: false }; // the file was rotated, and starts again
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  const text = new TextDecoder().decode(bytes);
  const found = /^bytes (\d+)-(\d+)/.exec(response.headers.get("Content-Range") ?? "");
  if (response.status === 206 && found) {
    const cut = start === null && Number(found[1]) > 0 ? text.slice(text.indexOf("\n") + 1) : text;
    return { text: cut, next: Number(found[2]) + 1, whole: start === null };
  }
  return { text: text.slice(-LONGEST), next: null, whole: true };
}

const LEVELS = /\b(WARNING|WARN|ERROR|CRITICAL|FATAL)\b/;

function lines(text) {
  const all = text.split("\n");
  return all.map((line, index) => {
    const level = LEVELS.exec(line.slice(0, 80));
    const ending = index < all.length - 1 ? "\n" : "";
    return level ? html`<span class=${level[1].startsWith("WARN") ? "warned" : "failed"}>${line}</span>${ending}` : line + ending;
  });
}
