// The cluster at one glance: its numbers, its nodes, and what runs.

import { html } from "./html.js";
import { CurrentTable } from "./jobs.js";
import { Instead, Meter, Table, Tile } from "./parts.js";
import { usePolled } from "./rest.js";
import { to } from "./route.js";
import { bytes, count, duration, NONE, number, size } from "./words.js";

export function Overview({ overview, nodes }) {
  const found = overview.value;
  return html`<h1>Overview</h1>
    <${Instead} of=${overview} what="the numbers of the cluster" />
    ${found && html`<${Numbers} found=${found} nodes=${listed(nodes.value)} />`}
    ${found && html`<section aria-labelledby="nodes"><h2 id="nodes">Nodes</h2><${Nodes} monitored=${nodes} /></section>`}
    <section aria-labelledby="current"><h2 id="current">Current jobs</h2><${Current} /></section>`;
}

function Numbers({ found, nodes }) {
  const slots = number(found.totalSlot);
  const leader = nodes.find(leads);
  return html`<div class="tiles">
    <${Tile} title="Running" value=${count(found.runningJobs)} href=${to("jobs")} />
    <${Tile} title="Pending" value=${count(found.pendingJobs)} href=${to("jobs", "pending")} />
    <${Tile} title="Finished" value=${count(found.finishedJobs)} href=${to("jobs", "finished", "FINISHED")} />
    <${Tile} title="Failed" value=${count(found.failedJobs)} href=${to("jobs", "finished", "FAILED")} />
    <${Tile} title="Canceled" value=${count(found.cancelledJobs)} href=${to("jobs", "finished", "CANCELED")} />
    <${Tile} title="Workers" value=${count(found.workers)} />
    <${Tile} title="Slots" value=${slots ? `${count(found.unassignedSlot)} / ${count(slots)}` : "dynamic"} note=${slots ? "free" : ""} />
  </div>
  <p class="quiet">${[
    leader && `Leader ${address(leader)}`,
    leader?.term && `term ${leader.term}`,
    found.projectVersion && `version ${found.projectVersion}`,
  ].filter(Boolean).join(" · ")}</p>`;
}

const address = (node) => (node.port ? `${node.host}:${node.port}` : String(node.host));

const leads = (node) => String(node.isMaster) === "true";

function Nodes({ monitored }) {
  const workers = usePolled("/resource/workers", 5_000);
  const slots = new Map((workers.value?.workers ?? []).map((each) => [each.address, each]));
  const columns = [
    { title: "Address", by: address, cell: (node) => html`<a href=${to("node", address(node))}>${address(node)}</a>` },
    { title: "Role", by: (node) => String(node.role), cell: role },
    { title: "Slots", number: true, cell: (node) => slotsOf(slots.get(address(node)) ?? node) },
    { title: "Memory of the machine", cell: (node) => memory(node["physical.memory.total"], node["physical.memory.free"]) },
    { title: "Memory of the node", number: true, by: ownMemory, cell: (node) => bytes(ownMemory(node)) },
    { title: "Load", number: true, by: (node) => number(node["load.systemAverage"]), cell: (node) => node["load.systemAverage"] ?? NONE },
    { title: "Processors", number: true, cell: (node) => count(node.processors) },
    { title: "Clock", number: true, cell: (node) => skew(node["cluster.timeDiff"]) },
  ];
  if (monitored.value === undefined) return html`<${Instead} of=${monitored} what="the nodes" />`;
  return html`<${Table} label="Nodes" columns=${columns} rows=${listed(monitored.value)} id=${address} empty="No node has answered." />`;
}

const ownMemory = (node) => size(node["node.memory.used"] ?? node["heap.memory.used"]);

function role(node) {
  if (node.timeout) return html`<span class="pill bad">does not answer</span>`;
  return leads(node) ? html`<span class="pill good">leader</span>` : (node.role ?? "member").toLowerCase().replaceAll("_", " ");
}

function slotsOf(node) {
  if (node.dynamicSlot === true || node.dynamicSlot === "true") return "dynamic";
  return number(node.totalSlots) === null ? NONE : `${count(node.freeSlots)} / ${count(node.totalSlots)} free`;
}

function memory(total, free) {
  const [all, unused] = [size(total), size(free)];
  if (!all || unused === null) return NONE;
  const words = `${bytes(all - unused)} of ${bytes(all)}`;
  return html`<${Meter} share=${(all - unused) / all} words=${words} label="Memory in use" warns=${true} />`;
}

function skew(ms) {
  const value = number(ms);
  if (value === null) return NONE;
  return Math.abs(value) > 1_000 ? html`<span class="pill bad">${duration(Math.abs(value))} off</span>` : duration(Math.abs(value));
}

function Current() {
  const current = usePolled("/running-jobs/summary?page=1&rows=10", 3_000);
  if (current.value === undefined) return html`<${Instead} of=${current} what="current jobs" />`;
  return html`<${CurrentTable} jobs=${listed(current.value).slice(0, 10)} />`;
}

const listed = (value) => (Array.isArray(value) ? value : (value?.data ?? []));
