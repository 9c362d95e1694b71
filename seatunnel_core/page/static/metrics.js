// Metrics of a job over time. The job's process records them, whether a page is open or not.

import { html, useMemo, useState } from "./html.js";
import { Instead } from "./parts.js";
import { Plot } from "./plot.js";
import { usePolled } from "./rest.js";

const RANGES = [["15 minutes", 900], ["hour", 3_600], ["day", 86_400], ["whole time", 0]];
const POINTS = 240;
const LAG_MS = 5_000;

/** Ask for the series of a job; `seconds` back from now, or 0 for all. The beginning moves in steps of a minute. */
function useSeries(job, seconds, pipeline = "") {
  const from = seconds && !job.finishTime ? Math.floor(Date.now() / 60_000) * 60_000 - seconds * 1_000 : 0;
  const query = `points=${POINTS}${from ? `&since=${from}` : ""}${pipeline ? `&pipelineId=${pipeline}` : ""}`;
  return usePolled(`/jobs/metrics/${encodeURIComponent(job.jobId)}?${query}`, job.finishTime ? 0 : LAG_MS);
}

function useColumns(value) {
  return useMemo(() => {
    const [names, points] = [value?.columns ?? [], value?.points ?? []];
    const column = (name) => points.map((each) => each[names.indexOf(name)] ?? null);
    return { at: column("timestamp").map((ms) => ms / 1_000), column };
  }, [value]);
}

/** The rates of the last minutes, beside the pipelines. */
export function Rates({ job }) {
  const found = useSeries(job, 900);
  const { at, column } = useColumns(found.value);
  const data = useMemo(() => [at, column("rowsReadPerSecond"), column("rowsWrittenPerSecond")], [at]);
  if (found.value === undefined) return null;
  return html`<section class="card" aria-label="Rates"><header><h2>Rows per second</h2></header>${at.length < 2
    ? html`<p class="quiet">The job records a point every five seconds.</p>`
    : html`<${Plot} label="Rows read and written per second in the last 15 minutes" data=${data} kind="rate"
      lines=${[{ label: "read", colour: "--line-1" }, { label: "written", colour: "--line-2" }]} />`}</section>`;
}

export function Metrics({ job }) {
  const [range, setRange] = useState(job.finishTime ? 0 : 3_600);
  const [pipeline, setPipeline] = useState("");
  const found = useSeries(job, range, pipeline);
  const { at, column } = useColumns(found.value);
  const pipelines = found.value?.pipelines ?? [];
  return html`<div class="bar-of-choices">
    ${!job.finishTime && html`<label class="choice">Last <select value=${range} onChange=${(event) => setRange(Number(event.target.value))}>
      ${RANGES.map(([title, seconds]) => html`<option value=${seconds} selected=${seconds === range}>${title}</option>`)}</select></label>`}
    ${(pipelines.length > 1 || pipeline) && html`<label class="choice">Pipeline <select value=${pipeline} onChange=${(event) => setPipeline(event.target.value)}>
      <option value="">all together</option>${pipelines.map((each) => html`<option value=${String(each)} selected=${String(each) === pipeline}>${each}</option>`)}</select></label>`}
    </div>
    ${found.value === undefined ? html`<${Instead} of=${found} what="metrics over time" />` : html`<${Plots} at=${at} column=${column} ended=${Boolean(job.finishTime)} />`}`;
}

function Plots({ at, column, ended }) {
  if (at.length < 2) {
    return html`<p class="quiet">${ended
      ? "No metrics over time in the history: the job ended too soon, or its process was lost."
      : "Not enough points yet. The job's process records one every five seconds."}</p>`;
  }
  const line = (label, name, colour) => ({ label, name, colour });
  return html`<div class="plots">
    <${Drawn} title="Rows per second" kind="rate" at=${at} column=${column} lines=${[
      line("read", "rowsReadPerSecond", "--line-1"), line("written", "rowsWrittenPerSecond", "--line-2"), line("committed", "rowsCommittedPerSecond", "--line-3")]} />
    <${Drawn} title="Bytes read per second" kind="bytes" at=${at} column=${column} lines=${[line("read", "bytesReadPerSecond", "--line-1")]} />
    <${Drawn} title="Work units in flight" kind="count" at=${at} column=${column} lines=${[line("units", "unitsInFlight", "--line-1")]} />
    <${Drawn} title="Uncommitted output" kind="count" at=${at} column=${column} lines=${[line("committables", "uncommitted", "--line-2")]} />
  </div>`;
}

function Drawn({ title, kind, at, column, lines }) {
  const data = useMemo(() => [at, ...lines.map((each) => column(each.name))], [at]);
  const newest = lines.map((each, index) => `${each.label} ${data[index + 1].at(-1)}`).join(", ");
  return html`<section class="card" aria-label=${title}><header><h2>${title}</h2></header>
    <${Plot} label=${`${title}, ${at.length} points; the newest: ${newest}`} data=${data} kind=${kind} lines=${lines} /></section>`;
}
