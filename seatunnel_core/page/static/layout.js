// Places for the vertices of a pipeline: in layers from left to right, with few crossings. A pipeline has no cycles.

const GAP_X = 48;
const GAP_Y = 18;
const MARGIN = 2;
const SWEEPS = 6;
const THIN = 6;

/** `boxes` are `{id, width, height}`, `edges` pairs of ids. Return `{width, height, places, paths}`; places by id. */
export function layout(boxes, edges) {
  const known = new Map(boxes.map((box) => [box.id, { ...box, before: [], behind: [] }]));
  const real = edges.filter(([from, to]) => known.has(from) && known.has(to));
  const layers = layered([...known.values()], ranksOf([...known.keys()], real));
  const chains = real.map(([from, to]) => connected(layers, known.get(from), known.get(to)));
  order(layers);
  const size = placed(layers);
  return { ...size, places: known, paths: chains.map(points) };
}

/** The layer of each vertex: behind all that it takes rows from. */
function ranksOf(ids, edges) {
  const ranks = new Map(ids.map((id) => [id, 0]));
  for (let round = 0; round < ids.length; round += 1) {
    let changed = false;
    for (const [from, to] of edges) {
      if (ranks.get(to) <= ranks.get(from) && ranks.get(from) < ids.length) {
        ranks.set(to, ranks.get(from) + 1);
        changed = true;
      }
    }
    if (!changed) break;
  }
  return ranks;
}

function layered(nodes, ranks) {
  const layers = [];
  for (const node of nodes) {
    node.rank = ranks.get(node.id);
    while (layers.length <= node.rank) layers.push([]);
    layers[node.rank].push(node);
  }
  return layers;
}

/** Connect two vertices; a thin place in each layer between them keeps a long edge off other vertices. */
function connected(layers, from, to) {
  const chain = [from];
  for (let rank = from.rank + 1; rank < to.rank; rank += 1) {
    const thin = { rank, width: 0, height: THIN, before: [], behind: [] };
    layers[rank].push(thin);
    chain.push(thin);
  }
  chain.push(to);
  chain.slice(1).forEach((node, index) => {
    chain[index].behind.push(node);
    node.before.push(chain[index]);
  });
  return chain;
}

/** Sort each layer by where the neighbours of its vertices are, from the left and from the right in turns. */
function order(layers) {
  const number = (layer) => layer.forEach((node, index) => { node.index = index; });
  layers.forEach(number);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const side = sweep % 2 ? "behind" : "before";
    for (const layer of sweep % 2 ? [...layers].reverse() : layers) {
      const middle = (node) => (node[side].length ? node[side].reduce((sum, each) => sum + each.index, 0) / node[side].length : node.index);
      const wanted = new Map(layer.map((node) => [node, middle(node)]));
      layer.sort((one, other) => wanted.get(one) - wanted.get(other));
      number(layer);
    }
  }
}

/** Set `x` and `y`, the middle of each vertex, and return the size of the whole. */
function placed(layers) {
  const tall = (layer) => layer.reduce((sum, node) => sum + node.height + GAP_Y, -GAP_Y);
  const height = Math.max(...layers.map(tall), 1);
  let left = MARGIN;
  for (const layer of layers) {
    const width = Math.max(...layer.map((node) => node.width));
    let top = MARGIN + (height - tall(layer)) / 2;
    for (const node of layer) {
      [node.x, node.y] = [left + width / 2, top + node.height / 2];
      top += node.height + GAP_Y;
    }
    left += width + GAP_X;
  }
  return { width: Math.max(left - GAP_X + MARGIN, 1), height: height + 2 * MARGIN };
}

/** A path from the right side of the first vertex to the left side of the last one. */
function points(chain) {
  const ends = chain.map(({ x, y }) => ({ x, y }));
  ends[0].x += chain[0].width / 2;
  ends.at(-1).x -= chain.at(-1).width / 2;
  return ends.slice(1).reduce((path, to, index) => {
    const from = ends[index];
    const middle = (from.x + to.x) / 2;
    return `${path}C${middle} ${from.y} ${middle} ${to.y} ${to.x} ${to.y}`;
  }, `M${ends[0].x} ${ends[0].y}`);
}
