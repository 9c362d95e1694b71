// Progress of sources that read a log: their snapshot by table, and how far they are behind.

import { html } from "./html.js";
import { Table } from "./parts.js";
import { bytes, count, duration, NONE, number } from "./words.js";

/** Return how much of the tables is read; null once all are, or without a snapshot. */
export function snapshotOf(progress) {
  const snapshot = progress?.snapshot;
  return snapshot && snapshot.tables_done < snapshot.tables ? `${count(snapshot.tables_done)} of ${count(snapshot.tables)} tables` : null;
}

/** Return how far a source is behind the end of its log; null if it reads none. */
export function lagOf(progress) {
  if (!progress?.position) return null;
  if (progress.lag_bytes === 0) return "up to date";
  const seconds = number(progress.lag_seconds);
  const parts = [number(progress.lag_bytes) === null ? null : bytes(progress.lag_bytes), seconds === null ? null : duration(seconds * 1_000)];
  return parts.filter(Boolean).join(", ") || "unknown";
}

/** Return names and values that describe the sources of a pipeline; with several, the names begin with the source's. */
export function describedSources(sources = {}) {
  const all = Object.entries(sources);
  return all.flatMap(([name, progress]) => [
    ["Snapshot", snapshotOf(progress)],
    ["Snapshot chunks", progress.snapshot ? count(progress.snapshot.chunks_done) : null],
    ["Lag", lagOf(progress)],
    ["Log position", progress.position || null],
    ["Log needed from", progress.oldest || null],
  ].map(([title, value]) => [all.length > 1 ? `${name}: ${title}` : title, value]));
}

export function SnapshotTables({ sources = {} }) {
  const columns = [
    { title: "Table", by: (table) => table.name, cell: (table) => table.name },
    { title: "Phase", by: (table) => table.phase, cell: (table) => table.phase },
    { title: "Chunks read", by: (table) => table.chunks_done, number: true, cell: (table) => count(table.chunks_done) },
    { title: "Chunks", by: (table) => table.chunks, number: true, cell: (table) => (number(table.chunks) === null ? NONE : count(table.chunks)) },
  ];
  return Object.entries(sources).filter(([, { snapshot }]) => snapshot?.listed?.length).map(([name, { snapshot }]) => html`<details open>
    <summary>Tables of ${name}</summary>
    <${Table} label=${`Tables of ${name}`} columns=${columns} rows=${snapshot.listed} id=${(table) => table.name} empty="" />
  </details>`);
}
