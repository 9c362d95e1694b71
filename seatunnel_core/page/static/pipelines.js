// The pipelines of a job, each as a graph with its figures, and how fast rows have moved of late.

import { Graph } from "./graph.js";
import { html } from "./html.js";
import { Rates } from "./metrics.js";
import { Help, Meter, Pill, Said, Table } from "./parts.js";
import { usePolled } from "./rest.js";
import { describedSources, SnapshotTables } from "./sources.js";
import { ENDED, loadsOf, pluginOf } from "./vertices.js";
import { bytes, count, duration, NONE, number, percent, perSecond, plural, short } from "./words.js";

const MOST_DRAWN = 12;
const MOST_OPEN = 8;

export function Pipelines({ job }) {
  const checkpoints = usePolled(job.finishTime ? null : `/jobs/checkpoints/${encodeURIComponent(job.jobId)}`, 5_000);
  const parts = partsOf(job, ages(checkpoints.value));
  return html`
    ${!job.finishTime && html`<${Rates} job=${job} />`}
    ${parts.length > MOST_DRAWN ? html`<${PipelineTable} parts=${parts} />` : parts.map((part) => html`<${Pipeline} key=${part.id} part=${part} error=${job.errorMsg ?? ""} />`)}
    ${parts.length === 0 && html`<p class="quiet">The plan of this job is not available here.</p>`}`;
}

/** Return each pipeline with its figures, if there are some, and its vertices and edges, if the graph is known. */
function partsOf(job, age) {
  const dag = job.jobDag ?? {};
  const vertices = new Map((dag.vertexInfoMap ?? []).map((each) => [Number(each.vertexId), each]));
  const edges = Object.entries(dag.pipelineEdges ?? {});
  const figures = new Map((job.pipelines ?? []).map((each) => [String(each.id), each]));
  const split = edges.length === 1 && figures.size !== 1 ? components(edges[0][1], vertices) : edges;
  const drawn = new Map(split.map(([id, some]) => [String(id), graphOf(some, vertices)]));
  const ids = [...new Set([...drawn.keys(), ...figures.keys()])];
  return ids.map((id) => ({ id, graph: drawn.get(id), figures: figures.get(id), age: age.get(id) }));
}

/** Return how long ago the last checkpoint of each pipeline completed, by the cluster's own clock. */
function ages(overview) {
  const known = (overview?.pipelines ?? []).filter((each) => number(each.latestCompleted?.completedTimestamp) !== null);
  return new Map(known.map((each) => [String(each.pipelineId), Math.max(0, overview.updatedAt - each.latestCompleted.completedTimestamp)]));
}

function graphOf(edges, vertices) {
  const used = new Set(edges.flatMap((edge) => [Number(edge.inputVertexId), Number(edge.targetVertexId)]));
  const nodes = [...used].filter((id) => vertices.has(id)).map((id) => vertices.get(id));
  return { nodes, edges: edges.map((edge) => [Number(edge.inputVertexId), Number(edge.targetVertexId)]) };
}

/** Number the connected parts of a graph in the order of their first vertices, as the engine numbers pipelines. */
function components(edges, vertices) {
  const of = new Map([...vertices.keys()].map((id) => [id, id]));
  const root = (id) => (of.get(id) === id ? id : root(of.get(id)));
  for (const edge of edges) {
    const ends = [root(Number(edge.inputVertexId)), root(Number(edge.targetVertexId))];
    of.set(Math.max(...ends), Math.min(...ends));
  }
  const groups = new Map();
  for (const edge of edges) {
    const group = root(Number(edge.inputVertexId));
    groups.set(group, [...(groups.get(group) ?? []), edge]);
  }
  return [...groups.entries()].sort(([a], [b]) => a - b).map(([, some], index) => [String(index + 1), some]);
}

