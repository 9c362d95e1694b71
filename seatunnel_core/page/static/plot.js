// A plot over time, drawn on a canvas. Its content is also shown as text or in a table.

import { KINDS, moments, value } from "./axis.js";
import { html, useEffect, useRef } from "./html.js";
import uPlot from "./vendor/uplot.js";
import { when } from "./zone.js";

const HEIGHT = 180;
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 86_400, 172_800, 604_800];

/**
 * `data` is [moments in seconds, values, …], `lines` a `{label, colour, points}` for each column of values; `kind` is one
 * of `KINDS`.
 */
export function Plot({ data, lines, label, kind }) {
  const place = useRef(null);
  const plot = useRef(null);
  const newest = useRef(data);
  newest.current = data;
  useEffect(() => {
    const draw = () => {
      if (!place.current) return;
      plot.current?.destroy();
      plot.current = new uPlot(options(place.current, lines, kind), newest.current, place.current);
    };
    const fit = new ResizeObserver(([entry]) => plot.current?.setSize({ width: entry.contentRect.width, height: HEIGHT }));
    draw();
    fit.observe(place.current);
    addEventListener("theme", draw);
    return () => {
      fit.disconnect();
      removeEventListener("theme", draw);
      plot.current?.destroy();
      plot.current = null;
    };
  }, [lines.map((line) => line.label).join()]);
  useEffect(() => plot.current?.setData(data), [data]);
  return html`<div class="plot" ref=${place} role="img" aria-label=${label}></div>`;
}

function options(place, lines, kind) {
  const axis = { stroke: colour(place, "--quiet"), grid: { stroke: colour(place, "--rule"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
  const { steps, write } = KINDS[kind];
  return {
    width: place.clientWidth || 300,
    height: HEIGHT,
    cursor: { y: false, points: { size: 7 } },
    legend: { live: true },
    scales: { y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
    axes: [
      { ...axis, size: 34, space: 90, incrs: STEPS, values: (_plot, ticks) => moments(ticks) },
      { ...axis, size: 70, incrs: steps, values: (_plot, ticks) => ticks.map(write) },
    ],
    series: [{ label: "at", value: (_plot, at) => (at === null ? "–" : when(at * 1_000)) }, ...lines.map((line) => ({
      label: line.label,
      stroke: colour(place, line.colour),
      width: 2,
      spanGaps: true,
      value: (_plot, found) => (found === null ? "–" : value(kind, found)),
      points: line.points ? { show: true, size: 6 } : {},
    }))],
  };
}

/** Return what a variable of the style is here and now: a canvas knows no variables. */
function colour(place, variable) {
  const probe = document.createElement("i");
  probe.style.color = `var(${variable})`;
  place.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
