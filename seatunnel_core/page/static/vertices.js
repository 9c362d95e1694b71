// What each vertex of a pipeline does: rows, rates, the share of the tasks' time, and how long it waits for those behind it.

import { lagOf, snapshotOf } from "./sources.js";
import { number } from "./words.js";

/** `Source[0]-FakeSource` is FakeSource to people. */
export const pluginOf = (vertex) => String(vertex.vertexName ?? vertex.vertexId).replace(/^(Source|Transform|Sink)\[(\d+)\]-/, "");

/** Phases in which a pipeline does nothing any more. */
export const ENDED = ["finished", "failed", "stopped", "canceled", "fenced"];

/** Return the load of each vertex of a graph, by its id. */
export function loadsOf({ nodes, edges }, figures) {
  if (!figures) return new Map();
  const alone = (type) => nodes.filter((each) => each.type === type).length === 1;
  const blocked = before(nodes, edges, figures.full_sinks ?? []);
  const runs = !ENDED.includes(figures.phase);
  return new Map(nodes.map((vertex) => {
    const moved = figures.vertices?.[vertex.name] ?? (alone(vertex.type) ? figures : {});
    const load = figures.loads?.[vertex.name] ?? {};
    const found = { source: ofSource, sink: ofSink }[vertex.type]?.(moved, load) ?? ofTransform(load);
    const pressure = blocked.has(Number(vertex.vertexId)) ? 1 : number(load.back_pressure);
    return [Number(vertex.vertexId), {
      ...found,
      behind: runs ? behind(figures.sources?.[vertex.name]) : null,
      rate: runs ? found.rate : null,
      busy: runs ? number(load.busy) : null,
      pressure: runs && vertex.type !== "sink" ? pressure : null,
      full: runs && (figures.full_sinks ?? []).includes(vertex.name),
    }];
  }));
}

/** Return how far a source that reads a log is: its snapshot, and then its lag. */
function behind(progress) {
  const [snapshot, lag] = [snapshotOf(progress), lagOf(progress)];
  return snapshot ? `snapshot ${snapshot}` : lag && (lag === "up to date" ? lag : `lag ${lag}`);
}

const higher = (one, other) => (number(one) === null ? number(other) : Math.max(Number(one), Number(other ?? 0)));

// A pipeline counts what ended work units have moved; loads count what those that still run have moved, too.
const ofSource = (moved, load) => ({ rowsIn: null, rowsOut: higher(moved.rows, load.rows_out), rate: higher(moved.rows_per_second, load.rows_out_per_second) });

const ofSink = (moved, load) => ({
  rowsIn: higher(moved.written, load.rows_in),
  rowsOut: null,
  committed: number(moved.committed),
  rate: higher(moved.rows_written_per_second, load.rows_in_per_second),
});

const ofTransform = (load) => ({ rowsIn: number(load.rows_in), rowsOut: number(load.rows_out), rate: number(load.rows_out_per_second) });

/** Return the ids of the vertices whose rows go to one of some sinks: they wait for it. */
function before(nodes, edges, sinks) {
  const found = new Set();
  const open = nodes.filter((each) => sinks.includes(each.name)).map((each) => Number(each.vertexId));
  while (open.length) {
    const id = open.pop();
    for (const [from, to] of edges) {
      if (to === id && !found.has(from)) [found.add(from), open.push(from)];
    }
  }
  return found;
}
