// The checkpoints of a job over time: how long each took, how large it was, what was in flight.

import { html, useMemo, useState } from "./html.js";
import { Instead, Pill, Said, Table, Tile } from "./parts.js";
import { Plot } from "./plot.js";
import { tookOf } from "./pipelines.js";
import { usePolled } from "./rest.js";
import { bytes, count, duration, NONE, number } from "./words.js";
import { when } from "./zone.js";

const LIMIT = 200;

const MOST_SEEN = 500;

/** Add the checkpoints of a running job's pipelines that have completed since the last look, as REST describes stored ones. */
export function completedSince(seen, pipelines, at) {
  const last = new Map(seen.map((each) => [each.pipelineId, each]));
  const fresh = pipelines.filter((each) => number(each.checkpoint) !== null && each.checkpoints?.completed
    && last.get(each.id)?.checkpointId !== each.checkpoint);
  const added = fresh.map((each) => ({
    pipelineId: each.id,
    checkpointId: each.checkpoint,
    checkpoint: `${each.checkpoints.epoch}-${each.checkpoint}`,
    status: "COMPLETED",
    triggerTimestamp: at,
    durationMillis: tookOf(each.checkpoints),
    stateSize: each.checkpoints.size_bytes,
    unitsInFlight: number(each.in_flight),
  }));
  return added.length ? [...seen, ...added].slice(-MOST_SEEN) : seen;
}

export function Checkpoints({ id, seen }) {
  const overview = usePolled(`/jobs/checkpoints/${encodeURIComponent(id)}`, 3_000);
  const history = usePolled(`/jobs/checkpoints/history/${encodeURIComponent(id)}?limit=${LIMIT}`, 3_000);
  const [chosen, setChosen] = useState("");
  const all = useMemo(() => listed(history.value, seen), [history.value, seen]);
  const pipelines = [...new Set(all.map((each) => each.pipelineId))].sort((a, b) => a - b);
  const shown = all.filter((each) => chosen === "" || String(each.pipelineId) === chosen);
  if (history.value === undefined && !all.length) return html`<${Counts} overview=${overview.value} /><${Instead} of=${history} what="the checkpoints of a job" />`;
  return html`<${Counts} overview=${overview.value} />
    ${pipelines.length > 1 && html`<label class="choice">Pipeline <select value=${chosen} onChange=${(event) => setChosen(event.target.value)}>
      <option value="">all</option>${pipelines.map((each) => html`<option value=${String(each)}>${each}</option>`)}</select></label>`}
    <${Plots} checkpoints=${shown} />
    <${CheckpointTable} checkpoints=${shown.slice(0, 20)} />`;
}

/** Return the stored checkpoints and those that were seen to complete as flat values, the newest first. */
function listed(value, seen) {
  const items = Array.isArray(value) ? value : (value?.data ?? []);
  const stored = items.map((each) => ({ pipelineId: each.pipelineId, ...(each.checkpoint ?? each) }));
  const key = (each) => `${each.pipelineId} ${each.checkpoint ?? each.checkpointId}`;
  const watched = new Map(seen.map((each) => [key(each), each]));
  const known = new Set(stored.map(key));
  return [...stored.map((each) => ({ ...each, ...measuredOf(watched.get(key(each))) })), ...seen.filter((each) => !known.has(key(each)))]
    .sort((a, b) => momentOf(b) - momentOf(a));
}

const measuredOf = (seen) => (seen ? { durationMillis: seen.durationMillis, unitsInFlight: seen.unitsInFlight } : {});

const momentOf = (checkpoint) => Number(checkpoint.triggerTimestamp ?? checkpoint.completedTimestamp ?? 0);

function Counts({ overview }) {
  const parts = overview?.pipelines ?? [];
  if (!parts.length) return null;
  const sum = (name) => parts.reduce((total, each) => total + (number(each.counts?.[name]) ?? 0), 0);
  const latest = parts.map((each) => each.latestCompleted).filter(Boolean).sort((a, b) => momentOf(b) - momentOf(a))[0];
  const age = latest && number(latest.completedTimestamp) !== null ? overview.updatedAt - latest.completedTimestamp : null;
  return html`<div class="tiles">
    <${Tile} title="Completed" value=${count(sum("completed"))} />
    <${Tile} title="Failed" value=${count(sum("failed"))} />
    <${Tile} title="In progress" value=${count(sum("inProgress"))} />
    <${Tile} title="Restored" value=${count(sum("restored"))} />
    <${Tile} title="Age of the last" value=${age === null ? NONE : duration(Math.max(0, age))} />
  </div>`;
}

const COLOURS = ["--line-1", "--line-2", "--line-3", "--quiet"];

/** A plot of each figure with a line for each pipeline; of many, those with the newest checkpoints. */
function Plots({ checkpoints }) {
  const done = checkpoints.filter((each) => momentOf(each));
  const pipelines = [...new Set(done.map((each) => each.pipelineId))].slice(0, COLOURS.length).sort((a, b) => a - b);
  const drawn = done.filter((each) => pipelines.includes(each.pipelineId)).reverse();
  if (drawn.length < 2) return html`<p class="quiet">Shown after two checkpoints.</p>`;
  const at = drawn.map((each) => momentOf(each) / 1_000);
  const series = (read) => [at, ...pipelines.map((id) => drawn.map((each) => (each.pipelineId === id ? number(read(each)) : null)))];
  const lines = pipelines.map((id, index) => ({ label: `pipeline ${id}`, colour: COLOURS[index], points: true }));
  return html`<div class="plots">
    <${Drawn} title="Duration" data=${series((each) => each.durationMillis)} kind="duration" lines=${lines} />
    <${Drawn} title="Size of the state" data=${series((each) => each.stateSize)} kind="bytes" lines=${lines} />
    <${Drawn} title="Units in flight" data=${series((each) => each.unitsInFlight)} kind="count" lines=${lines} />
  </div>`;
}

function Drawn({ title, data, kind, lines }) {
  const [, ...columns] = data;
  if (columns.every((column) => column.every((each) => each === null))) return null;
  return html`<section class="card" aria-label=${title}><header><h2>${title}</h2></header>
    <${Plot} label=${`${title} of the last ${data[0].length} checkpoints; the table below has the numbers`} data=${data} kind=${kind} lines=${lines} /></section>`;
}

function CheckpointTable({ checkpoints }) {
  const columns = [
    { title: "Checkpoint", cell: (each) => `${each.pipelineId === undefined ? "" : `${each.pipelineId} · `}no. ${each.checkpointId}` },
    { title: "Status", cell: (each) => html`<${Pill} state=${each.status ?? "COMPLETED"} />` },
    { title: "Kind", cell: (each) => String(each.checkpointType ?? "checkpoint").replace(/_TYPE$/, "").toLowerCase() },
    { title: "Triggered", number: true, cell: (each) => (momentOf(each) ? when(momentOf(each)) : NONE) },
    { title: "Took", number: true, cell: (each) => duration(each.durationMillis) },
    { title: "Size", number: true, cell: (each) => bytes(each.stateSize) },
    { title: "Why not", wide: true, cell: (each) => (each.failureReason ? html`<${Said} text=${each.failureReason} />` : "") },
  ];
  return html`<${Table} label="Checkpoints" columns=${columns} rows=${checkpoints}
    id=${(each) => `${each.pipelineId}-${each.checkpointId}-${each.status}`} empty="No checkpoints yet." />`;
}