function Pipeline({ part: { id, graph, figures, age }, error }) {
  const title = titleOf({ graph, figures });
  const loads = graph ? loadsOf(graph, figures) : new Map();
  return html`<section class="card" aria-label=${`Pipeline ${id}`}>
    <header><h2><span class="ordinal">${id}</span> ${title}</h2>${figures && html`<${Pill} state=${figures.phase} />`}</header>
    ${figures?.degraded && html`<p class="hint"><b>Degraded:</b> ${figures.degraded}</p>`}
    ${(figures?.warnings ?? []).map((each) => html`<p class="hint"><b>Warning:</b> <${Said} text=${each} /></p>`)}
    ${figures?.failure && !error.includes(figures.failure) && html`<p class="refused"><${Said} text=${figures.failure} /></p>
      ${figures.code && html`<p>More: <${Help} name=${figures.code} /></p>`}`}
    ${figures && html`<dl class="figures">${described(figures, age).map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`}
    ${figures && number(figures.splits_total) > 0 && html`<${Meter} label="Splits read to their end"
      share=${figures.splits_done / figures.splits_total} words=${`${count(figures.splits_done)} of ${plural(figures.splits_total, "split")}`} />`}
    ${graph && html`<${Graph} nodes=${graph.nodes} edges=${graph.edges} loads=${loads} label=${`Graph of pipeline ${id}`} />`}
    ${figures && html`<${SnapshotTables} sources=${figures.sources} />`}
    ${graph && figures && html`<details open=${graph.nodes.length <= MOST_OPEN}><summary>Vertices</summary><${VertexTable} id=${id} nodes=${graph.nodes} loads=${loads} /></details>`}
  </section>`;
}

function VertexTable({ id, nodes, loads }) {
  const load = (node) => loads.get(Number(node.vertexId)) ?? {};
  const columns = [
    { title: "Vertex", by: (node) => node.name, cell: (node) => html`${node.name ?? node.vertexName} <small>${node.type} ${pluginOf(node)}</small>` },
    { title: "Rows in", by: (node) => load(node).rowsIn, number: true, cell: (node) => known(load(node).rowsIn, short) },
    { title: "Rows out", by: (node) => load(node).rowsOut, number: true, cell: (node) => known(load(node).rowsOut, short) },
    { title: "Committed", by: (node) => load(node).committed, number: true, cell: (node) => known(load(node).committed, short) },
    { title: "Rate", by: (node) => load(node).rate, number: true, cell: (node) => known(load(node).rate, perSecond) },
    { title: "Busy", by: (node) => load(node).busy, number: true, cell: (node) => known(load(node).busy, percent) },
    { title: "Back pressure", by: (node) => load(node).pressure, number: true, cell: (node) => (load(node).full ? html`<span class="pill bad">full</span>` : known(load(node).pressure, (share) => html`<${Pressure} share=${share} />`)) },
  ];
  return html`<${Table} label=${`Vertices of pipeline ${id}`} columns=${columns} rows=${nodes} id=${(node) => node.vertexId} empty="" />`;
}

/** What is not known of a vertex, or means nothing for its kind, is left out. */
const known = (value, write) => (number(value) === null ? "" : write(value));

function Pressure({ share }) {
  const mood = share > 0.5 ? "bad" : share > 0.1 ? "waiting" : "good";
  return html`<span class=${`pill ${mood}`}>${percent(share)}</span>`;
}

const titleOf = ({ graph, figures }) =>
  figures ? String(figures.name).replaceAll(" -> ", " → ") : (graph?.nodes ?? []).map((each) => each.vertexName).join(", ");

function described(of, age) {
  const checkpoints = of.checkpoints ?? {};
  return [
    ["Rows read", short(of.rows)],
    ["Rate", of.rows_per_second === undefined || ENDED.includes(of.phase) ? null : perSecond(of.rows_per_second)],
    ["Bytes read", bytes(of.bytes)],
    ["Rows committed", short(of.committed)],
    ["Rows skipped", number(of.skipped) ? short(of.skipped) : null],
    ["Backlog", backlog(of)],
    ...describedSources(of.sources),
    ["Checkpoint", number(of.checkpoint) === null ? "none yet" : `no. ${count(of.checkpoint)}`],
    ["Checkpoint age", age === undefined ? null : duration(age)],
    ["Checkpoint took", checkpoints.completed ? duration(tookOf(checkpoints)) : null],
    ["Checkpoints failed", number(checkpoints.failed) ? count(checkpoints.failed) : null],
    ["Restarts", number(of.restarts) ? count(of.restarts) : null],
  ].filter(([, value]) => value !== null && value !== NONE);
}

/** Return how long the last checkpoint took, from its trigger until it was durable. */
export const tookOf = (checkpoints) => (number(checkpoints.acknowledge_ms) ?? 0) + (number(checkpoints.store_ms) ?? 0);

function backlog(of) {
  const parts = [
    number(of.splits_total) === null ? null : plural(Math.max(0, of.splits_total - of.splits_done), "split"),
    number(of.in_flight) === null ? null : `${plural(of.in_flight, "unit")} in flight`,
  ];
  return parts.filter(Boolean).join(", ") || null;
}

function PipelineTable({ parts }) {
  const columns = [
    { title: "Pipeline", cell: (part) => html`<b>${part.id}</b> ${titleOf(part)}` },
    { title: "Phase", cell: (part) => (part.figures ? html`<${Pill} state=${part.figures.phase} />` : NONE) },
    { title: "Rows read", number: true, cell: (part) => short(part.figures?.rows) },
    { title: "Rows committed", number: true, cell: (part) => short(part.figures?.committed) },
    { title: "Checkpoint", number: true, cell: (part) => count(part.figures?.checkpoint) },
  ];
  return html`<${Table} label="Pipelines" columns=${columns} rows=${parts} id=${(part) => part.id} empty="" />`;
}
