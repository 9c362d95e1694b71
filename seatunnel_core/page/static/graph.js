// A pipeline as a picture: sources on the left, sinks on the right, each with its rows, its rate and its load.

import { html, useMemo } from "./html.js";
import { layout } from "./layout.js";
import { pluginOf } from "./vertices.js";
import { number, percent, perSecond, short } from "./words.js";

const HEIGHT = 48;
const LOADED = 84;
const LETTER = 8.6;
const SMALL = 7.2;
const WIDEST = 29;
const SIGNS = { source: "M4 8h8M9 5l3 3-3 3", transform: "M4 4h8v8H4z", sink: "M4 5v6h8V5" };

export function Graph({ nodes, edges, label, loads = new Map() }) {
  const has = loads.size > 0;
  const shape = JSON.stringify([nodes.map((node) => [node.vertexId, node.vertexName]), edges, has]); // polls bring equal ones
  const laid = useMemo(() => laidOut(nodes, edges, has), [shape]);
  const words = nodes.map((node) => [title(node), ...linesOf(node, loads.get(Number(node.vertexId)))].filter(Boolean).join(", ")).join("; ");
  return html`<div class="graph" role="region" aria-label=${label} tabindex="0">
    <svg width=${laid.width} height=${laid.height} viewBox=${`0 0 ${laid.width} ${laid.height}`} role="img" aria-label=${words}>
      ${laid.paths.map((path) => html`<path class="edge" d=${path} />`)}
      ${laid.nodes.map((node) => html`<${Vertex} node=${node} load=${loads.get(Number(node.vertex.vertexId))} />`)}
    </svg></div>`;
}

function Vertex({ node: { x, y, width, height, vertex }, load }) {
  const type = kind(vertex);
  const [left, top] = [x - width / 2, y - height / 2];
  const [rows, times] = linesOf(vertex, load);
  return html`<g class=${`vertex ${type} ${moodOf(load)}`} transform=${`translate(${left} ${top})`}>
    <rect width=${width} height=${height} rx="10" />
    <path class="sign" d=${SIGNS[type]} transform="translate(10 16)" />
    <text x="34" y="20" class="type">${type}</text>
    ${load && html`<text x="12" y="56" class="rows">${rows}</text><text x="12" y="73" class="load">${times}</text>`}
    <text x="34" y="37">${title(vertex)}</text>
  </g>`;
}

const kind = (vertex) => (["source", "sink"].includes(vertex.type) ? vertex.type : "transform");

const title = (vertex) => {
  const name = pluginOf(vertex);
  return name.length > 36 ? `${name.slice(0, 35)}…` : name;
};

/** A vertex that waits for those behind it most of its time, or a sink that holds all that it may. */
const moodOf = (load) => (load?.full || number(load?.pressure) > 0.5 ? "pressed" : "");

/** Return two lines: rows and their rate, and how the time of the tasks was spent. */
function linesOf(vertex, load) {
  if (!load) return ["", ""];
  const rate = number(load.rate) === null ? "" : ` · ${perSecond(load.rate)}`;
  const rows = {
    source: () => `${short(load.rowsOut)} rows${rate}`,
    sink: () => `${short(load.committed)} of ${short(load.rowsIn)} committed`,
  }[kind(vertex)]?.() ?? `${short(load.rowsIn)} in, ${short(load.rowsOut)} out`;
  const times = load.behind ? [load.behind] : [
    number(load.busy) === null ? "" : `busy ${percent(load.busy)}`,
    load.full ? "full" : number(load.pressure) === null ? "" : `back pressure ${percent(load.pressure)}`,
  ];
  return [rows, times.filter(Boolean).join(" · ")];
}

/** Return places and edges of a graph whose vertices are as wide as their words. */
function laidOut(nodes, edges, has) {
  const boxes = nodes.map((vertex) => ({
    id: String(vertex.vertexId),
    vertex,
    width: Math.max(50 + LETTER * Math.max(title(vertex).length, 9), has ? 24 + SMALL * WIDEST : 0),
    height: has ? LOADED : HEIGHT,
  }));
  const found = layout(boxes, edges.map((ends) => ends.map(String)));
  return { width: Math.ceil(found.width), height: Math.ceil(found.height), nodes: [...found.places.values()], paths: found.paths };
}
