// A pipeline as a picture: sources on the left, sinks on the right.

import { html, useMemo } from "./html.js";
import dagre from "./vendor/dagre.js";

const HEIGHT = 48;
const LETTER = 8.6;
const SIGNS = { source: "M4 8h8M9 5l3 3-3 3", transform: "M4 4h8v8H4z", sink: "M4 5v6h8V5" };

export function Graph({ nodes, edges, label }) {
  const shape = JSON.stringify([nodes.map((node) => [node.vertexId, node.vertexName]), edges]); // polls bring equal ones
  const laid = useMemo(() => layout(nodes, edges), [shape]);
  const words = nodes.map((node) => node.vertexName).join(", ");
  return html`<div class="graph" role="region" aria-label=${label} tabindex="0">
    <svg width=${laid.width} height=${laid.height} viewBox=${`0 0 ${laid.width} ${laid.height}`} role="img" aria-label=${words}>
      ${laid.edges.map((points) => html`<path class="edge" d=${curve(points)} />`)}
      ${laid.nodes.map((node) => html`<${Vertex} node=${node} />`)}
    </svg></div>`;
}

function Vertex({ node: { x, y, width, vertex } }) {
  const type = kind(vertex);
  const [left, top] = [x - width / 2, y - HEIGHT / 2];
  return html`<g class=${`vertex ${type}`} transform=${`translate(${left} ${top})`}>
    <rect width=${width} height=${HEIGHT} rx="10" />
    <path class="sign" d=${SIGNS[type]} transform="translate(10 16)" />
    <text x="34" y="20" class="type">${type}</text>
    <text x="34" y="37">${title(vertex)}</text>
  </g>`;
}

const kind = (vertex) => (["source", "sink"].includes(vertex.type) ? vertex.type : "transform");

/** `Source[0]-FakeSource` is FakeSource to people. */
const title = (vertex) => {
  const name = String(vertex.vertexName ?? vertex.vertexId).replace(/^(Source|Transform|Sink)\[(\d+)\]-/, "");
  return name.length > 36 ? `${name.slice(0, 35)}…` : name;
};

function layout(nodes, edges) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ rankdir: "LR", nodesep: 18, ranksep: 56, marginx: 2, marginy: 2 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const node of nodes) {
    graph.setNode(String(node.vertexId), { vertex: node, width: 50 + LETTER * Math.max(title(node).length, 9), height: HEIGHT });
  }
  for (const [from, to] of edges) {
    if (graph.hasNode(String(from)) && graph.hasNode(String(to))) graph.setEdge(String(from), String(to));
  }
  dagre.layout(graph);
  const { width, height } = graph.graph();
  return {
    width: Math.ceil(Math.max(width || 0, 1)),
    height: Math.ceil(Math.max(height || 0, 1)),
    nodes: graph.nodes().map((id) => graph.node(id)),
    edges: graph.edges().map((edge) => graph.edge(edge).points),
  };
}

function curve(points) {
  const [first, ...rest] = points;
  const last = rest.at(-1);
  const middle = (first.x + last.x) / 2;
  if (rest.length < 3) return `M${first.x} ${first.y}C${middle} ${first.y} ${middle} ${last.y} ${last.x} ${last.y}`;
  let path = `M${first.x} ${first.y}`;
  for (let index = 0; index < rest.length - 1; index += 1) {
    const [here, next] = [rest[index], rest[index + 1]];
    path += `Q${here.x} ${here.y} ${(here.x + next.x) / 2} ${(here.y + next.y) / 2}`;
  }
  return `${path}L${last.x} ${last.y}`;
}
